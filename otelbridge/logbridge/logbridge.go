package logbridge

import (
	"context"
	"log/slog"

	"github.com/plimsoll-http/plimsoll/events"
)

// New returns hooks that write to l; nil is [slog.Default] at the time of each
// record. Hand them to the client as its Hooks, joined with others by
// [events.Join].
func New(l *slog.Logger) *events.Hooks {
	w := &writer{l}
	return &events.Hooks{
		CallDone:            w.callDone,
		RetryArmed:          w.retryArmed,
		RetrySkipped:        w.retrySkipped,
		ThrottleRecorded:    w.throttleRecorded,
		ThrottleWaited:      w.throttleWaited,
		ConnClosed:          w.connClosed,
		ConnRecovered:       w.connRecovered,
		BreakerChanged:      w.breakerChanged,
		BreakerStoreChanged: w.breakerStoreChanged,
		StreamClosed:        w.streamClosed,
		Reloaded:            w.reloaded,
	}
}

type writer struct{ logger *slog.Logger }

// write writes a record if its level is enabled; only then attrs is called.
func (w *writer) write(ctx context.Context, level slog.Level, message string, m *events.Meta, attrs func() []slog.Attr) {
	l := w.logger
	if l == nil {
		l = slog.Default()
	}
	if !l.Enabled(ctx, level) {
		return
	}
	l.LogAttrs(ctx, level, message, append(common(m), attrs()...)...)
}

func common(m *events.Meta) []slog.Attr {
	var attrs []slog.Attr
	if m.Client != "" {
		attrs = append(attrs, slog.String("client", m.Client))
	}
	if m.Origin != "" {
		attrs = append(attrs, slog.String("origin", m.Origin))
	}
	if m.Partition != "" && m.Partition != m.Origin {
		attrs = append(attrs, slog.String("partition", m.Partition))
	}
	if m.Call != 0 {
		attrs = append(attrs, slog.Uint64("call", m.Call))
	}
	return attrs
}

// answer says what came of an attempt or a call: a status, or a class.
func answer(attrs []slog.Attr, status int, class events.ErrorClass) []slog.Attr {
	if class != "" {
		return append(attrs, slog.String("error", string(class)))
	}
	if status != 0 {
		return append(attrs, slog.Int("status", status))
	}
	return attrs
}

func (w *writer) callDone(ctx context.Context, e events.CallDone) {
	level, message := slog.LevelError, "plimsoll: a failure reached the caller"
	switch e.Outcome {
	case events.OutcomeEscaped:
	case events.OutcomeRejected:
		level, message = slog.LevelWarn, "plimsoll: a call was refused"
	case events.OutcomeOK, events.OutcomeRecovered, events.OutcomeCanceled:
		return
	default:
		return
	}
	w.write(ctx, level, message, &e.Meta, func() []slog.Attr {
		attrs := answer([]slog.Attr{slog.String("method", e.Method)}, e.Status, e.Class)
		attrs = append(attrs, slog.Int("attempts", e.Attempts))
		if e.Recoveries > 0 {
			attrs = append(attrs, slog.Int("recoveries", e.Recoveries))
		}
		if e.Skipped != "" {
			attrs = append(attrs, slog.String("skipped", string(e.Skipped)))
		}
		return append(attrs, slog.Duration("duration", e.Duration))
	})
}

func (w *writer) retryArmed(ctx context.Context, e events.RetryArmed) {
	w.write(ctx, slog.LevelInfo, "plimsoll: an attempt failed and is retried", &e.Meta, func() []slog.Attr {
		attrs := []slog.Attr{slog.Int("attempt", e.Attempt), slog.String("cause", string(e.Cause)), slog.Duration("waited", e.Waited)}
		if e.Cost > 0 {
			attrs = append(attrs, slog.Int("cost", e.Cost), slog.Int("level", e.Level))
		}
		return attrs
	})
}

