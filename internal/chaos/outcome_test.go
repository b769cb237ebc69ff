package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	fs "github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// situation is a request that meets a fault.
type situation struct {
	method string
	reused bool // on a connection that has served
	again  bool // each attempt meets it
}

// possible reports whether the fault can happen there.
func (s situation) possible(f *fault) bool {
	if f.parked != nil {
		return s.reused
	}
	return f.request != nil || !s.reused
}

const answerOfPage = "the answer of the server to this request, long enough to be cut"

// outcome lets a request meet the fault, in virtual time, and says what its
// caller got.
func (s situation) outcome(t *testing.T, f *fault, p fs.Protocol) (text string) {
	if !s.possible(f) {
		return "–"
	}
	synctest.Test(t, func(t *testing.T) {
		var met atomic.Int64
		meets := func() bool { return met.Add(1) == 1 || s.again }
		rep := &reply{proto: p, unit: time.Second, header: http.Header{"X-Page": {"yes"}}, data: []byte(answerOfPage)}
		rep.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, answerOfPage)
		})
		srv := fs.Start(t, fs.Config{
			Protocol: p, Memory: true, CA: authority,
			Choose: func(r fs.Request) fs.Script {
				if r.Path != "/warm" && f.request != nil && meets() {
					return f.request(rep)
				}
				return inOrder(rep)
			},
			ChooseConn: func(fs.Conn) fs.Script {
				if f.conn != nil && meets() {
					return f.conn(rep)
				}
				return fs.Script{}
			},
		})
		c, rec := s.client(t, f, srv, meets)
		if s.reused {
			s.send(t, c, srv, "/warm")
			synctest.Wait()
			rec.Reset()
		}
		if f.parked != nil {
			f.parked(srv)
			synctest.Wait()
		}
		status, err, bodyErr := s.send(t, c, srv, "/")
		done := eventstest.One[events.CallDone](t, rec)
		text = describe(status, err, bodyErr, &done)
		if s.again {
			text += spent(&done, c.Stats())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return text
}

// client makes the client of a page's outcome.
func (s situation) client(t *testing.T, f *fault, srv *fs.Server, meets func() bool) (*client.Client, *eventstest.Recorder) {
	rec := eventstest.NewRecorder()
	tr := srv.ClientTransport()
	tr.TLSHandshakeTimeout, tr.MaxResponseHeaderBytes = 5*time.Second, 64<<10
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if f.dial != nil && meets() {
			return nil, f.dial(ctx, time.Second)
		}
		return srv.DialContext(ctx, network, addr)
	}
	c, err := client.New(client.Config{
		Transport: tr, AttemptTimeout: 10 * time.Second, BodyIdleTimeout: 10 * time.Second, Hooks: rec.Hooks(), NoTelemetry: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, rec
}

// send sends the request and reads its answer.
func (s situation) send(t *testing.T, c *client.Client, srv *fs.Server, path string) (status int, err, bodyErr error) {
	var body io.Reader
	if s.method == http.MethodPost {
		body = strings.NewReader("the body of the request")
	}
	req, err := http.NewRequestWithContext(t.Context(), s.method, srv.URL(path), body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err, nil
	}
	defer resp.Body.Close()
	_, bodyErr = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil, bodyErr
}

// describe is a cell of the page.
func describe(status int, err, bodyErr error, done *events.CallDone) string {
	var text string
	switch {
	case err != nil:
		text = fmt.Sprintf("`%s` %s", done.Class, typeOf(err, done.Class))
	case bodyErr != nil:
		text = fmt.Sprintf("%d, body: `%s` %s", status, done.Class, typeOf(bodyErr, done.Class))
	default:
		text = fmt.Sprint(status)
	}
	if err == nil && done.Recoveries > 0 {
		text += ", recovered"
	}
	switch n := done.Attempts - 1; {
	case err != nil || done.Skipped != "":
	case n == 1:
		text += ", 1 retry"
	case n > 1:
		text += fmt.Sprintf(", %d retries", n)
	}
	if done.Skipped != "" {
		text += " (no retry: " + string(done.Skipped) + ")"
	}
	return text
}

// spent tells attempts and tokens.
func spent(done *events.CallDone, s client.Stats) string {
	lost := 0
	for _, l := range s.Budget {
		lost += l.Capacity - l.Tokens
	}
	text := fmt.Sprintf(", %d attempts", done.Attempts)
	if done.Attempts == 1 {
		text = ", 1 attempt"
	}
	if lost > 0 {
		text += fmt.Sprintf(", −%d", lost)
	}
	return text
}

// typeOf names the type of an error that a caller can look for: the first of
// this module in the chain, else of the standard library.
//
// Of a malformed answer the latter says nothing: net/http has texts for it.
func typeOf(err error, class events.ErrorClass) string {
	std := ""
	for _, e := range chain(err) {
		rt := reflect.TypeOf(e)
		if rt.Kind() == reflect.Pointer {
			rt = rt.Elem()
		}
		exported := rt.Name() != "" && rt.Name()[0] >= 'A' && rt.Name()[0] <= 'Z'
		switch {
		case strings.Contains(rt.PkgPath(), "/plimsoll/") && exported && rt != reflect.TypeFor[client.Error]():
			return fmt.Sprintf("%T", e)
		case std == "" && exported && !strings.HasPrefix(rt.PkgPath(), "github.com/plimsoll-http") && rt.String() != "url.Error":
			std = fmt.Sprintf("%T", e)
		}
	}
	for _, known := range []struct {
		err  error
		name string
	}{{context.DeadlineExceeded, "context.DeadlineExceeded"}, {io.ErrUnexpectedEOF, "io.ErrUnexpectedEOF"}, {io.EOF, "io.EOF"}} {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	if std == "" || class == events.ClassProtocol {
		return "error"
	}
	return std
}

// chain flattens what err wraps.
func chain(err error) []error {
	all := []error{err}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if inner := u.Unwrap(); inner != nil {
			all = append(all, chain(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range u.Unwrap() {
			all = append(all, chain(inner)...)
		}
	}
	return all
}
