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
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that nobody needs any more
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
					url := "http://mem.test/"
					if protocol != "H1" {
						url = "https://example.com/"
					}
					benchRoundTrips(b, rt, url, workers)
					base.CloseIdleConnections()
				})
			}
		}
	}
}

func benchRoundTrips(b *testing.B, rt http.RoundTripper, url string, workers int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
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
	for range workers {
		wg.Go(one) // connections
	}
	wg.Wait()
	b.ReportAllocs()
	b.ResetTimer()
	cpu := processorTime()
	for i := range workers {
		n := b.N / workers
		if i < b.N%workers {
			n++
		}
		wg.Go(func() {
			for range n {
				one()
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	if used := processorTime() - cpu; used > 0 {
		b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
	}
}
