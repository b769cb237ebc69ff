package faultserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"
)

// waiting bounds what a test waits for; a passing test never gets there.
func waiting(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// forEach runs a test on every protocol, on TCP and in memory.
func forEach(t *testing.T, f func(t *testing.T, config Config)) {
	for _, p := range Protocols() {
		for _, mem := range []bool{false, true} {
			name := p.String()
			if mem {
				name += " in memory"
			}
			t.Run(name, func(t *testing.T) { f(t, Config{Protocol: p, Memory: mem}) })
		}
	}
}

func do(t *testing.T, rt http.RoundTripper, method, url string, body []byte) (*http.Response, []byte, error) {
	t.Helper()
	var rd io.Reader
	if body != nil {
		rd = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(waiting(t), method, url, rd)
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = nil
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return resp, got, err
}

func TestBodiesLargerThanAnyWindowAreEchoedExactly(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		s := Start(t, config)
		tr := s.ClientTransport()
		for _, size := range []int{0, 1, 4 << 10, 65535, 65536, 1 << 20} {
			var body []byte
			if size > 0 {
				body = Pattern(size)
			}
			resp, got, err := do(t, tr, "POST", s.URL("/echo"), body)
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			want := body
			if size == 0 {
				want = []byte("ok")
			}
			if resp.StatusCode != 200 || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes: status %d, %d bytes came back", size, resp.StatusCode, len(got))
			}
		}
		if err := s.WaitIdle(waiting(t), 1); err != nil {
			t.Fatal(err)
		}
		// net/http may dial once more while it has not yet noticed the end of a
		// stream: the counts are compared with what the client did.
		st, k := s.Stats(), s.Sockets()
		if st.Opened != k.Opened() || st.Open != k.Open() || st.MaxOpen > k.MaxOpen() || st.Opened > 2 || st.Requests != 6 || st.Processed != 6 {
			t.Errorf("stats are %+v; the client opened %d, of which %d are open", st, k.Opened(), k.Open())
		}
		if r := s.Requests()[5]; r.BodyBytes != 1<<20 || !r.BodyDone || !r.Answered {
			t.Errorf("the last record is %+v", r)
		}
	})
}

func TestKillIdleFindsTheConnectionsOfAllFinishedResponses(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		for _, how := range Hows(config.Protocol) {
			t.Run(how.String(), func(t *testing.T) {
				s := Start(t, config)
				for i := range 20 {
					tr := s.ClientTransport()
					if _, _, err := do(t, tr, "GET", s.URL(), nil); err != nil {
						t.Fatal(err)
					}
					if n := s.KillIdle(how); n != 1 {
						t.Fatalf("round %d: KillIdle found %d connections, want 1", i, n)
					}
				}
				if err := s.WaitOpen(waiting(t), 0); err != nil {
					t.Fatal(err)
				}
				for _, c := range s.Conns() {
					if !c.Killed || c.How != how {
						t.Fatalf("connection %+v was not killed by %v", c, how)
					}
				}
			})
		}
	})
}
