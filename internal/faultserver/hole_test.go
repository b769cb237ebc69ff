package faultserver

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestABlackHoleIsDeafAndMuteWhileTCPStaysUp(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		s := Start(t, config)
		c := park(t, s)
		skipFrames(c, s)
		before := s.Conns()[0]
		if n := s.BlackHole(); n != 1 {
			t.Fatalf("%d connections became holes", n)
		}
		if n := s.BlackHole(); n != 0 {
			t.Errorf("%d became holes again", n)
		}
		if config.Protocol.Multiplexed() {
			c.send("\x00\x00\x03\x01\x05\x00\x00\x00\x03\x82\x86\x84")
		} else {
			c.send(get)
		}
		if _, err := c.sock.Write(Pattern(1000)); err != nil {
			t.Errorf("writing into the hole gave %v", err)
		}
		if n := s.KillIdle(RST); n != 0 {
			t.Errorf("KillIdle took the hole")
		}
		c.sock.Close()
		if err := s.WaitOpen(waiting(t), 0); err != nil {
			t.Fatal(err)
		}
		after := s.Conns()[0]
		if !after.BlackHole || after.Read != before.Read || after.Written != before.Written || after.Requests != 1 {
			t.Errorf("before %+v\nafter  %+v", before, after)
		}
	})
}

func TestABlackHoleTakesNoMoreThanTheSocketBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Start(t, Config{Memory: true})
		c := park(t, s)
		c.sock.SetDeadline(time.Time{})
		s.BlackHole()
		done := false
		go func() {
			c.sock.Write(Pattern(1 << 20))
			done = true
		}()
		<-time.After(time.Hour)
		if done {
			t.Error("the hole took 1 MiB")
		}
		c.sock.Close()
		synctest.Wait()
		if st := s.Stats(); st.Open != 0 {
			t.Errorf("after the client's close: %+v", st)
		}
	})
}

func TestABlackHoleCanStillBeKilled(t *testing.T) {
	forEachHow(t, func(t *testing.T, config Config, how How) {
		if how == CloseNotify || how == TruncatedRecord {
			return // nothing can be written into a hole but FIN and reset
		}
		s := Start(t, config)
		c := park(t, s)
		skipFrames(c, s)
		s.BlackHole()
		if n := s.KillAll(how); n != 1 {
			t.Fatalf("KillAll took %d", n)
		}
		c.expectEnd(how)
	})
}

func TestAClientFindsABlackHoleByItsTimeouts(t *testing.T) {
	for _, p := range Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := Start(t, Config{Protocol: p, Memory: true})
				tr := s.ClientTransport()
				if p.Multiplexed() {
					tr.HTTP2 = &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second}
				} else {
					tr.ResponseHeaderTimeout = 15 * time.Second
				}
				get := func() (string, error) {
					req, _ := http.NewRequest("GET", s.URL(), nil)
					resp, err := tr.RoundTrip(req)
					if err != nil {
						return "", err
					}
					defer resp.Body.Close()
					b, err := io.ReadAll(resp.Body)
					return string(b), err
				}
				if body, err := get(); body != "ok" || err != nil {
					t.Fatal(body, err)
				}
				s.BlackHole()
				start := time.Now()
				_, err := get()
				if d := time.Since(start); err == nil || d != 15*time.Second {
					t.Errorf("after %v of virtual time: %v; want an error after 15s", d, err)
				}
				if body, err := get(); body != "ok" || err != nil {
					t.Errorf("on a new connection: %q, %v", body, err)
				}
			})
		})
	}
}

func TestTimeInScriptsIsExact(t *testing.T) {
	for _, p := range Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := Start(t, Config{Protocol: p, Memory: true})
				s.NextConn(Do(Delay{time.Minute}))
				s.Next(Do(Delay{time.Hour}, Header{}, Flush{}, Delay{time.Hour}, Trickle{Data: []byte("abcdef"), Piece: 2, Every: time.Second}))
				tr := s.ClientTransport()
				start := time.Now()
				resp, err := tr.RoundTrip(must(http.NewRequest("GET", s.URL(), nil)))
				if err != nil {
					t.Fatal(err)
				}
				if d := time.Since(start); d != time.Hour+time.Minute {
					t.Errorf("the header came after %v, want 1h1m", d)
				}
				start = time.Now()
				var got []string
				for buf := make([]byte, 10); ; {
					n, err := resp.Body.Read(buf)
					if n > 0 {
						got = append(got, time.Since(start).String()+" "+string(buf[:n]))
					}
					if err != nil {
						break
					}
				}
				if want := "1h0m0s ab,1h0m1s cd,1h0m2s ef"; strings.Join(got, ",") != want {
					t.Errorf("the body came as %q, want %q", strings.Join(got, ","), want)
				}
			})
		})
	}
}
