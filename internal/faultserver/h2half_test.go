package faultserver

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever followed half a frame would be read as its other half, and a client
// could take another stream's header for its own.
func TestNothingFollowsHalfAFrame(t *testing.T) {
	bubbleH2(t, Config{}, func(t *testing.T, s *Server, c *rawH2) {
		s.Next(Do(HalfHeader{}, Hang{}), Respond(200, "ok"))
		c.request(1, "GET", "/", true)
		synctest.Wait()
		c.request(3, "GET", "/", true)
		c.sock.SetDeadline(time.Now().Add(time.Minute))
		began := time.Now()
		if got := c.next(); !strings.HasPrefix(got, "error ") || time.Since(began) != time.Minute {
			t.Errorf("%s after %v, want nothing within a minute", got, time.Since(began))
		}
	})
}