func (w *writer) retrySkipped(ctx context.Context, e events.RetrySkipped) {
	w.write(ctx, slog.LevelWarn, "plimsoll: a retry was wanted and not armed", &e.Meta, func() []slog.Attr {
		attrs := answer([]slog.Attr{slog.String("reason", string(e.Reason)), slog.Int("attempt", e.Attempt)}, e.Status, e.Class)
		if e.Reason == events.SkipBucket {
			attrs = append(attrs, slog.Int("level", e.Level), slog.Int("needed", e.Needed))
		}
		if e.Reason == events.SkipDeadline {
			attrs = append(attrs, slog.Duration("remaining", e.Remaining), slog.Duration("delay", e.Delay))
		}
		return attrs
	})
}

func (w *writer) throttleRecorded(ctx context.Context, e events.ThrottleRecorded) {
	w.write(ctx, slog.LevelInfo, "plimsoll: the server asked to stay away", &e.Meta, func() []slog.Attr {
		return []slog.Attr{slog.Duration("delay", e.Delay)}
	})
}

func (w *writer) throttleWaited(ctx context.Context, e events.ThrottleWaited) {
	w.write(ctx, slog.LevelInfo, "plimsoll: a call waited for a Retry-After", &e.Meta, func() []slog.Attr {
		return []slog.Attr{slog.Duration("waited", e.Wait), slog.Bool("truncated", e.Truncated)}
	})
}

func (w *writer) connClosed(ctx context.Context, e events.ConnClosed) {
	if e.Cause != events.ConnError && e.Cause != events.ConnPing {
		return
	}
	w.write(ctx, slog.LevelInfo, "plimsoll: a connection failed", &e.Meta, func() []slog.Attr {
		return []slog.Attr{slog.Uint64("conn", e.Conn), slog.String("cause", string(e.Cause)), slog.Duration("age", e.Age)}
	})
}

func (w *writer) connRecovered(ctx context.Context, e events.ConnRecovered) {
	w.write(ctx, slog.LevelInfo, "plimsoll: a request recovered from dead connections", &e.Meta, func() []slog.Attr {
		return []slog.Attr{
			slog.Uint64("conn", e.Conn), slog.Int("recoveries", e.Recoveries), slog.String("cause", string(e.Class)), slog.Bool("fresh", e.Fresh),
		}
	})
}

func (w *writer) breakerChanged(ctx context.Context, e events.BreakerChanged) {
	level := slog.LevelInfo
	if e.To == events.BreakerOpen {
		level = slog.LevelWarn
	}
	w.write(ctx, level, "plimsoll: a breaker changed its state", &e.Meta, func() []slog.Attr {
		attrs := []slog.Attr{
			slog.String("key", e.Key), slog.String("from", e.From.String()), slog.String("to", e.To.String()), slog.String("cause", string(e.Cause)),
		}
		if e.Cooldown > 0 {
			attrs = append(attrs, slog.Duration("cooldown", e.Cooldown))
		}
		return attrs
	})
}

func (w *writer) breakerStoreChanged(ctx context.Context, e events.BreakerStoreChanged) {
	level, message := slog.LevelWarn, "plimsoll: the breaker lost its store; a local gate decides"
	if e.Available {
		level, message = slog.LevelInfo, "plimsoll: the breaker's store is back"
	}
	w.write(ctx, level, message, &e.Meta, func() []slog.Attr { return nil })
}

func (w *writer) streamClosed(ctx context.Context, e events.StreamClosed) {
	switch e.Reason {
	case events.StreamEnded, events.StreamClosedByCaller, events.StreamCanceled:
		return
	default:
	}
	w.write(ctx, slog.LevelWarn, "plimsoll: a stream failed", &e.Meta, func() []slog.Attr {
		return []slog.Attr{
			slog.String("reason", string(e.Reason)), slog.Int64("bytes", e.Bytes), slog.Int64("events", e.Events),
			slog.Int("reconnects", e.Reconnects), slog.Duration("duration", e.Duration),
		}
	})
}

func (w *writer) reloaded(ctx context.Context, e events.Reloaded) {
	w.write(ctx, slog.LevelInfo, "plimsoll: transports and configuration were swapped", &e.Meta, func() []slog.Attr {
		return []slog.Attr{slog.Uint64("generation", e.Generation)}
	})
}
