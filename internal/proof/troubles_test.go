package proof

import (
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
)

// trouble configures a client for its case, and says how to begin and what the
// load is from then on.
type trouble func(s *Stage, u *upstream, cfg *client.Config) (begin func(), call func(c *client.Client, n int))

// withTrouble is a load of two calls a second on a healthy upstream, until the
// trouble begins and lasts for a while.
func withTrouble(prepare trouble, lasts time.Duration) func(*Stage) {
	return func(s *Stage) {
		u := newUpstream(s)
		cfg := client.Config{Transport: u.transport()}
		begin, call := prepare(s, u, &cfg)
		c := s.Client(cfg)
		repeat(s, 500*time.Millisecond, calm, func(int) { get(s, c, url, 10*time.Second) })
		begin()
		repeat(s, 500*time.Millisecond, calm+lasts, func(n int) { call(c, n) })
	}
}

func tenSeconds(s *Stage) func(*client.Client, int) {
	return func(c *client.Client, _ int) { get(s, c, url, 10*time.Second) }
}

func failing(s *Stage, u *upstream, cfg *client.Config) (func(), func(*client.Client, int)) {
	cfg.Breaker = newBreaker(s)
	return func() { u.answer(status(http.StatusServiceUnavailable)) }, tenSeconds(s)
}

func failing503(s *Stage, u *upstream, _ *client.Config) (func(), func(*client.Client, int)) {
	return func() { u.answer(status(http.StatusServiceUnavailable)) }, tenSeconds(s)
}

func outage(s *Stage, u *upstream, _ *client.Config) (func(), func(*client.Client, int)) {
	begin := func() {
		u.answer(status(http.StatusServiceUnavailable))
		time.AfterFunc(2*time.Minute, func() { u.answer(healthy) })
	}
	return begin, tenSeconds(s)
}

func throttled(s *Stage, u *upstream, _ *client.Config) (func(), func(*client.Client, int)) {
	return func() { u.answer(throttling("20")) }, tenSeconds(s)
}

func dead(s *Stage, u *upstream, cfg *client.Config) (func(), func(*client.Client, int)) {
	cfg.Transport.DisableKeepAlives = true // no connection outlives its call
	return func() { u.down.Store(true) }, tenSeconds(s)
}

func saturated(s *Stage, u *upstream, cfg *client.Config) (func(), func(*client.Client, int)) {
	cfg.Transport.MaxConnsPerHost = 2
	callers := make(chan struct{}, 6)
	begin := func() {
		u.answer(func(w http.ResponseWriter, r *http.Request) {
			pause(4 * time.Second)
			healthy(w, r)
		})
	}
	return begin, func(c *client.Client, _ int) {
		select {
		case callers <- struct{}{}:
			get(s, c, url, time.Minute)
			<-callers
		default:
		}
	}
}

func flapping(s *Stage, u *upstream, cfg *client.Config) (func(), func(*client.Client, int)) {
	cfg.Breaker = newBreaker(s)
	begin := func() {
		began := s.Since()
		u.answer(func(w http.ResponseWriter, r *http.Request) {
			if (s.Since()-began)%(4*time.Minute) < 30*time.Second {
				http.Error(w, "ill", http.StatusInternalServerError)
				return
			}
			healthy(w, r)
		})
	}
	return begin, tenSeconds(s)
}

func storm(s *Stage, u *upstream, cfg *client.Config) (func(), func(*client.Client, int)) {
	var dying bool
	begin := func() { dying = true }
	// A request on a connection that has served before is read and its
	// connection ends without an answer.
	served := map[string]bool{}
	u.answer(func(w http.ResponseWriter, r *http.Request) {
		if served[r.RemoteAddr] && dying {
			panic(http.ErrAbortHandler)
		}
		served[r.RemoteAddr] = true
		healthy(w, r)
	})
	return begin, tenSeconds(s)
}

func noTime(s *Stage, u *upstream, _ *client.Config) (func(), func(*client.Client, int)) {
	begin := func() {
		u.answer(inTurn(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, healthy, healthy, healthy, healthy, healthy, healthy, healthy, healthy, healthy))
	}
	return begin, tenSeconds(s)
}
