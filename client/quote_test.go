package client

import (
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// Each answer is one that net/http quotes in its error. Were a text of net/http's
// to change, the row would show the secret.
func TestNoErrorQuotesAMalformedResponse(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, row := range []struct {
		answer string
		says   string
		class  events.ErrorClass
		mime   bool // it comes from net/textproto
	}{
		{"hunter2\r\n\r\n", "malformed HTTP response REDACTED", events.ClassProtocol, false},
		{"HTTP/1.1 hunter2 OK\r\n\r\n", "malformed HTTP status code REDACTED", events.ClassProtocol, false},
		{"HTTP/hunter2 200 OK\r\n\r\n", "malformed HTTP version REDACTED", events.ClassProtocol, false},
		{ok + " hunter2: 1\r\n\r\n", "malformed MIME header initial line: REDACTED", events.ClassProtocol, true},
		{ok + "Set-Cookie session=hunter2\r\n\r\n", "malformed MIME header: missing colon: REDACTED", events.ClassProtocol, true},
		{ok + "X: 1\r\nhunter2 \x01: 2\r\n\r\n", "malformed MIME header line: REDACTED", events.ClassProtocol, true},
		{ok + "Content-Length: hunter2\r\n\r\n", "bad Content-Length REDACTED", events.ClassOther, false},
		{ok + "Content-Length: 1\r\nContent-Length: hunter2\r\n\r\nx", "multiple Content-Length headers; got REDACTED", events.ClassOther, false},
		{ok + "Transfer-Encoding: hunter2\r\n\r\n", "unsupported transfer encoding: REDACTED", events.ClassOther, false},
		{ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nX session=hunter2\r\n\r\n", "malformed MIME header: missing colon: REDACTED", events.ClassProtocol, true},
	} {
		t.Run(row.says, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				srv := faultserver.Start(t, faultserver.Config{Memory: true})
				rec := eventstest.NewRecorder()
				c := newClient(t, Config{Transport: srv.ClientTransport(), NoTelemetry: true, Hooks: rec.Hooks()})
				srv.Next(faultserver.Do(faultserver.ReadBody{}, faultserver.Raw{Data: []byte(row.answer)}, faultserver.Kill{How: faultserver.FIN}))
				resp, err := c.Post(srv.URL(), "text/plain", strings.NewReader("x")) // sent once
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err == nil || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("error %v, want one that says %q", err, row.says)
				}
				var unquoted *unquotedError
				if !errors.As(err, &unquoted) || !strings.Contains(errors.Unwrap(unquoted).Error(), "hunter2") {
					t.Errorf("inside is %v, want net/http's error", unquoted.err)
				}
				var mime textproto.ProtocolError
				if errors.As(err, &mime) != row.mime {
					t.Errorf("a textproto.ProtocolError: %v, want %v", !row.mime, row.mime)
				}
				if done := eventstest.One[events.CallDone](t, rec); done.Class != row.class {
					t.Errorf("class %s, want %s", done.Class, row.class)
				}
			})
		})
	}
}

func TestAnErrorThatQuotesNothingStaysAsItIs(t *testing.T) {
	for _, err := range []error{io.EOF, http.ErrServerClosed, errors.New("malformed chunked encoding")} {
		if got := withoutQuote(err); got != err {
			t.Errorf("%v became %T", err, got)
		}
	}
}
