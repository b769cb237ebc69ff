package faultserver

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A cut is reached while another, KillAll say, has decided about the connection
// and has not ended it yet. What arrives after the cut must not be taken for a
// request.
func TestWhatFollowsACutIsDroppedWhoeverEndsTheConnection(t *testing.T) {
	for _, race := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := Start(t, Config{Memory: true})
			if !race {
				s.NextConn(Do(KillAfterRead{Bytes: 10, How: FIN}))
			}
			c := rawDial(t, s)
			synctest.Wait()
			if race {
				s.RaceIdle(FIN)
			}
			s.mu.Lock()
			conn := s.conns[0]
			won := conn.claim(FIN)
			s.mu.Unlock()
			if !won {
				t.Fatal("the connection is ended already")
			}
			c.send("POST / HTT")
			synctest.Wait()
			c.send("this is no request\r\n\r\n")
			synctest.Wait()
			conn.end(FIN)
			c.sock.SetDeadline(time.Now().Add(time.Minute))
			if got, _ := c.rest(); strings.Contains(got, "400") || got != "" {
				t.Errorf("race %v: the server answers %q", race, got)
			}
		})
	}
}
