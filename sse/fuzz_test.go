package sse

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzReader compares the parser with the model, under random caps and random
// cuts, and checks that nothing that is handed over or held is beyond the caps.
func FuzzReader(f *testing.F) {
	for i, c := range standardCases {
		f.Add([]byte(c.stream), uint64(i), uint16(0), uint16(0), uint16(0))
		f.Add([]byte(c.stream), uint64(i), uint16(9), uint16(3), uint16(0))
		f.Add([]byte(c.stream), uint64(i), uint16(0), uint16(5), uint16(14))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64, line, event, total uint16) {
		if len(stream) > 300 {
			return // the model is quadratic; long inputs have tests of their own
		}
		checkFuzzed(t, string(stream), seed, line, event, total)

		// The same stream with its values blown up past a buffer and a segment.
		if n := strings.Count(string(stream), "x"); 0 < n && n <= 4 {
			long := strings.ReplaceAll(string(stream), "x", strings.Repeat("x", bufferBytes+segmentBytes))
			whole := collect(t, strings.NewReader(long))
			src := &cutReader{s: long, cut: randomCuts(seed, 4<<(seed%12)), how: delivery(seed % 3)}
			if got := collect(t, src); !reflect.DeepEqual(got, whole) {
				t.Fatalf("long form of %q: cuts change the result", stream)
			}
		}
	})
}

func checkFuzzed(t *testing.T, stream string, seed uint64, line, event, total uint16) {
	t.Helper()
	m := noCaps()
	var opts []Option
	if line > 0 {
		m.lineCap = int64(line)
		opts = append(opts, WithLineBytes(m.lineCap))
	}
	if event > 0 {
		m.eventCap = int64(event)
		opts = append(opts, WithEventBytes(m.eventCap))
	}
	if total > 0 {
		m.totalCap = int64(total)
		opts = append(opts, WithTotalBytes(m.totalCap, 0))
	}
	want := m.run(stream)
	for i, how := range []delivery{plain, withEOF, withEmpty} {
		odds := 1 << ((seed + uint64(i)) % 7) // from every byte to hardly ever
		src := &cutReader{s: stream, cut: randomCuts(seed, odds), how: how}
		if got := collect(t, src, opts...); !reflect.DeepEqual(got, want) {
			t.Fatalf("stream %q, caps %d %d %d:\n got %+v\nwant %+v", stream, line, event, total, got, want)
		}
		if int64(src.at) > m.totalCap+1 && total > 0 {
			t.Fatalf("%d bytes read under a total cap of %d", src.at, total)
		}
	}
	for _, ev := range want.Events {
		if event > 0 && len(ev.Data) > int(event) {
			t.Fatalf("event of %d bytes under a cap of %d", len(ev.Data), event)
		}
	}
	// What is parsed can be written and parsed again.
	for _, ev := range want.Events {
		var b strings.Builder
		b.WriteString("event: " + ev.Type + "\nid: " + ev.ID + "\n")
		for l := range strings.SplitSeq(ev.Data, "\n") {
			b.WriteString("data: " + l + "\n")
		}
		b.WriteString("\n")
		again := collect(t, strings.NewReader(b.String()))
		ev.Retry, ev.HasRetry = 0, false
		if len(again.Events) != 1 || again.Events[0] != ev {
			t.Fatalf("%+v written and parsed again is %+v", ev, again.Events)
		}
	}
}
