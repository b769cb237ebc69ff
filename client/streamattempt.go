package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
)

// refusedBodyTime bounds the whole body of a response that is no event stream:
// of a redirect, or of a refused one.
const refusedBodyTime = time.Second

// streamBounds are the bounds of calls that open streams. Neither
// Config.AttemptTimeout nor BodyIdleTimeout nor MaxResponseBytes holds for
// them: streamBase sees to the timeouts of StreamConfig, the parser to the caps.
func streamBounds(cfg *StreamConfig) bounds {
	return bounds{lease: max(2*(cfg.ConnectTimeout+cfg.HeaderTimeout), leastLease)}
}

// streamBase sends the attempts of a stream's calls within StreamConfig's
// timeouts.
type streamBase struct {
	base http.RoundTripper
	conn *streamConn
}

// RoundTrip is one attempt.
func (b *streamBase) RoundTrip(req *http.Request) (*http.Response, error) {
	b.conn.attempts++
	cfg := b.conn.stream.cfg
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := startOpenTimer(cancel, cfg)
	handed := false
	defer func() {
		_ = timer.stop() // on a panic: the ordinary ways have asked
		if !handed {
			cancel(nil)
		}
	}()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { timer.enter(connecting) },
		GotConn: func(httptrace.GotConnInfo) { timer.enter(awaitingHeaders) },
	})
	attempt, _ := ctx.Value(pool.AttemptKey{}).(*pool.Attempt)
	if attempt != nil {
		outer := attempt.Watch
		attempt.Watch = &pausing{timer, outer}
		defer func() { attempt.Watch = outer }()
	}
	resp, err := b.base.RoundTrip(req.WithContext(ctx))
	if late := timer.stop(); late != nil {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		if attempt != nil && timer.neverConnected() {
			attempt.NothingWritten = true
		}
		return nil, late
	}
	if err != nil || resp == nil || resp.Body == nil || resp.Body == http.NoBody {
		return resp, err
	}
	handed = true
	body := &streamBody{ReadCloser: resp.Body, cancel: cancel}
	body.watch(cfg, refusal(resp) != "")
	resp.Body = body
	return resp, nil
}

// pausing stops a stream's timer while its request queues, and passes on who
// else wants to know.
type pausing struct {
	timer *openTimer
	outer pool.QueueWatcher // may be nil
}

// Queueing is told by the pool.
func (p *pausing) Queueing(begin bool) {
	p.timer.pause(begin)
	if p.outer != nil {
		p.outer.Queueing(begin)
	}
}

// streamBody is the body of a response to a stream's call. Its silence, or
// where it is no event stream its length in time, is bounded. Close may be
// called while a Read runs.
type streamBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc // of the attempt
	late   *streamTimeoutError
	silent *time.Timer   // runs while no byte comes
	after  time.Duration // of silent
	whole  bool          // silent runs until the end, bytes or not
	armed  bool          // silent runs; Read's alone
	fired  atomic.Bool   // silent was over
}

func (b *streamBody) watch(cfg *StreamConfig, refused bool) {
	after := cfg.ReadIdleTimeout
	if refused {
		after = min(refusedBodyTime, after)
	}
	b.after, b.whole = after, refused
	b.late = &streamTimeoutError{events.StreamIdle, after}
	b.silent = time.AfterFunc(after, func() {
		b.fired.Store(true)
		b.cancel(b.late)
	})
	b.armed = refused || !b.silent.Stop()
}

// Read reads, and gives up a body that is silent for too long. Only the time
// inside Read counts.
func (b *streamBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !b.armed {
		b.armed = true
		b.silent.Reset(b.after)
	}
	n, err := b.ReadCloser.Read(p)
	if b.armed && !b.whole && n > 0 || err != nil {
		b.armed = false
		if !b.silent.Stop() {
			b.fired.Store(true) // it is about to be
		}
	}
	if err != nil && err != io.EOF && b.fired.Load() {
		err = b.late
	}
	return n, err
}

// Close closes the body and frees the attempt's context.
func (b *streamBody) Close() error {
	defer b.cancel(errCallOver)
	b.silent.Stop()
	return b.ReadCloser.Close()
}
