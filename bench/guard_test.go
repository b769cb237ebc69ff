package bench

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/plimsoll-http/plimsoll/bench/internal/wire"
	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/pool"
)

// callBounds are what a healthy call may allocate beyond the bare RoundTripper.
// They are the figures of the day they were written, with room for one small
// object in the bytes: raise one only with a reason in the commit's message.
var callBounds = []struct {
	name          string
	cfg           func(t *testing.T) client.Config
	allocs, bytes uint64
}{
	{"retry and budget, no telemetry", off, 1, 672},
	{"with a breaker", func(t *testing.T) client.Config { return withBreaker(t, off(t)) }, 1, 672},
	{"no-op providers", func(*testing.T) client.Config {
		return client.Config{Telemetry: otelbridge.Config{
			TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider(), Propagator: propagation.TraceContext{},
		}}
	}, 3, 1072},
	{"SDK, unsampled", func(*testing.T) client.Config { return withSDK(sdktrace.NeverSample()) }, 7, 1480},
	{"SDK, sampled", func(*testing.T) client.Config { return withSDK(sdktrace.AlwaysSample()) }, 13, 3600},
}

func off(*testing.T) client.Config { return client.Config{NoTelemetry: true} }

func withBreaker(t *testing.T, cfg client.Config) client.Config {
	b, err := breaker.New(breaker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Breaker = b
	return cfg
}

// withSDK ends spans with a processor that takes a snapshot and drops it, on
// the goroutine of the call: so the count is always the same.
func withSDK(s sdktrace.Sampler) client.Config {
	return client.Config{Telemetry: otelbridge.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithSpanProcessor(sdktrace.NewSimpleSpanProcessor(nil))),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		Propagator:     propagation.TraceContext{},
	}}
}

// bare answers from memory.
type bare struct{}

var bareHeader = http.Header{"Content-Length": {"2"}}

func (bare) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: bareHeader, ContentLength: 2,
		Request: req, Body: io.NopCloser(strings.NewReader("ok")),
	}, nil
}

func get(t testing.TB, url string) *http.Request {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer 0123456789abcdef")
	return req
}

func call(t testing.TB, rt http.RoundTripper, req *http.Request) {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	var buf [16]byte
	for err == nil {
		_, err = resp.Body.Read(buf[:])
	}
	if err != io.EOF {
		t.Error(err)
	}
	resp.Body.Close()
}

// perCall returns the allocations and bytes of one call: the least of several
// batches, since the runtime allocates for itself now and then.
func perCall(t testing.TB, rt http.RoundTripper, url string) (allocs, bytes uint64) {
	const calls = 256
	req := get(t, url)
	for range calls {
		call(t, rt, req)
	}
	allocs, bytes = 1<<62, 1<<62
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			call(t, rt, req)
		}
		runtime.ReadMemStats(&after)
		allocs = min(allocs, (after.Mallocs-before.Mallocs)/calls)
		bytes = min(bytes, (after.TotalAlloc-before.TotalAlloc)/calls)
	}
	return allocs, bytes
}

