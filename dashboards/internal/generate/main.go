// Command generate writes the standard dashboards and rules, with the tests of
// the rules for promtool, into the folder generated. Run it by go generate in
// the folder dashboards.
package main

import (
	"fmt"
	"os"

	"github.com/plimsoll-http/plimsoll/dashboards"
)

func main() {
	const dir = "generated"
	for _, write := range []func(string, dashboards.Options) error{dashboards.Write, dashboards.WriteRules} {
		if err := write(dir, dashboards.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
