package faultserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnUploadWaitsWhileItsScriptDoesNotRead(t *testing.T) {
	for _, p := range Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := Start(t, Config{Protocol: p, Memory: true})
				gate := make(chan struct{})
				s.Next(Do(Wait{gate}, Echo{}))
				done := false
				go func() {
					defer func() { done = true }()
					req, _ := http.NewRequest("POST", s.URL(), bytes.NewReader(Pattern(2<<20)))
					resp, err := s.ClientTransport().RoundTrip(req)
					if err != nil {
						t.Error(err)
						return
					}
					if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, Pattern(2<<20)) {
						t.Errorf("%d bytes came back, %v", len(got), err)
					}
				}()
				<-time.After(time.Hour)
				info := s.Conns()[0]
				if done || info.Read > 100<<10 || info.Read < 60<<10 {
					t.Errorf("the server has read %d bytes, the call is over: %v", info.Read, done)
				}
				close(gate)
				synctest.Wait()
				if !done {
					t.Error("the upload did not go on")
				}
			})
		})
	}
}

func TestTheEndOfAClientIsSeenBehindBytesThatNobodyReads(t *testing.T) {
	for _, mem := range []bool{false, true} {
		t.Run(fmt.Sprint("in memory ", mem), func(t *testing.T) {
			s := Start(t, Config{Memory: mem})
			gate := make(chan struct{})
			s.Next(Do(Wait{gate}, Header{}))
			c := rawDial(t, s)
			// More than the server reads ahead, less than what the sockets hold.
			c.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 80000\r\n\r\n" + string(Pattern(80_000)))
			if err := s.WaitRequests(waiting(t), 1); err != nil {
				t.Fatal(err)
			}
			c.sock.Close()
			if err := s.WaitOpen(waiting(t), 0); err != nil {
				t.Error(err)
			}
			close(gate)
		})
	}
}

func TestManyStreamsShareAConnection(t *testing.T) {
	for _, p := range []Protocol{H2, H2C} {
		t.Run(p.String(), func(t *testing.T) {
			s := Start(t, Config{Protocol: p, Settings: Settings{MaxConcurrentStreams: 100}})
			tr := s.ClientTransport()
			tr.MaxConnsPerHost = 1 // where the machine is busy, net/http dials another one
			if _, _, err := do(t, tr, "GET", s.URL(), nil); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					want := Pattern(150_000 + i)
					if _, got, err := do(t, tr, "POST", s.URL(), want); err != nil || !bytes.Equal(got, want) {
						t.Errorf("stream %d: %d bytes, %v", i, len(got), err)
					}
				})
			}
			wg.Wait()
			if st := s.Stats(); st.Opened != 1 || st.Idle != 1 || st.Requests != 41 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestExpectContinueIsObeyedOnEveryProtocol(t *testing.T) {
	for _, p := range Protocols() {
		for name, sc := range map[string]Script{
			"sent":     Respond(200, "read"),
			"withheld": Do(ReadBody{Withhold: true}, Header{}, Body{Data: []byte("read")}),
			"refused":  Do(Header{Status: 417}),
		} {
			t.Run(fmt.Sprint(p, " ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := Start(t, Config{Protocol: p, Memory: true})
					s.Next(sc)
					tr := s.ClientTransport()
					tr.ExpectContinueTimeout = time.Minute
					req, _ := http.NewRequest("POST", s.URL(), bytes.NewReader([]byte("body")))
					req.Header.Set("Expect", "100-continue")
					start := time.Now()
					resp, err := tr.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					waited := time.Since(start)
					r := s.Requests()[0]
					switch name {
					case "sent":
						if waited != 0 || r.BodyBytes != 4 {
							t.Errorf("after %v: %+v", waited, r)
						}
					case "withheld":
						if waited != time.Minute || r.BodyBytes != 4 {
							t.Errorf("after %v: %+v", waited, r)
						}
					case "refused":
						if waited != 0 || r.BodyBytes != 0 || resp.StatusCode != 417 {
							t.Errorf("after %v, %d: %+v", waited, resp.StatusCode, r)
						}
					}
				})
			})
		}
	}
}

func TestAHijackedConnectionHasDeadlinesAndHalfClose(t *testing.T) {
	for _, p := range []Protocol{H1, TLS} {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var timeout, end error
				var got []byte
				s := Start(t, Config{Protocol: p, Memory: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					nc, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer nc.Close()
					if _, _, err := w.(http.Hijacker).Hijack(); err == nil {
						t.Error("a connection was hijacked twice")
					}
					if p == H1 { // a TLS connection is broken after a timeout
						nc.SetReadDeadline(time.Now().Add(time.Hour))
						_, timeout = nc.Read(make([]byte, 1))
						nc.SetDeadline(time.Time{})
					}
					nc.Write([]byte("bye"))
					nc.(interface{ CloseWrite() error }).CloseWrite()
					got, end = io.ReadAll(nc)
				})})
				c := rawDial(t, s)
				c.sock.SetDeadline(time.Time{})
				start := time.Now()
				c.send(get)
				if text, err := c.rest(); text != "bye" || err != nil {
					t.Errorf("%q, %v", text, err)
				}
				c.send("still heard")
				c.app.Close()
				synctest.Wait()
				if string(got) != "still heard" || end != nil {
					t.Errorf("the taker read %q, %v", got, end)
				}
				if p == H1 && (!errors.Is(timeout, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour) {
					t.Errorf("the deadline gave %v after %v", timeout, time.Since(start))
				}
			})
		})
	}
}

func TestAConnectionsScriptWritesBeforeAndAfterTheHandshake(t *testing.T) {
	s := Start(t, Config{Protocol: TLS, Memory: true})
	s.NextConn(Do(Handshake{}, Raw{Data: []byte("above")}, Kill{CloseNotify}), Do(Raw{Data: []byte("below"), Wire: true}, Kill{FIN}))
	if got, err := rawDial(t, s).rest(); got != "above" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	c := unshaken(t, s)
	if b, err := io.ReadAll(c.sock); string(b) != "below" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestAGateOfAConnectionHoldsItsHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Start(t, Config{Protocol: H2, Memory: true})
		gate := make(chan struct{})
		s.NextConn(Do(Wait{gate}))
		tr := s.ClientTransport()
		tr.TLSHandshakeTimeout = time.Minute
		start := time.Now()
		if _, err := tr.RoundTrip(must(http.NewRequest("GET", s.URL(), nil))); err == nil || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		close(gate)
	})
}
