package otelbridge_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"syscall"
	"testing/synctest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
	"github.com/plimsoll-http/plimsoll/pool"
)

// recovering returns two movements in which a reused connection is dead: with
// a pool that takes any other, and with one that dials a fresh one.
func recovering(name string, protocol faultserver.Protocol, change func(*http.Transport), die func(*faultserver.Server)) []movement {
	do := func(ctx context.Context, d *driver) {
		d.want(ctx, 200)
		synctest.Wait()
		die(d.server)
		d.want(ctx, 200)
	}
	return []movement{
		{name: name + ", recovered from", protocol: protocol, change: change, do: do},
		{name: name + ", recovered from on a fresh one", protocol: protocol, change: change, do: do, cfg: client.Config{Pool: pool.Config{Recoveries: 1}}},
	}
}

// racing has the next request meet a server that has just closed.
func racing(how faultserver.How) func(*faultserver.Server) {
	return func(s *faultserver.Server) { s.RaceIdle(how) }
}

func answering(script faultserver.Script) func(*faultserver.Server) {
	return func(s *faultserver.Server) { s.Next(script) }
}

// lastWords is a connection that does not end with io.EOF: it still gives some
// bytes, and fails with an error of its own.
type lastWords struct {
	net.Conn
	bytes string
	err   error
}

func (c *lastWords) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		return copy(p, c.bytes), c.err
	}
	return n, err
}

func ending(bytes string, err error) func(*http.Transport) {
	return func(t *http.Transport) {
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err2 := dial(ctx, network, addr)
			if err2 != nil {
				return nil, err2
			}
			return &lastWords{c, bytes, err}, nil
		}
	}
}

// silence is an error of a connection that was given up. It says that it is a
// timeout and, as Temporary is deprecated, is no net.Error.
type silence struct{}

func (silence) Error() string { return "no sign of life" }
func (silence) Timeout() bool { return true }

// badSettings is a SETTINGS frame of five bytes, of which no setting can be
// (RFC 9113, section 6.5).
const badSettings = "\x00\x00\x05\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// recoverings have a dead connection of each class.
var recoverings = slices.Concat(
	recovering("eof", faultserver.H1, nil, racing(faultserver.FIN)),
	recovering("reset", faultserver.H1, nil, racing(faultserver.RST)),
	recovering("truncation", faultserver.TLS, nil, racing(faultserver.FIN)),
	recovering("half a record", faultserver.TLS, nil, racing(faultserver.TruncatedRecord)),
	recovering("close_notify", faultserver.TLS, nil, racing(faultserver.CloseNotify)),
	recovering("a refused stream", faultserver.H2, nil, answering(faultserver.RefuseStream())),
	recovering("a graceful GOAWAY", faultserver.H2, nil, answering(faultserver.RefuseByGoAway())),
	recovering("host unreachable", faultserver.H1, ending("", syscall.EHOSTUNREACH), racing(faultserver.FIN)),
	recovering("a malformed frame", faultserver.H2C, ending(badSettings, syscall.EHOSTUNREACH), racing(faultserver.FIN)),
	recovering("silence", faultserver.H2C, ending(badSettings, silence{}), racing(faultserver.FIN)),
)

// callsAlone is a sampler that drops the spans of attempts, so that those of
// calls say everything.
type callsAlone struct{}

func (callsAlone) Description() string { return "callsAlone" }

func (callsAlone) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	d := sdktrace.RecordAndSample
	if p.Kind == trace.SpanKindClient {
		d = sdktrace.Drop
	}
	return sdktrace.SamplingResult{Decision: d}
}

func standard() *budget.Config {
	c := budget.Default()
	return &c
}

// exchanges are about what is sent and what comes back.
var exchanges = []movement{
	{name: "every method", do: func(ctx context.Context, d *driver) {
		for _, m := range catalog.Methods() {
			d.server.Next(faultserver.Respond(405, ""))
			d.send(ctx, m, nil)
		}
	}},
	{name: "an old server", do: func(ctx context.Context, d *driver) {
		d.server.Next(faultserver.Do(faultserver.Raw{Data: []byte("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")}))
		d.want(ctx, 200)
	}},
	{name: "handed on", change: func(t *http.Transport) { t.MaxConnsPerHost = 1 }, do: func(ctx context.Context, d *driver) { d.together(ctx, 2) }},
	{name: "retries and throttles", protocol: faultserver.TLS, tokens: standard(), cfg: client.Config{Retry: client.RetryPolicy{MaxRetries: 2, Overrun: client.Send}}, do: func(ctx context.Context, d *driver) { d.retries(ctx) }},
	{name: "calls alone are sampled", sampler: callsAlone{}, do: func(ctx context.Context, d *driver) { d.want(ctx, 200) }},
	{
		name: "a hook that panics", cfg: client.Config{Hooks: &events.Hooks{ConnClosed: func(context.Context, events.ConnClosed) { panic("hook") }}},
		do: func(ctx context.Context, d *driver) {
			d.want(ctx, 200)
			synctest.Wait()
			d.server.KillIdle(faultserver.FIN)
			synctest.Wait()
		},
	},
}
