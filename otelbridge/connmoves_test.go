package otelbridge_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"syscall"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
	"github.com/plimsoll-http/plimsoll/pool"
)

// recovering returns two movements in which a reused connection is dead, as it
// says by the class: with a pool that takes any other, and with one that dials a
// fresh one. Each has to be counted as what it is: a class that is not declared
// would be taken for "other".
func recovering(name string, class events.ErrorClass, protocol faultserver.Protocol, change func(*http.Transport), die func(*faultserver.Server)) []movement {
	do := func(fresh bool) func(context.Context, *driver) {
		return func(ctx context.Context, d *driver) {
			d.want(ctx, 200)
			synctest.Wait()
			die(d.server)
			d.want(ctx, 200)
			cause := attribute.String(catalog.KeyCause, string(class))
			if got := d.value(catalog.ConnStale, cause); got != 1 {
				d.t.Errorf("%v connections count as %s, want 1", got, class)
			}
			if got := d.value(catalog.ConnRecoveries, cause, attribute.Bool(catalog.KeyFresh, fresh)); got != 1 {
				d.t.Errorf("%v requests were recovered from %s with fresh %v, want 1", got, class, fresh)
			}
		}
	}
	return []movement{
		{name: name + ", recovered from", protocol: protocol, change: change, do: do(false)},
		{name: name + ", recovered from on a fresh one", protocol: protocol, change: change, do: do(true), cfg: client.Config{Pool: pool.Config{Recoveries: 1}}},
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

// badSettings is a SETTINGS frame of five bytes, of which no setting can be
// (RFC 9113, section 6.5).
const badSettings = "\x00\x00\x05\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// recoverings have a dead connection of each class.
var recoverings = slices.Concat(
	recovering("eof", events.ClassEOF, faultserver.H1, nil, racing(faultserver.FIN)),
	recovering("reset", events.ClassReset, faultserver.H1, nil, racing(faultserver.RST)),
	recovering("truncation", events.ClassTLSTransport, faultserver.TLS, nil, racing(faultserver.FIN)),
	recovering("half a record", events.ClassTLSTransport, faultserver.TLS, nil, racing(faultserver.TruncatedRecord)),
	recovering("close_notify", events.ClassEOF, faultserver.TLS, nil, racing(faultserver.CloseNotify)),
	recovering("a refused stream", events.ClassRefusedStream, faultserver.H2, nil, answering(faultserver.RefuseStream())),
	recovering("a graceful GOAWAY", events.ClassGoAway, faultserver.H2, nil, answering(faultserver.RefuseByGoAway())),
	recovering("host unreachable", events.ClassOther, faultserver.H1, ending("", syscall.EHOSTUNREACH), racing(faultserver.FIN)),
	recovering("a malformed frame", events.ClassProtocol, faultserver.H2C, ending(badSettings, syscall.EHOSTUNREACH), racing(faultserver.FIN)),
	pinging(recovering("an unanswered PING", events.ClassEOF, faultserver.H2, nil, func(s *faultserver.Server) { s.BlackHole() })),
	recovering("given up by the kernel", events.ClassTimeout, faultserver.H1, ending("", syscall.ETIMEDOUT), racing(faultserver.FIN)),
)

// pinging has the pools of the movements look after silent connections.
func pinging(all []movement) []movement {
	for i := range all {
		all[i].cfg.Pool.PingInterval = time.Second
	}
	return all
}

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
		if n := len(d.at(catalog.RequestDuration, attribute.String(catalog.KeyProtocolVersion, "1.0"))); n != 1 {
			d.t.Errorf("%d series have the protocol version 1.0, want 1", n)
		}
	}},
	{name: "no budget", cfg: client.Config{NoBudget: true}, do: func(ctx context.Context, d *driver) { d.unavailable(1); d.want(ctx, 200) }},
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
