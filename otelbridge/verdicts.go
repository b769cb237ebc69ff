package otelbridge

import "sync/atomic"

// verdicts is what is known of a sampler: whether it drops the attempts of
// calls that it dropped. Nearly all do, since they go by the parent or by the
// trace; then asking is a fifth of what telemetry costs such a call. The
// sampler is asked until it has dropped agreement of them, then for one in
// askOneIn, and for every one once it has wanted one: it may want CLIENT spans
// and no INTERNAL ones.
type verdicts struct {
	dropped atomic.Int32 // up to agreement, and some more where several are asked about at once
	own     atomic.Bool  // it decides on attempts of their own
}

const (
	agreement = 64
	askOneIn  = 16
)

// asked reports whether the sampler is to be asked for an attempt of call, the
// call's number.
func (v *verdicts) asked(call uint64) bool {
	if v.own.Load() || v.dropped.Load() < agreement {
		return true
	}
	// Spread, since the numbers of one client may have a pattern.
	return call*0x9e3779b97f4a7c15>>32%askOneIn == 0
}

// said notes the sampler's answer.
func (v *verdicts) said(recorded bool) {
	switch {
	case recorded:
		v.own.Store(true)
	case v.dropped.Load() < agreement:
		v.dropped.Add(1)
	}
}
