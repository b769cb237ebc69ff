package pool

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/bootstrap"
	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// benchServer serves "ok" over buffered connections in memory, and returns a
// transport that dials it.
func benchServer(b *testing.B, protocol string) *http.Transport {
	b.Helper()
	ln := memconn.Listen()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "ok")
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // it would tell of connections that nobody needs any more
	srv.Listener.Close()
	srv.Listener = ln
	switch protocol {
	case "H1":
		srv.Start()
	case "TLS":
		srv.StartTLS()
	case "H2":
		srv.EnableHTTP2 = true
		srv.StartTLS()
	}
	b.Cleanup(srv.Close)
	t := srv.Client().Transport.(*http.Transport).Clone()
	t.TLSNextProto = nil
	t.ForceAttemptHTTP2 = protocol == "H2"
	if protocol == "TLS" {
		t.TLSClientConfig.NextProtos = nil
	}
	t.DialContext = ln.DialContext
	t.MaxIdleConnsPerHost = 64
	return t
}

// BenchmarkRoundTrip compares the pool with http.Transport, in one run, over
// connections in memory: whole exchanges, the server's part included. cpu-ns/op
// is the processor time of the whole process.
func BenchmarkRoundTrip(b *testing.B) {
	for _, protocol := range []string{"H1", "TLS", "H2"} {
		for _, workers := range []int{1, 2, 64} {
			for _, who := range []string{"transport", "pool"} {
				b.Run(fmt.Sprintf("%s/%d/%s", protocol, workers, who), func(b *testing.B) {
					base := benchServer(b, protocol)
					var rt http.RoundTripper = base
					if who == "pool" {
						p, err := New(Config{Base: base})
						if err != nil {
							b.Fatal(err)
						}
						b.Cleanup(func() { p.Close() })
						rt = p
					}
					benchRoundTrips(b, rt, protocol, workers)
					base.CloseIdleConnections()
				})
			}
		}
	}
}

// BenchmarkAgainstTransport gives the ratio of the processor times that the
// pool and http.Transport take for the same exchanges, from slices in the order
// A B B A, which is one operation: "ratio" is the median of the operations,
// "upper" the upper end of its 95 % interval, by bootstrap. Both are of use from
// some 400 operations on (-benchtime 400x). A slice is long enough for the
// garbage that it makes to be collected in it.
func BenchmarkAgainstTransport(b *testing.B) {
	const slice = 1024
	for _, protocol := range []string{"H1", "TLS", "H2"} {
		for _, workers := range []int{1, 2, 64} {
			b.Run(fmt.Sprintf("%s/%d", protocol, workers), func(b *testing.B) {
				base, baseOfPool := benchServer(b, protocol), benchServer(b, protocol)
				p, err := New(Config{Base: baseOfPool})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { p.Close(); base.CloseIdleConnections() })
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				measure := func(rt http.RoundTripper) time.Duration {
					start := processorTime()
					exchanges(b, ctx, rt, benchURL(protocol), slice, workers)
					return processorTime() - start
				}
				measure(base)
				measure(p)
				var ratios []float64
				b.ResetTimer()
				for range b.N {
					transport := measure(base)
					pool := measure(p) + measure(p)
					transport += measure(base)
					if transport > 0 {
						ratios = append(ratios, float64(pool)/float64(transport))
					}
				}
				b.StopTimer()
				if len(ratios) > 0 {
					ratio := bootstrap.Median(ratios)
					b.ReportMetric(ratio.Mid, "ratio")
					b.ReportMetric(ratio.High, "upper")
				}
			})
		}
	}
}

func benchURL(protocol string) string {
	if protocol == "H1" {
		return "http://mem.test/"
	}
	return "https://example.com/"
}

func benchRoundTrips(b *testing.B, rt http.RoundTripper, protocol string, workers int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	exchanges(b, ctx, rt, benchURL(protocol), workers, workers) // connections
	b.ReportAllocs()
	b.ResetTimer()
	cpu := processorTime()
	exchanges(b, ctx, rt, benchURL(protocol), b.N, workers)
	b.StopTimer()
	if used := processorTime() - cpu; used > 0 {
		b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
	}
}

// exchanges makes n exchanges, by so many workers at a time.
func exchanges(b *testing.B, ctx context.Context, rt http.RoundTripper, url string, n, workers int) {
	b.Helper()
	one := func() {
		req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			b.Error(err)
			return
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Error(err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	var wg sync.WaitGroup
	for i := range workers {
		share := n / workers
		if i < n%workers {
			share++
		}
		wg.Go(func() {
			for range share {
				one()
			}
		})
	}
	wg.Wait()
}
