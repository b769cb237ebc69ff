package breaker

// Batch is a run of outcomes of one generation of a closed gate, reduced to
// what the gate's rules can see of it. The zero value is empty.
type Batch struct {
	Successes int64 // counted ones
	Failures  int64 // each adds to streak and window
	Lead      int64 // failures before the first success; all of them if Broken is false
	Trail     int64 // failures after the last success; all of them if Broken is false
	Longest   int64 // the longest run of failures between two successes
	Broken    bool  // it holds a success, counted or not
}

// Add appends one outcome. Backpressure and Cancel leave no trace.
func (b *Batch) Add(o Outcome) {
	switch o {
	case Success:
		b.succeed(1)
	case SuccessUncounted:
		b.succeed(0)
	case Failure:
		b.Failures++
		b.Trail++
		if !b.Broken {
			b.Lead++
		}
	}
}

// succeed appends a success that adds n samples.
func (b *Batch) succeed(n int64) {
	if b.Broken {
		b.Longest = max(b.Longest, b.Trail)
	}
	b.Successes += n
	b.Trail = 0
	b.Broken = true
}

// Append appends the outcomes of c.
func (b *Batch) Append(c Batch) {
	crossing := b.Trail + c.Lead
	switch {
	case !c.Broken:
		b.Trail += c.Failures
		if !b.Broken {
			b.Lead = b.Trail
		}
	case b.Broken:
		b.Longest = max(b.Longest, crossing, c.Longest)
		b.Trail = c.Trail
	default:
		b.Lead, b.Longest, b.Trail, b.Broken = crossing, c.Longest, c.Trail, true
	}
	b.Successes += c.Successes
	b.Failures += c.Failures
}

// Empty reports whether b would change nothing.
func (b *Batch) Empty() bool { return b.Failures == 0 && !b.Broken }

// merge counts a batch as if its outcomes had arrived now, and judges once, at
// its end, by the longest streak that it completed.
func (g Gate) merge(generation int64, b Batch, p Params, now int64) (Gate, Answer) {
	if !g.holds(Grant{Generation: generation}) {
		return g, Answer{Result: Result{State: g.State}}
	}
	if b.Successes+b.Failures > 0 {
		g.count(b.Successes+b.Failures, b.Failures, p, now)
	}
	streak := int64(0)
	if b.Lead > 0 {
		streak = g.Streak + b.Lead
		g.Streak = streak
	}
	if b.Broken {
		streak = max(streak, b.Longest, b.Trail)
		g.Streak = b.Trail
	}
	if b.Successes+b.Failures == 0 {
		return g, Answer{OK: true}
	}
	return g.judged(streak, p, now)
}
