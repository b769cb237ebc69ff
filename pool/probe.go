package pool

import (
	"context"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// probe is a trace that notices the first byte of a response.
type probe struct {
	ctx   context.Context // answers for the trace alone
	first atomic.Bool
	user  func() // the user's GotFirstResponseByte
}

func (p *probe) gotFirstByte() {
	p.first.Store(true)
	if p.user != nil {
		p.user()
	}
}

// probes holds probes without a user's trace. One goes back only after its
// last call: when its request has got a response.
var probes = sync.Pool{New: func() any { return newProbe(&httptrace.ClientTrace{}) }}

func newProbe(trace *httptrace.ClientTrace) *probe {
	p := &probe{user: trace.GotFirstResponseByte}
	trace.GotFirstResponseByte = p.gotFirstByte
	p.ctx = httptrace.WithClientTrace(context.Background(), trace)
	return p
}
