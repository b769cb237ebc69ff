package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
)

// The pool judges errors through the client's own wrappers too.
func TestRecoverableLooksThroughTheClientsErrors(t *testing.T) {
	wrappers := map[string]func(error) error{
		"*client.Error":       func(err error) error { return &client.Error{Err: err} },
		"*client.StreamError": func(err error) error { return &client.StreamError{Reason: events.StreamTransport, Err: err} },
		"all of them": func(err error) error {
			return fmt.Errorf("x: %w", &url.Error{Op: "Get", Err: &client.Error{Err: &client.StreamError{Err: err}}})
		},
	}
	lost := &pool.StaleConnError{Class: events.ClassEOF, NothingWritten: true, Err: io.EOF}
	for name, wrap := range wrappers {
		if err := wrap(lost); !pool.Recoverable(err) || !pool.Unprocessed(err) || pool.ClassOf(err) != events.ClassStale {
			t.Errorf("%s of a lost connection: recoverable %v, unprocessed %v, class %q", name, pool.Recoverable(err), pool.Unprocessed(err), pool.ClassOf(err))
		}
		if err := wrap(errors.New("x")); pool.Recoverable(err) || pool.Unprocessed(err) || pool.ClassOf(err) != events.ClassOther {
			t.Errorf("%s of an unknown error: recoverable %v, class %q", name, pool.Recoverable(err), pool.ClassOf(err))
		}
	}
}
