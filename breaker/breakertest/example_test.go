package breakertest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/breaker/breakertest"
)

// Watch stands between a breaker and its store in a test of a program that
// admits by itself. When the test ends, it reports what was never settled; here
// Forgotten asks for it before.
func ExampleWatch() {
	t := &testing.T{} // the one that a test is given

	watched := breakertest.Watch(quiet{t}, nil)
	b, err := breaker.New(breaker.Config{Store: watched})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"orders", "prices"} {
		permit, err := b.Admit(context.Background(), key)
		if err != nil {
			fmt.Println(err)
			return
		}
		if key == "orders" {
			permit.Success() // and for prices it was forgotten
		}
	}
	for _, admission := range watched.Forgotten() {
		what, _, _ := strings.Cut(admission, ", asked for at")
		fmt.Println(what)
	}
	// Output: key "prices", lease 0
}

// quiet is a test whose end never comes.
type quiet struct{ *testing.T }

func (quiet) Cleanup(func()) {}
func (quiet) Helper()        {}
