package faultserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
)

// park makes a raw connection that has served one request.
func park(t *testing.T, s *Server) *rawClient {
	t.Helper()
	if s.Protocol().Multiplexed() {
		c := rawDialH2(t, s)
		c.request(1, "GET", "/", true)
		c.next()
		if got := c.next(); got != `DATA 1 "ok" END` {
			t.Fatalf("the parking request got %q", got)
		}
		return c.rawClient
	}
	c := rawDial(t, s)
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	resp := readResponse(t, c)
	if resp.StatusCode != 200 {
		t.Fatalf("the parking request got %d", resp.StatusCode)
	}
	return c
}

// forEachHow runs a test for every protocol and every way to end a connection,
// on TCP and in memory.
func forEachHow(t *testing.T, f func(t *testing.T, config Config, how How)) {
	forEach(t, func(t *testing.T, config Config) {
		for _, how := range Hows(config.Protocol) {
			t.Run(how.String(), func(t *testing.T) { f(t, config, how) })
		}
	})
}

func TestAParkedConnectionEndsOnTheWireAsItWasTold(t *testing.T) {
	forEachHow(t, func(t *testing.T, config Config, how How) {
		s := Start(t, config)
		c := park(t, s)
		skipFrames(c, s)
		if n := s.KillIdle(how); n != 1 {
			t.Fatalf("%d connections were killed, want 1", n)
		}
		c.expectEnd(how)
		if n := s.KillIdle(how) + s.KillAll(how); n != 0 {
			t.Errorf("a dead connection was killed again: %d", n)
		}
	})
}

// skipFrames reads what an HTTP/2 server still sends by itself after a response:
// its acknowledgement of SETTINGS, if that has not come.
func skipFrames(c *rawClient, s *Server) {
	c.t.Helper()
	if !s.Protocol().Multiplexed() {
		return
	}
	// A PING is answered after all that came before it.
	c.send("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678")
	for {
		head := c.read(9)
		body := c.read(int(head[0])<<16 | int(head[1])<<8 | int(head[2]))
		if head[3] == 6 && body == "12345678" {
			return
		}
	}
}

func TestABusyConnectionEndsOnTheWireAsItWasTold(t *testing.T) {
	forEachHow(t, func(t *testing.T, config Config, how How) {
		s := Start(t, config)
		c := park(t, s)
		s.Next(Do(Hang{}))
		if s.Protocol().Multiplexed() {
			skipFrames(c, s)
			c.send("\x00\x00\x03\x01\x05\x00\x00\x00\x03\x82\x86\x84") // HEADERS: GET, http, /
		} else {
			c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		if err := s.WaitRequests(waiting(t), 2); err != nil {
			t.Fatal(err)
		}
		if n := s.KillIdle(how); n != 0 {
			t.Errorf("KillIdle took %d busy connections", n)
		}
		if n := s.KillAll(how); n != 1 {
			t.Fatalf("KillAll took %d connections, want 1", n)
		}
		c.expectEnd(how)
	})
}

func TestAfterFINWritesAreDroppedAndAfterShutTheyAreReset(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		s := Start(t, config)
		fin := park(t, s)
		skipFrames(fin, s)
		s.KillIdle(FIN)
		shut := park(t, s)
		skipFrames(shut, s)
		s.KillIdle(Shut)
		for _, c := range []*rawClient{fin, shut} {
			c.expectEnd(FIN)
		}
		// More than both sockets' buffers hold: the server must take it.
		big := Pattern(1 << 20)
		for range 8 {
			if _, err := fin.sock.Write(big); err != nil {
				t.Fatalf("after FIN: %v", err)
			}
		}
		var err error
		for range 10_000 {
			if _, err = shut.sock.Write(big[:1000]); err != nil {
				break
			}
		}
		if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("after Shut writes end with %v, want EPIPE or ECONNRESET", err)
		}
		if st := s.Stats(); st.Open != 1 {
			t.Errorf("%d connections are open, want the one ended by FIN that its client keeps", st.Open)
		}
		fin.sock.Close()
		if err := s.WaitOpen(waiting(t), 0); err != nil {
			t.Error(err)
		}
	})
}

