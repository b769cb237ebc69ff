package traces

import (
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

var zero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// spanIn is a span of trace n: number, parent's number, kind and times in ms.
type spanIn struct {
	trace, span, parent byte
	kind                ptrace.SpanKind
	from, to            int
	failed              bool
}

func add(s *Store, spans ...spanIn) {
	t := ptrace.NewTraces()
	out := t.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, in := range spans {
		p := out.AppendEmpty()
		p.SetTraceID([16]byte{in.trace, 1})
		p.SetSpanID([8]byte{in.span})
		if in.parent != 0 {
			p.SetParentSpanID([8]byte{in.parent})
		}
		p.SetName(fmt.Sprint("span ", in.span))
		p.SetKind(in.kind)
		p.SetStartTimestamp(pcommon.NewTimestampFromTime(zero.Add(time.Duration(in.from) * time.Millisecond)))
		p.SetEndTimestamp(pcommon.NewTimestampFromTime(zero.Add(time.Duration(in.to) * time.Millisecond)))
		p.Attributes().PutInt("n", int64(in.span))
		e := p.Events().AppendEmpty()
		e.SetName("happened")
		e.SetTimestamp(p.EndTimestamp())
		if in.failed {
			p.Status().SetCode(ptrace.StatusCodeError)
			p.Attributes().PutStr("error.type", "503")
		}
	}
	s.Add(t)
}

const inner, attempt = ptrace.SpanKindInternal, ptrace.SpanKindClient

func TestATraceIsShownOnceItsRootHasArrived(t *testing.T) {
	s := NewStore()
	add(s, spanIn{1, 2, 1, attempt, 20, 40, true})
	if got := s.Latest(9, false); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	add(s, spanIn{1, 1, 0, inner, 10, 70, false})
	add(s, spanIn{1, 3, 1, attempt, 50, 60, false}) // late
	got := s.Latest(9, true)
	if len(got) != 1 || len(got[0].Spans) != 3 {
		t.Fatalf("%+v", got)
	}
	tr := got[0]
	if tr.Duration != 0.06 || !tr.Start.Equal(zero.Add(10*time.Millisecond)) || !tr.Eventful {
		t.Errorf("%+v", tr)
	}
	first, second := tr.Spans[0], tr.Spans[1]
	if first.Parent != "" || second.Offset != 0.01 || second.Duration != 0.02 || second.Error != "503" || second.Kind != "Client" {
		t.Errorf("%+v\n%+v", first, second)
	}
	if e := second.Events[0]; e.Name != "happened" || e.Offset != 0.03 || second.Attributes["n"] != int64(2) {
		t.Errorf("%+v", second)
	}
}

func TestGoodCallsDoNotPushEventfulOnesOut(t *testing.T) {
	s := NewStore()
	add(s, spanIn{1, 1, 0, inner, 0, 9, false}, spanIn{1, 2, 1, attempt, 1, 2, true}, spanIn{1, 3, 1, attempt, 3, 4, false})
	for n := range byte(2 * Limit) {
		add(s, spanIn{n + 2, 1, 0, inner, 10 + int(n), 11 + int(n), false}, spanIn{n + 2, 2, 1, attempt, 10 + int(n), 11 + int(n), false})
	}
	if got := s.Latest(9, true); len(got) != 1 {
		t.Errorf("%d eventful traces", len(got))
	}
	all := s.Latest(1000, false)
	if len(all) != Limit+1 || !all[0].Start.After(all[1].Start) {
		t.Errorf("%d traces, %v, %v", len(all), all[0].Start, all[1].Start)
	}
}

func TestWhatNeverEndsIsBounded(t *testing.T) {
	s := NewStore()
	for n := range 3 * pending {
		tr := ptrace.NewTraces()
		p := tr.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		p.SetTraceID([16]byte{byte(n), byte(n >> 8), 1})
		p.SetSpanID([8]byte{2})
		p.SetParentSpanID([8]byte{1})
		s.Add(tr)
	}
	if len(s.open) > pending+1 || len(s.order) > pending+1 {
		t.Errorf("%d open traces", len(s.open))
	}
	for range 2 * mostSpans {
		add(s, spanIn{1, 1, 0, inner, 0, 1, false})
	}
	if got := len(s.Latest(1, false)[0].Spans); got > mostSpans {
		t.Errorf("%d spans", got)
	}
}
