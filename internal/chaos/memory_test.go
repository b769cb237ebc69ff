package chaos

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
)

// growth is how much more than after the first thousand calls the heap may hold.
const growth = 1 << 20

// heap returns what is reachable, after two collections: the first runs the
// finalizers and empties the pools that the second takes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// fake is a Base that answers every call at once. Every hundredth attempt is a
// 503, so that retries and their tokens are among what must not stay.
type fake struct{ attempts atomic.Int64 }

func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if f.attempts.Add(1)%100 == 0 {
		status = http.StatusServiceUnavailable
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader("ok")), ContentLength: 2, Request: req,
	}, nil
}

func TestAMillionCallsInMemoryLeaveNothingBehind(t *testing.T) {
	calls := 20_000
	if *longFlag {
		calls = 1_000_000
	}
	staysFlat(t, &client.Config{Base: &fake{}}, "http://fake.test/", calls)
}

func TestTwoHundredThousandCallsOverLoopbackLeaveNothingBehind(t *testing.T) {
	calls := 3000
	if *longFlag {
		calls = 200_000
	}
	for _, kind := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(kind, func(t *testing.T) {
			var n atomic.Int64
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				switch n.Add(1) % 100 {
				case 0:
					w.WriteHeader(http.StatusServiceUnavailable)
				case 50:
					w.Header().Set("Connection", "close") // and another connection
				}
				io.WriteString(w, "ok")
			}))
			cfg := client.Config{}
			if kind == "HTTP/2" {
				srv.EnableHTTP2 = true
				srv.StartTLS()
				cfg.Transport = srv.Client().Transport.(*http.Transport)
			} else {
				srv.Start()
				cfg.Transport = &http.Transport{}
			}
			defer srv.Close()
			staysFlat(t, &cfg, srv.URL, calls)
		})
	}
}

// staysFlat makes calls with cfg from four callers and compares memory and
// goroutines after the first thousand with those at the end.
func staysFlat(t *testing.T, cfg *client.Config, url string, calls int) {
	t.Helper()
	var err error
	if cfg.Breaker, err = breaker.New(breaker.Config{}); err != nil {
		t.Fatal(err)
	}
	cfg.Retry = client.RetryPolicy{BaseDelay: time.Nanosecond, MaxDelay: time.Nanosecond}
	c, err := client.New(*cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const first = 1000
	send(t, c, url, first)
	c.CloseIdleConnections()
	goroutines := settled(runtime.NumGoroutine(), 0)
	before := heap()
	began := time.Now()
	send(t, c, url, calls-first)
	took := time.Since(began)
	c.CloseIdleConnections()
	if n := settled(goroutines, 10*time.Second); n != goroutines {
		t.Errorf("%d goroutines, %d after the first %d calls\n%s", n, goroutines, first, stacks())
	}
	after := heapBelow(before+growth, 10*time.Second)
	t.Logf("%d calls, %.0f a second; HeapAlloc %d KiB after %d calls, %+d KiB since; %d goroutines",
		calls, float64(calls-first)/took.Seconds(), before>>10, first, (after-before)>>10, goroutines)
	if after-before > growth {
		t.Errorf("HeapAlloc grew by %d bytes from call %d to call %d, at most %d", after-before, first, calls, growth)
	}
	s := c.Stats()
	for partition, l := range s.Budget {
		if l.Reserved != 0 || l.Tokens < l.Capacity/2 {
			t.Errorf("%s: level %+v", partition, l)
		}
	}
	if p := s.Pool; p.Open+p.Waiting+p.Requests+p.Dialing > 0 {
		t.Errorf("the pool holds %+v", p.OriginStats)
	}
}

// heapBelow returns the heap once it is at most limit, or after patience. net/http
// keeps a closed HTTP/2 connection for 5 s (some 7 KiB each), so that not all
// of what the last seconds have used is free at once.
func heapBelow(limit int64, patience time.Duration) int64 {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		if h := heap(); h <= limit || time.Now().After(end) {
			return h
		}
	}
}

// send makes n calls from four callers.
func send(t *testing.T, c *client.Client, url string, n int) {
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range n / 4 {
				resp, err := c.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	callers.Wait()
}

// settled returns the number of goroutines once it is at most want, or after
// limit. With a limit of 0 it waits until the number stands still.
func settled(want int, limit time.Duration) int {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end, same, last := time.Now().Add(limit), 0, -1; ; {
		n := runtime.NumGoroutine()
		if same++; n != last {
			same, last = 0, n
		}
		if limit == 0 && same > 10 || limit > 0 && (n <= want || time.Now().After(end)) {
			return n
		}
		<-tick.C
	}
}