func TestARaceKillsWhenTheNextRequestArrives(t *testing.T) {
	forEachHow(t, func(t *testing.T, config Config, how How) {
		s := Start(t, config)
		c := park(t, s)
		skipFrames(c, s)
		if n := s.RaceIdle(how); n != 1 {
			t.Fatalf("%d connections were armed, want 1", n)
		}
		// Until the request comes the connection looks alive.
		if st := s.Stats(); st.Open != 1 || st.Idle != 1 || st.Raced != 0 {
			t.Errorf("armed: %+v", st)
		}
		if s.Protocol().Multiplexed() {
			skipFrames(c, s) // a PING is no request
			c.send("\x00\x00\x03\x01\x05\x00\x00\x00\x03\x82\x86\x84")
		} else {
			c.send("G")
		}
		c.expectEnd(how)
		if st := s.Stats(); st.Raced != 1 || st.Requests != 1 {
			t.Errorf("after the race: %+v, want Raced 1 and one request, the parking one", st)
		}
	})
}

// Over TLS a client that closes writes an alert first.
func TestAClientThatClosesAnArmedConnectionIsNoRequest(t *testing.T) {
	forEachHow(t, func(t *testing.T, config Config, how How) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			config.ConfigureTLS = func(c *tls.Config) { c.MaxVersion = version }
			s := Start(t, config)
			c := park(t, s)
			if n := s.RaceIdle(how); n != 1 {
				t.Fatalf("%d connections were armed, want 1", n)
			}
			c.app.Close()
			<-s.conns[0].done // its last byte has come
			if st := s.Stats(); st.Raced != 0 {
				t.Errorf("TLS %x: %+v", version, st)
			}
		}
	})
}