func newTransport(t testing.TB, cfg client.Config) *client.Transport {
	c, err := client.NewTransport(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestAHealthyCallAllocatesNoMoreThanItsBounds(t *testing.T) {
	const url = "http://api.example.com:8080/v1/orders/7?expand=lines"
	baseAllocs, baseBytes := perCall(t, bare{}, url)
	for _, b := range callBounds {
		t.Run(b.name, func(t *testing.T) {
			cfg := b.cfg(t)
			cfg.Base = bare{}
			allocs, bytes := perCall(t, newTransport(t, cfg), url)
			allocs, bytes = allocs-baseAllocs, bytes-baseBytes
			t.Logf("%d allocations, %d bytes", allocs, bytes)
			if allocs > b.allocs || bytes > b.bytes {
				t.Errorf("%d allocations and %d bytes per call, bounds %d and %d", allocs, bytes, b.allocs, b.bytes)
			}
		})
	}
}

// TestThePoolAllocatesNoMoreThanTransport compares both over connections that
// cost nothing themselves.
func TestThePoolAllocatesNoMoreThanTransport(t *testing.T) {
	const url = "http://one.example/"
	var network wire.Network
	base := &http.Transport{DialContext: network.DialContext}
	defer base.CloseIdleConnections()
	p, err := pool.New(pool.Config{Base: &http.Transport{DialContext: network.DialContext}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	theirAllocs, theirBytes := perCall(t, base, url)
	allocs, bytes := perCall(t, p, url)
	t.Logf("pool %d allocations, %d bytes; http.Transport %d and %d", allocs, bytes, theirAllocs, theirBytes)
	// A response's body knows its connection: a few words.
	if allocs > theirAllocs || bytes > theirBytes+128 {
		t.Errorf("pool: %d allocations and %d bytes per call; http.Transport: %d and %d", allocs, bytes, theirAllocs, theirBytes)
	}
}

// TestThePoolAllocatesNoMoreThanItsBoundsOverTLS compares both with a server of
// net/http on connections in memory, whose part is the same for both.
func TestThePoolAllocatesNoMoreThanItsBoundsOverTLS(t *testing.T) {
	for _, row := range []struct {
		name  string
		h2    bool
		bound int64 // beyond http.Transport's; ClientConn itself takes 4 on HTTP/2
	}{{"TLS", false, 0}, {"HTTP/2", true, 4}} {
		t.Run(row.name, func(t *testing.T) {
			serve := func() *http.Transport {
				ln := memconn.Listen()
				srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					io.WriteString(w, "ok")
				}))
				srv.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // it tells of connections that nobody needs any more
				srv.Listener.Close()
				srv.Listener, srv.EnableHTTP2 = ln, row.h2
				srv.StartTLS()
				t.Cleanup(srv.Close)
				base := &http.Transport{
					DialContext: ln.DialContext, ForceAttemptHTTP2: row.h2,
					TLSClientConfig: srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone(),
				}
				t.Cleanup(base.CloseIdleConnections)
				return base
			}
			const url = "https://example.com/"
			p, err := pool.New(pool.Config{Base: serve()})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			theirs, _ := perCall(t, serve(), url)
			ours, _ := perCall(t, p, url)
			t.Logf("pool %d allocations, http.Transport %d", ours, theirs)
			if more := int64(ours) - int64(theirs); more > row.bound { //nolint:gosec // small
				t.Errorf("pool: %d allocations per call, http.Transport: %d", ours, theirs)
			}
		})
	}
}

func TestOneConnectionAndOneWritePerRequest(t *testing.T) {
	const calls = 100
	measure := func(rt func(*http.Transport) http.RoundTripper) wire.Counts {
		var network wire.Network
		r := rt(&http.Transport{DialContext: network.DialContext})
		req := get(t, "http://one.example/")
		for range calls {
			call(t, r, req)
		}
		counts := network.Counts()
		if c, ok := r.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
		return counts
	}
	theirs := measure(func(b *http.Transport) http.RoundTripper { return b })
	ours := measure(func(b *http.Transport) http.RoundTripper {
		return newTransport(t, client.Config{Transport: b, NoTelemetry: true})
	})
	t.Logf("plimsoll %+v, http.Transport %+v", ours, theirs)
	// One Read per answer, and the one that waits on the idle connection: it may
	// or may not have been made when the counts are taken.
	if ours.Dials != 1 || ours.Writes != calls || ours.Reads > calls+1 {
		t.Errorf("%+v for %d calls, want 1 dial, %d writes and at most %d reads", ours, calls, calls, calls+1)
	}
}

// TestNoCallWaitsForALockOfBudgetOrClient lets 64 goroutines contend and looks
// for both packages in the mutex profile: in what a client is by default, and
// with a breaker, as it is measured against peers.
func TestNoCallWaitsForALockOfBudgetOrClient(t *testing.T) {
	t.Run("retry and budget", func(t *testing.T) { noWaits(t, off(t)) })
	t.Run("with a breaker", func(t *testing.T) { noWaits(t, withBreaker(t, off(t))) })
}

func noWaits(t *testing.T, cfg client.Config) {
	before := runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(before)
	// With a thread each, goroutines are also stopped while they hold a lock:
	// one that is held for nanoseconds shows.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64))
	cfg.Base = bare{}
	c := newTransport(t, cfg)
	call(t, c, get(t, "http://api.example.com/")) // the origin is known from here on
	known := contended()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			req := get(t, "http://api.example.com/")
			for range 4000 {
				call(t, c, req)
			}
		})
	}
	wg.Wait()
	for stack, n := range contended() {
		if n > known[stack] {
			t.Errorf("%d goroutines waited here:\n%s", n-known[stack], stack)
		}
	}
}

// contended returns how often goroutines waited for a lock of budget or
// client, by stack.
func contended() map[string]int64 {
	var records []runtime.BlockProfileRecord
	for n, ok := 64, false; !ok; {
		records = make([]runtime.BlockProfileRecord, n+64)
		if n, ok = runtime.MutexProfile(records); ok {
			records = records[:n]
		}
	}
	found := map[string]int64{}
	for _, r := range records {
		var lines []string
		frames := runtime.CallersFrames(r.Stack())
		for {
			f, more := frames.Next()
			lines = append(lines, fmt.Sprintf("\t%s %s:%d", f.Function, f.File, f.Line))
			if !more {
				break
			}
		}
		// The frame that unlocks, past those of sync.
		i := slices.IndexFunc(lines, func(s string) bool {
			return !strings.HasPrefix(s, "\tsync.") && !strings.HasPrefix(s, "\tinternal/sync.")
		})
		if i >= 0 && (strings.HasPrefix(lines[i], "\tgithub.com/plimsoll-http/plimsoll/budget.") || strings.HasPrefix(lines[i], "\tgithub.com/plimsoll-http/plimsoll/client.")) {
			found[strings.Join(lines, "\n")] += r.Count
		}
	}
	return found
}
