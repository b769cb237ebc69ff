package otelbridge

import (
	"strings"
	"sync"
	"sync/atomic"
)

// verdicts are what is known of a sampler: of which spans' names it dropped
// those whose parents it had dropped. Nearly every sampler drops them all,
// since it goes by the parent or by the trace; then asking is a fifth of what
// telemetry costs such a call. It is asked until it has dropped agreement spans
// of a name, then for one in askOneIn, and for every span once it has wanted
// one: it may want CLIENT spans and no INTERNAL ones.
type verdicts struct {
	own   atomic.Bool                         // it decides on attempts of their own
	first atomic.Pointer[verdict]             // the first of names: often the only one
	names atomic.Pointer[map[string]*verdict] // mostNames, or some more that came at once; replaced, never changed
	mu    sync.Mutex                          // guards the replacing
}

type verdict struct {
	name    string       // all that a sampler sees of an attempt, besides its kind and its parent
	dropped atomic.Int32 // up to agreement, and some more where several are asked about at once
}

const (
	agreement = 64
	askOneIn  = 16
	mostNames = 256
)

// of returns what is known of spans of that name; nil if there are too many
// names to know.
func (v *verdicts) of(name string) *verdict {
	if first := v.first.Load(); first != nil && first.name == name {
		return first
	}
	if m := v.names.Load(); m != nil {
		if known := (*m)[name]; known != nil || len(*m) >= mostNames {
			return known
		}
	}
	return v.add(name)
}

func (v *verdicts) add(name string) *verdict {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names map[string]*verdict
	if m := v.names.Load(); m != nil {
		names = *m
	}
	if known := names[name]; known != nil {
		return known
	}
	one := &verdict{name: strings.Clone(name)}
	next := extended(names, one.name, one)
	v.names.Store(&next)
	if len(names) == 0 {
		v.first.Store(one)
	}
	return one
}

// asked reports whether the sampler is to be asked for a span of which of is
// what is known, in call, the call's number.
func (v *verdicts) asked(of *verdict, call uint64) bool {
	if of == nil || of.dropped.Load() < agreement || v.own.Load() {
		return true
	}
	// Spread, since the numbers of one client may have a pattern.
	return call*0x9e3779b97f4a7c15>>32%askOneIn == 0
}

// said notes the sampler's answer.
func (v *verdicts) said(of *verdict, recorded bool) {
	switch {
	case recorded:
		v.own.Store(true)
	case of != nil && of.dropped.Load() < agreement:
		of.dropped.Add(1)
	}
}