func TestAnHTTPClientMeetsARaceAfterItHasWritten(t *testing.T) {
	forEachHow(t, func(t *testing.T, config Config, how How) {
		s := Start(t, config)
		tr := s.ClientTransport()
		if _, _, err := do(t, tr, "POST", s.URL(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		if n := s.RaceIdle(how); n != 1 {
			t.Fatalf("%d connections were armed, want 1", n)
		}
		if _, _, err := do(t, tr, "POST", s.URL(), []byte("y")); err == nil {
			t.Fatal("a POST that met the race succeeded")
		}
		if got := len(s.Requests()); got != 1 {
			t.Errorf("%d requests are recorded, want 1", got)
		}
	})
}

func TestScriptsKillAtTheirPlace(t *testing.T) {
	rows := []struct {
		name      string
		script    func(How) Script
		processed bool
	}{
		{"KillAfterReading", KillAfterReading, true},
		{"KillUnread", KillUnread, false},
		{"KillInHeader", KillInHeader, true},
		{"KillInBody", func(h How) Script { return KillInBody(1000, h) }, true},
		{"BadStatusLine", BadStatusLine, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			forEachHow(t, func(t *testing.T, config Config, how How) {
				s := Start(t, config)
				s.Next(row.script(how))
				tr := s.ClientTransport()
				req, _ := http.NewRequestWithContext(waiting(t), "POST", s.URL("/x?y"), io.NopCloser(slow("body")))
				req.Header.Set("X-Request-Id", "id-1")
				resp, err := tr.RoundTrip(req)
				if err == nil {
					var body []byte
					body, err = io.ReadAll(resp.Body)
					resp.Body.Close()
					if len(body) != 500 {
						t.Errorf("%d bytes of the body came, want 500", len(body))
					}
					if row.name != "KillInBody" {
						t.Error("there was a response")
					}
				}
				if err == nil {
					t.Fatal("the call succeeded")
				}
				rs := s.Requests()
				if len(rs) != 1 {
					t.Fatalf("%d requests are recorded", len(rs))
				}
				r := rs[0]
				if r.Processed != row.processed || r.Answered || r.ID != "id-1" || r.Method != "POST" ||
					r.Path != "/x" || r.Query != "y" || r.Conn != 1 || r.OnConn != 1 {
					t.Errorf("the record is %+v", r)
				}
				if row.processed && (r.BodyBytes != 4 || !r.BodyDone) {
					t.Errorf("%d body bytes were counted, done %v", r.BodyBytes, r.BodyDone)
				}
			})
		})
	}
}

// slow is a body of unknown length.
type slow string

func (s slow) Read(p []byte) (int, error) { return copy(p, s), io.EOF }

func TestKillAllEndsAConnectionWhoseClientDoesNotRead(t *testing.T) {
	forEachHow(t, func(t *testing.T, config Config, how How) {
		s := Start(t, config)
		size := 16 << 20 // more than the kernel buffers
		if config.Memory {
			size = 1 << 20
		}
		s.Next(Do(Header{}, Body{Size: size}))
		var c *rawClient
		if s.Protocol().Multiplexed() {
			h := rawDialH2(t, s)
			h.must(h.fr.WriteWindowUpdate(0, 1<<30))
			h.request(1, "GET", "/", true)
			h.must(h.fr.WriteWindowUpdate(1, 1<<30))
			c = h.rawClient
		} else {
			c = rawDial(t, s)
			c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		// Wait until the server's write waits for us.
		waitBlocked(t, s)
		if n := s.KillIdle(how); n != 0 {
			t.Errorf("KillIdle took %d", n)
		}
		if n := s.KillAll(how); n != 1 {
			t.Fatalf("KillAll took %d connections, want 1", n)
		}
		if n, err := io.Copy(io.Discard, c.sock); n >= int64(size) {
			t.Errorf("all %d bytes came, end %v", n, err)
		}
	})
}

func waitBlocked(t *testing.T, s *Server) {
	t.Helper()
	ctx := waiting(t)
	for {
		s.mu.Lock()
		changed := s.changed.wait()
		blocked := len(s.conns) > 0 && s.conns[0].wire.isBlocked()
		s.mu.Unlock()
		if blocked {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("the server's write never had to wait")
		}
	}
}

func TestNextAndKillRefuseWhatTheProtocolCannotDo(t *testing.T) {
	s := Start(t, Config{Protocol: H1, Memory: true})
	h2 := Start(t, Config{Protocol: H2C, Memory: true})
	rows := []struct {
		name string
		do   func()
		want string
	}{
		{"close_notify without TLS", func() { s.KillIdle(CloseNotify) },
			"faultserver: CloseNotify needs TLS, the server speaks H1"},
		{"a race with half a record without TLS", func() { s.RaceIdle(TruncatedRecord) },
			"faultserver: TruncatedRecord needs TLS, the server speaks H1"},
		{"all", func() { s.KillAll(How(9)) }, "faultserver: How(9) is no way to end a connection"},
		{"refused stream on HTTP/1.1", func() { s.Next(RefuseStream()) },
			"faultserver: Steps[0] (faultserver.Reset): this needs HTTP/2, the server speaks H1"},
		{"settings on HTTP/1.1", func() { s.NextConn(Do(Settings{})) },
			"faultserver: Steps[0] (faultserver.Settings): this needs HTTP/2, the server speaks H1"},
		{"frame size", func() { h2.NextConn(Do(Settings{MaxFrameSize: 1})) },
			"faultserver: Steps[0] (faultserver.Settings): MaxFrameSize is 1, use 16384 to 16777215"},
		{"handshake without TLS", func() { s.NextConn(Do(Handshake{})) },
			"faultserver: Steps[0] (faultserver.Handshake): a handshake needs TLS, the server speaks H1"},
		{"a response in a connection's script", func() { s.NextConn(Do(Delay{}, Header{})) },
			"faultserver: Steps[1] (faultserver.Header): the step belongs into a request's script"},
		{"interim 200", func() { s.Next(Do(Interim{Status: 200})) },
			"faultserver: Steps[0] (faultserver.Interim): status 200 is no interim status; use 100 or 102 to 199"},
		{"cut by close_notify", func() { h2.Next(Do(KillAfterWritten{1, CloseNotify})) },
			"faultserver: Steps[0] (faultserver.KillAfterWritten): CloseNotify cannot cut at a byte of the socket; use FIN, RST or Shut"},
		{"cut at 0", func() { s.NextConn(Do(KillAfterRead{})) },
			"faultserver: Steps[0] (faultserver.KillAfterRead): bytes are 0, the least is 1"},
		{"nil", func() { s.Next(Do(nil)) }, "faultserver: Steps[0] (<nil>): the step is nil"},
		{"pointer", func() { s.Next(Do(&Delay{})) },
			"faultserver: Steps[0] (*faultserver.Delay): *faultserver.Delay is no step; use it by value"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); got != row.want {
					t.Errorf("panic %q, want %q", got, row.want)
				}
			}()
			row.do()
		})
	}
}
