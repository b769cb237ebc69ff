package story

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Load is a steady stream of requests, three GET to one PUT.
type Load struct {
	Client *http.Client
	URL    string
	Every  time.Duration // one request each; must be positive
	// Patience is each request's deadline. 0: 5 s.
	Patience time.Duration

	sent, good, bad, failed atomic.Int64
}

// Tally counts what callers got.
type Tally struct {
	Sent   int64 // requests whose answer is known
	Good   int64 // statuses below 400
	Bad    int64 // statuses from 400 on
	Failed int64 // errors
}

// Tally returns the counts so far.
func (l *Load) Tally() Tally {
	return Tally{Sent: l.sent.Load(), Good: l.good.Load(), Bad: l.bad.Load(), Failed: l.failed.Load()}
}

// Run sends until ctx ends and returns after the last answer. A slow answer
// does not hold the next request back.
func (l *Load) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(l.Every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			running.Go(func() { l.send(ctx, n) })
		}
	}
}

func (l *Load) send(ctx context.Context, n int) {
	patience := l.Patience
	if patience == 0 {
		patience = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	method, body := http.MethodGet, ""
	if n%4 == 3 {
		method, body = http.MethodPut, "an order"
	}
	req, err := http.NewRequestWithContext(ctx, method, l.URL, strings.NewReader(body))
	if err != nil {
		panic("story: Load.URL is no URL: " + l.URL)
	}
	resp, err := l.Client.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		return // the run ended meanwhile
	case err != nil:
		l.failed.Add(1)
	case resp.StatusCode >= 400:
		l.bad.Add(1)
	default:
		l.good.Add(1)
	}
	l.sent.Add(1)
}
