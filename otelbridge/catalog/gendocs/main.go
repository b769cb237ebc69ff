// Command gendocs writes docs/telemetry.md from the catalogue.
//
//	go run ./otelbridge/catalog/gendocs -o docs/telemetry.md
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "", "file to write; standard output if empty")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

func write(out string) error {
	page := Page()
	if out == "" {
		_, err := os.Stdout.WriteString(page)
		return err
	}
	return os.WriteFile(out, []byte(page), 0o644)
}
