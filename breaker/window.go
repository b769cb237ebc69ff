package breaker

import "github.com/plimsoll-http/plimsoll/events"

// judged opens the gate if streak or the window demand it.
func (g Gate) judged(streak int64, p Params, now int64) (Gate, Answer) {
	cause := g.verdict(streak, p)
	if cause == "" {
		return g, Answer{OK: true}
	}
	return g.open(cause, p, now)
}

// verdict says why the gate has to open, "" if it has not.
func (g *Gate) verdict(streak int64, p Params) events.BreakerCause {
	calls, failures := g.Calls+g.PriorCalls, g.Failures+g.PriorFailures
	threshold, rate, minCalls := int64(p.ConsecutiveFailures), int64(p.FailureRate), int64(p.MinCalls)
	if rate == 0 {
		if threshold > 0 && streak >= threshold {
			return events.BreakerStreak
		}
		return ""
	}
	switch {
	case streak >= max(minCalls, threshold):
		return events.BreakerRate
	case calls >= minCalls && failures*1_000_000 >= rate*calls:
		return events.BreakerRate
	case calls < minCalls && threshold > 0 && streak >= threshold:
		return events.BreakerStreak
	default:
		return ""
	}
}

// decay halves the level once per base cooldown spent closed. The rest counts
// towards the next halving.
func (g *Gate) decay(base, now int64) {
	if g.Level == 0 {
		g.ClosedFor = 0
		return
	}
	spent := g.ClosedFor + max(0, now-g.ClosedAt)
	g.Level >>= uint64(min(spent/base, 62))
	g.ClosedFor = spent % base
	if g.Level == 0 {
		g.ClosedFor = 0
	}
}

// count adds samples to the current bucket.
func (g *Gate) count(calls, failures int64, p Params, now int64) {
	g.rotate(p, now)
	g.Calls += calls
	g.Failures += failures
}

// rotate makes the bucket of now the current one.
func (g *Gate) rotate(p Params, now int64) {
	switch bucket := now / p.BucketWidth.Milliseconds(); bucket {
	case g.Bucket:
	case g.Bucket + 1:
		g.Bucket = bucket
		g.PriorCalls, g.PriorFailures = g.Calls, g.Failures
		g.Calls, g.Failures = 0, 0
	case g.Bucket - 1:
		// The clock went back a little: the sample goes into the current bucket.
	default:
		g.Bucket = bucket
		g.Calls, g.Failures, g.PriorCalls, g.PriorFailures = 0, 0, 0, 0
	}
}
