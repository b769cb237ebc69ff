package otelbridge_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// openSpans counts the spans that were started and have not ended.
type openSpans struct {
	mu   sync.Mutex
	open map[string]int // guarded by mu
}

func (o *openSpans) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { o.add(s.Name(), 1) }
func (o *openSpans) OnEnd(s sdktrace.ReadOnlySpan)                       { o.add(s.Name(), -1) }
func (o *openSpans) Shutdown(context.Context) error                      { return nil }
func (o *openSpans) ForceFlush(context.Context) error                    { return nil }

func (o *openSpans) add(name string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = map[string]int{}
	}
	if o.open[name] += n; o.open[name] == 0 {
		delete(o.open, name)
	}
}

func (o *openSpans) list() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for name, n := range o.open {
		names = append(names, fmt.Sprint(name, " ", n))
	}
	return names
}

func connTraced(t *testing.T) (*rig, *openSpans) {
	r := newRig(t, func(c *otelbridge.Config) { c.ConnTrace = true })
	open := &openSpans{}
	r.tracer.RegisterSpanProcessor(open)
	return r, open
}

// send makes one call with a real transport inside the hooks.
func (r *rig) send(rt http.RoundTripper, url string, body io.Reader) error {
	ctx := r.callStarted(r.t.Context())
	inner, header := r.attemptStarted(ctx, 1)
	req, err := http.NewRequestWithContext(inner, http.MethodPost, url, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer t0ken")
	resp, err := rt.RoundTrip(req)
	done := events.AttemptDone{Meta: meta, Attempt: 1}
	if err != nil {
		done.Class = events.ClassDial
	} else {
		done.Status = resp.StatusCode
	}
	r.hooks.AttemptDone(inner, done)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Attempts: 1})
	return err
}

func TestConnTraceLeavesNoSpanOpen(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "s3cret")
		w.WriteHeader(http.StatusEarlyHints)
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "hello")
	}))
	defer srv.Close()
	r, open := connTraced(t)
	if err := r.send(srv.Client().Transport, srv.URL, strings.NewReader("body")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"http.getconn", "http.connect", "http.tls", "http.send", "http.receive"} {
		s := r.span(name)
		if !s.Parent.IsValid() {
			t.Errorf("%s has no parent", name)
		}
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, "t0ken") || strings.Contains(text, "s3cret") {
			t.Errorf("%s holds a header value: %s", name, text)
		}
	}
	if got := r.span("GET"); got.Attributes == nil || r.span("http.getconn").Parent.SpanID() != got.SpanContext.SpanID() {
		t.Errorf("http.getconn is not a child of the attempt")
	}
	if got := open.list(); len(got) != 0 {
		t.Errorf("spans are left open: %q", got)
	}
}

func TestConnTraceLeavesNoSpanOpenWhenTheDialFails(t *testing.T) {
	r, open := connTraced(t)
	cause := errors.New("dial refused by hunter2")
	rt := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, cause }}
	if err := r.send(rt, "http://127.0.0.1:1/", nil); !errors.Is(err, cause) {
		t.Fatal(err)
	}
	r.span("http.getconn")
	if got := open.list(); len(got) != 0 {
		t.Errorf("spans are left open: %q", got)
	}
}

func TestConnTraceHoldsNoErrorText(t *testing.T) {
	r, open := connTraced(t)
	inner, _ := r.attemptStarted(r.callStarted(t.Context()), 1)
	trace := httptrace.ContextClientTrace(inner)
	secret := errors.New("hunter2")
	trace.GetConn("api.example.com:443")
	trace.DNSStart(httptrace.DNSStartInfo{Host: "api.example.com"})
	trace.DNSDone(httptrace.DNSDoneInfo{Err: secret})
	trace.ConnectStart("tcp", "192.0.2.1:443")
	trace.ConnectDone("tcp", "192.0.2.1:443", secret)
	trace.TLSHandshakeStart()
	trace.TLSHandshakeDone(tls.ConnectionState{}, secret)
	trace.WroteHeaders()
	trace.WroteRequest(httptrace.WroteRequestInfo{Err: secret})
	trace.GotFirstResponseByte()
	if err := trace.Got1xxResponse(103, map[string][]string{"Link": {"hunter2"}}); err != nil {
		t.Error(err)
	}
	trace.PutIdleConn(secret)
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Class: events.ClassDial})

	if text := fmt.Sprintf("%+v", r.spans.GetSpans()); strings.Contains(text, "hunter2") {
		t.Errorf("an error's text or a header is in a span: %s", text)
	}
	if got := r.span("http.connect").Status.Description; got != "connecting failed" {
		t.Errorf("the failed dial says %q, want \"connecting failed\"", got)
	}

	// What comes after the end, as of a dial that goes on, is not recorded.
	before := len(r.spans.GetSpans())
	trace.ConnectStart("tcp", "192.0.2.2:443")
	trace.ConnectDone("tcp", "192.0.2.2:443", nil)
	if n := len(r.spans.GetSpans()); n != before {
		t.Errorf("%d spans after the end, want none", n-before)
	}
	if got := open.list(); len(got) != 1 {
		t.Errorf("spans are left open: %q, want the call alone", got)
	}
}
