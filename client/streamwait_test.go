package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

func TestTheReconnectionTimeIsTheServersWithinTheBackoffsBounds(t *testing.T) {
	for _, row := range []struct {
		field    string
		from, to time.Duration // of each wait
	}{
		{"", 0, 25 * time.Millisecond},
		{"retry: junk\n", 0, 25 * time.Millisecond},
		{"retry: 0\n", 25 * time.Millisecond, 25 * time.Millisecond},
		{"retry: 3000\n", 3 * time.Second, 3 * time.Second},
		{"retry: 99999999999999999999\n", 20 * time.Second, 20 * time.Second},
	} {
		t.Run(row.field, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var at []time.Time
				parts := flaky(row.field+"data: 1\n\n", "data: 2\n\n", "end:data: 3\n\n")
				r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					at = append(at, time.Now())
					parts.ServeHTTP(w, req)
				}))
				if _, err := collect(t, r.stream(context.Background())); err != nil {
					t.Fatal(err)
				}
				for i := range at[1:] {
					if wait := at[i+1].Sub(at[i]); wait < row.from || wait > row.to {
						t.Errorf("wait %d was %v, want %v to %v", i+1, wait, row.from, row.to)
					}
				}
				if len(at) != 4 {
					t.Errorf("%d requests", len(at))
				}
			})
		})
	}
}

func TestAnEventOrALongLifeEndsARowOfFailures(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var parts []string
		for range 30 {
			parts = append(parts, "data: x\n\n", ":\n")
		}
		r := newRig(t, Config{Stream: StreamConfig{Resume: true}, Retry: RetryPolicy{MaxRetries: 2}}, flaky(parts...))
		got, err := collect(t, r.stream(context.Background()))
		if len(got) != 30 || err != nil {
			t.Errorf("%d events, %v", len(got), err)
		}
		r.over(events.StreamEnded)
	})
	for _, life := range []time.Duration{19 * time.Second, 20 * time.Second} {
		inBubble(t, func(t *testing.T) {
			conns := 0
			r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, feed(func(req *http.Request, write func(string)) {
				if conns++; conns == 50 {
					write("data: at last\n\n")
					<-req.Context().Done()
				}
				pass(req, life)
				panic(http.ErrAbortHandler)
			}))
			s := r.stream(context.Background())
			for _, err := range s.Events() {
				if (err == nil) != (life == 20*time.Second) {
					t.Errorf("connections that live for %v: %v", life, err)
				}
				break
			}
			want := 5
			if life == 20*time.Second {
				want = 50
			}
			if conns != want {
				t.Errorf("connections that live for %v: %d, want %d", life, conns, want)
			}
		})
	}
}

func TestCancelAndCloseDuringTheWaitForAReconnection(t *testing.T) {
	for _, closes := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, flaky("retry: 10000\ndata: 1\n\n", "data: 2\n\n"))
			ctx, cancel := context.WithCancel(context.Background())
			s := r.stream(ctx)
			want := events.StreamCanceled
			time.AfterFunc(3*time.Second, func() {
				if closes {
					want = events.StreamClosedByCaller
					s.Close()
				} else {
					cancel()
				}
			})
			start := time.Now()
			got, err := collect(t, s)
			equal(t, got, "message/=1")
			if (err == nil) != closes || err != nil && reasonOf(err) != want {
				t.Errorf("error %v", err)
			}
			if took := time.Since(start); took != 3*time.Second {
				t.Errorf("it took %v", took)
			}
			r.over(want)
			if r.level() != 500 || eventstest.Count[events.RetryArmed](r.rec) != 0 {
				t.Errorf("level %d:\n%v", r.level(), r.rec)
			}
			cancel()
		})
	}
}

// The context may end after the connection and before the stream has found out
// what comes next.
func TestACancellationRightBehindALossIsTheCause(t *testing.T) {
	for _, part := range []string{"data: 1\n\n", "end:data: 1\n\n"} {
		for _, late := range []bool{false, true} {
			inBubble(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				want, reason := context.Canceled, events.StreamCanceled
				over := func() { cancel() }
				if late {
					ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
					want, reason = context.DeadlineExceeded, events.StreamDeadline
					over = func() { <-ctx.Done() }
				}
				defer cancel()
				hooks := &events.Hooks{CallDone: func(context.Context, events.CallDone) { over() }}
				r := newRig(t, Config{Hooks: hooks, Stream: StreamConfig{Resume: true}}, flaky(part, part))
				got, err := collect(t, r.stream(ctx))
				equal(t, got, "message/=1")
				if reasonOf(err) != reason || !errors.Is(err, want) {
					t.Errorf("%q: error %v, want reason %q and %v as the cause", part, err, reason, want)
				}
				if lost := !strings.HasPrefix(part, "end:"); lost && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%q: error %v does not tell of the loss", part, err)
				}
				if r.over(reason); len(r.requests()) != 1 {
					t.Errorf("%q: %d requests, want 1", part, len(r.requests()))
				}
			})
		}
	}
}

// The context may end in the very read that finds the stream's end: with Resume
// that end is not the last word.
func TestACancellationAtAnOrderlyEndIsTheCause(t *testing.T) {
	for _, resume := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			hooks := &events.Hooks{CallDone: func(context.Context, events.CallDone) { cancel() }}
			r := newRig(t, Config{Hooks: hooks, Stream: StreamConfig{Resume: resume}}, feed(func(req *http.Request, write func(string)) {
				write("data: 1\n\n")
				pass(req, time.Second) // the end is a read of its own
			}))
			got, err := collect(t, r.stream(ctx))
			equal(t, got, "message/=1")
			if !resume && err != nil {
				t.Errorf("the stream had ended, but the error is %v", err)
			}
			if resume && (reasonOf(err) != events.StreamCanceled || !errors.Is(err, context.Canceled)) {
				t.Errorf("error %v, want the cancellation", err)
			}
		})
	}
}

func TestAServerThatEndsEveryStreamInOrderIsNotHammered(t *testing.T) {
	for _, row := range []struct {
		field    string
		from, to int // connections in ten minutes
	}{
		{"", 30, 160},
		{"retry: 1000\n", 601, 601},
	} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, feed(func(_ *http.Request, write func(string)) { write(row.field + "data: x\n\n") }))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute+time.Second/2)
			defer cancel()
			got, err := collect(t, r.stream(ctx))
			// The last wait does not fit.
			if reasonOf(err) != events.StreamEnded || len(got) < row.from || len(got) > row.to {
				t.Errorf("%q: %d events, %v; want %d to %d", row.field, len(got), err, row.from, row.to)
			}
			r.over(events.StreamEnded)
		})
	}
}

func TestAllWaitsOfARowOfFailuresShareTheTotalRetryTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Stream: StreamConfig{Resume: true}, Retry: RetryPolicy{MaxRetries: 100}, MaxTotalRetryDuration: 5 * time.Second},
			flaky("retry: 2000\ndata: x\n\n", "data: x\n\n", ":\n", "503", "x"))
		start := time.Now()
		_, err := collect(t, r.stream(context.Background()))
		var mine *Error
		if reasonOf(err) != events.StreamStatus || !errors.As(err, &mine) || mine.Skipped != events.SkipDeadline {
			t.Errorf("error %v", err)
		}
		// Two seconds for the first loss, four for the row that the second begins.
		if took := time.Since(start); took != 6*time.Second {
			t.Errorf("it took %v", took)
		}
		r.over(events.StreamStatus)
	})
}
