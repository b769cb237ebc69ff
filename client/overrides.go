package client

import (
	"context"
	"time"
)

// overrides is what a context says about the calls made with it.
type overrides struct {
	policy   *RetryPolicy
	total    time.Duration
	hasTotal bool
	route    string
}

type overridesKey struct{}

func overridesOf(ctx context.Context) *overrides {
	o, _ := ctx.Value(overridesKey{}).(*overrides)
	return o
}

func override(ctx context.Context, change func(*overrides)) context.Context {
	var o overrides
	if outer := overridesOf(ctx); outer != nil {
		o = *outer
	}
	change(&o)
	return context.WithValue(ctx, overridesKey{}, &o)
}

// WithRetry replaces the client's retry policy for calls made with the
// returned context. Zero fields take the documented defaults, not the client's
// values. An invalid policy makes the call return an error that names the
// field.
func WithRetry(ctx context.Context, policy RetryPolicy) context.Context {
	return override(ctx, func(o *overrides) { o.policy = &policy })
}

// WithTotalRetryDuration replaces Config.MaxTotalRetryDuration for calls made
// with the returned context: 0 is the default of 2 minutes, negative leaves
// only the context as a bound.
func WithTotalRetryDuration(ctx context.Context, total time.Duration) context.Context {
	return override(ctx, func(o *overrides) {
		o.total, o.hasTotal = total, true
		if total == 0 {
			o.total = defaultTotal
		}
	})
}

// WithRoute names the template of the request's path, such as "/users/{id}".
// It becomes url.template and part of the span's name; it is never a metric
// attribute by default. It must be low-cardinality and hold no secret.
func WithRoute(ctx context.Context, template string) context.Context {
	return override(ctx, func(o *overrides) { o.route = template })
}
