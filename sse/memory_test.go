package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// An endless stream: start once, then again and again for ever.
type endless struct {
	start, again string
	at           int // in again
	read         int64
	each         func() // called before every MiB
}

func (e *endless) Read(p []byte) (int, error) {
	if e.each != nil && e.read>>20 != (e.read-int64(len(p)))>>20 {
		e.each()
	}
	n := copy(p, e.start)
	e.start = e.start[n:]
	for n < len(p) {
		k := copy(p[n:], e.again[e.at:])
		n += k
		e.at = (e.at + k) % len(e.again)
	}
	e.read += int64(n)
	return n, nil
}

// What a hostile server can make a Reader allocate until a cap stops it: all
// allocations added up, freed ones included, so that the garbage collector's
// timing plays no part. It bounds the peak from above.
func TestAServerCannotMakeTheReaderAllocateMoreThanTheCap(t *testing.T) {
	x := strings.Repeat("x", 1<<10)
	for _, c := range []struct {
		name  string
		src   *endless
		opts  []Option
		cap   string
		limit int64
	}{
		{"a line of data without end", &endless{start: "data:", again: x}, nil, LineCap, 1 << 20},
		{"a line of data without end under a small cap", &endless{start: "data:", again: x}, []Option{WithLineBytes(100)}, LineCap, 100},
		{"a line of data without end under a large cap", &endless{start: "data:", again: x}, []Option{WithLineBytes(12 << 20)}, LineCap, 12 << 20},
		{"an id without end", &endless{start: "id:", again: x}, nil, LineCap, 1 << 20},
		{"a type without end", &endless{start: "event:", again: x}, nil, LineCap, 1 << 20},
		{"a retry without end", &endless{start: "retry:", again: "1"}, nil, LineCap, 0},
		{"a comment without end", &endless{start: ":", again: x}, nil, LineCap, 0},
		{"a name without end", &endless{again: x}, nil, LineCap, 0},
		{"ill-formed data without end", &endless{start: "data:", again: "\xFF\xE2\x82"}, nil, LineCap, 1 << 20},
		{"data that U+FFFD makes one byte too long", &endless{start: "data:" + strings.Repeat("x", 1<<20-2) + "\xFF\n\n", again: x},
			[]Option{WithEventBytes(1 << 20), WithLineBytes(-1)}, EventCap, 1 << 20},
		{"data lines without end", &endless{again: "data:" + x + "\n"}, nil, EventCap, 16 << 20},
		{"empty data lines without end", &endless{again: "data\r"}, []Option{WithEventBytes(1 << 19)}, EventCap, 1 << 19},
		{"data lines without end under a small cap", &endless{again: "data:" + x + "\n"}, []Option{WithEventBytes(5000)}, EventCap, 5000},
		{"ids without end", &endless{again: "id:" + x + "\r\n"}, nil, EventCap, 0},
		{"types without end", &endless{again: "event:" + x + "\n"}, nil, EventCap, 0},
		{"comments without end", &endless{again: ": " + x + "\n"}, []Option{WithTotalBytes(8<<20, 0)}, TotalCap, 0},
		{"blank lines without end", &endless{again: "\n"}, []Option{WithTotalBytes(1<<20, 0)}, TotalCap, 0},
		{"unknown fields without end", &endless{again: "x:" + x + "\n"}, []Option{WithTotalBytes(8<<20, 0)}, TotalCap, 0},
		{"ids in blocks of their own", &endless{again: "id\n\n"}, []Option{WithTotalBytes(1<<20, 0)}, TotalCap, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := NewReader(c.src, c.opts...).Next()
			runtime.ReadMemStats(&after)
			if ce := (*CapError)(nil); !errors.As(err, &ce) || ce.Cap != c.cap {
				t.Fatalf("error %v", err)
			}
			if got := int64(after.TotalAlloc - before.TotalAlloc); got > c.limit+64<<10 {
				t.Errorf("%d bytes were allocated, want at most %d and 64 KiB", got, c.limit)
			}
		})
	}
}

// liveHeap is the size of all reachable objects.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // the first may have swept only what an earlier one marked
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The largest legal events: what is live while they are read.
func TestTheReaderHoldsAtMostTheEventCapWhileItReads(t *testing.T) {
	const limit = 4 << 20
	line := "data:" + strings.Repeat("x", 1<<20-1) + "\n"
	event := strings.Repeat(line, 4) // with its line feeds one byte short of the cap
	events := 0
	var base, peak int64
	src := &endless{again: "id:1\n" + event[:len(event)-2] + "\n\n"}
	src.each = func() { peak = max(peak, liveHeap()) }
	r := NewReader(src, WithEventBytes(limit), WithLineBytes(-1))
	base = liveHeap()
	for range 3 {
		ev, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(ev.Data) != limit-2 || ev.ID != "1" {
			t.Fatalf("%d bytes of data, id %q", len(ev.Data), ev.ID)
		}
		events++
	}
	if peak-base > limit+64<<10 {
		t.Errorf("%d bytes were live while %d events were read, want at most %d", peak-base, events, limit+64<<10)
	}
	if n := cap(r.data.segs); n > keptSegments {
		t.Errorf("a list for %d segments is kept, want at most %d", n, keptSegments)
	}
	if rest := liveHeap() - base; rest > 64<<10 {
		t.Errorf("%d bytes are live between events, want at most 64 KiB", rest)
	}
	runtime.KeepAlive(r)
}

// watched tells of every Read what is live then.
type watched struct {
	io.Reader
	peak int64
}

func (w *watched) Read(p []byte) (int, error) {
	w.peak = max(w.peak, liveHeap())
	return w.Reader.Read(p)
}

// Around each cap: what is live at every Read, and together with the event
// once Next has returned. Between the two, while an event is handed over, its
// text exists twice; see the package comment.
func TestAroundEachCapTheCapAnd64KiBAreLiveAtMost(t *testing.T) {
	const limit = 1 << 20
	for _, c := range []struct {
		cap    string
		option func(int64) Option
		start  string
		around int // bytes of start that count for the cap
	}{
		{LineCap, WithLineBytes, "data:", 5},
		{EventCap, WithEventBytes, "data:", 0},
		{TotalCap, func(n int64) Option { return WithTotalBytes(n, 0) }, "data:", 5 + 2}, // and the blank line
	} {
		for _, size := range []int{limit - 1, limit, limit + 1} {
			t.Run(fmt.Sprintf("%s %+d", c.cap, size-limit), func(t *testing.T) {
				data := size - c.around
				src := &watched{Reader: io.MultiReader(strings.NewReader(c.start), io.LimitReader(&endless{again: "x"}, int64(data)), strings.NewReader("\n\n"))}
				base := liveHeap()
				r := NewReader(src, WithLineBytes(-1), c.option(limit))
				ev, err := r.Next()
				after := liveHeap() - base
				if ce := (*CapError)(nil); size > limit {
					if !errors.As(err, &ce) || ce.Cap != c.cap || ce.Limit != limit {
						t.Fatalf("error %v", err)
					}
					if after > 64<<10 {
						t.Errorf("%d bytes are live after the error, want at most 64 KiB", after)
					}
				} else if err != nil || len(ev.Data) != data {
					t.Fatalf("%d bytes of data, error %v", len(ev.Data), err)
				}
				if peak := max(src.peak-base, after); peak > limit+64<<10 {
					t.Errorf("%d bytes were live, want at most %d", peak, limit+64<<10)
				}
				runtime.KeepAlive(r)
				runtime.KeepAlive(ev)
			})
		}
	}
}

// All allocations for the largest legal events, so that none exists more than
// twice, whatever the garbage collector does.
func TestAnEventIsCopiedOnceWhenItIsHandedOver(t *testing.T) {
	const limit = 1 << 20
	for _, c := range []struct {
		name, event string
		ids         int64 // bytes of its id, which outlives it
	}{
		{"ASCII", "data:" + strings.Repeat("x", limit), 0},
		{"UTF-8", "data:x" + strings.Repeat("\u65e5", limit/3), 0},
		{"one ill-formed byte", "data:\xFF" + strings.Repeat("x", limit-3), 0},
		{"ill-formed bytes alone", "data:x" + strings.Repeat("\xFF", limit/3), 0},
		{"type, id and data", "event:" + strings.Repeat("t", limit/4) + "\nid:" + strings.Repeat("i", limit/4) + "\ndata:" + strings.Repeat("x", limit/2), limit / 4},
		{"an id alone", "data:\nid:" + strings.Repeat("i", limit), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := strings.NewReader(c.event + "\n\n")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ev, err := NewReader(src, WithEventBytes(limit), WithLineBytes(-1)).Next()
			runtime.ReadMemStats(&after)
			made := len(ev.Data) + len(ev.ID)
			if ev.Type != DefaultType {
				made += len(ev.Type)
			}
			if err != nil || made != limit {
				t.Fatalf("%d bytes, error %v", made, err)
			}
			if got := int64(after.TotalAlloc - before.TotalAlloc); got > 2*limit+c.ids+64<<10 {
				t.Errorf("%d bytes were allocated, want at most %d and 64 KiB", got, 2*limit+c.ids)
			}
		})
	}
}

func TestAFinishedReaderHoldsNothing(t *testing.T) {
	r := NewReader(&endless{start: "data:", again: "x"})
	base := liveHeap()
	if _, err := r.Next(); err == nil {
		t.Fatal("no error")
	}
	if rest := liveHeap() - base; rest > 2<<10 {
		t.Errorf("%d bytes are live after the end", rest)
	}
	runtime.KeepAlive(r)
}

func TestAnEventCostsAtMostOneAllocation(t *testing.T) {
	const events = 200
	block := func(s string) []byte { return bytes.Repeat([]byte(s), events) }
	ids := func(data string) []byte {
		var b bytes.Buffer
		for i := range events {
			b.WriteString("event: delta\nid: " + strings.Repeat("7", i%50+1) + "\ndata: " + data + "\n\n")
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name   string
		stream []byte
		want   int // for all events
	}{
		{"100 bytes", block("data: " + strings.Repeat("x", 92) + "\n\n"), events},
		{"4 KiB", block("data: " + strings.Repeat("x", 4088) + "\n\n"), events},
		{"32 KiB", block("data: " + strings.Repeat("x", 32<<10) + "\n\n"), events},
		{"several lines", block("data: a\ndata: b\r\ndata: c\n\n"), events},
		{"a new id each time", ids("x"), events},
		{"a new id each time and 4 KiB", ids(strings.Repeat("x", 4<<10)), events},
		{"the same id", block("id: 1\nevent: a\ndata: x\n\n"), events},
		{"a long type", block("event: " + strings.Repeat("t", 100) + "\ndata: x\n\n"), events},
		{"a long id", block("id: " + strings.Repeat("t", 3000) + "\ndata: x\n\n"), events},
		{"UTF-8", block("event: \u00e9\nid: \u65e5\ndata: \U0001F600\n\n"), events},
		{"empty data", block("event: a\ndata\n\n"), 0},
		{"a long type without data", block("event: " + strings.Repeat("t", 100) + "\n\n"), 0},
		{"no data", block(": ping\nretry: 5\nid: 7\n\n"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			const once = 40 // the Reader, its buffers, its type names
			src := bytes.NewReader(nil)
			got := testing.AllocsPerRun(5, func() {
				src.Reset(c.stream)
				r := NewReader(src)
				for {
					if _, err := r.Next(); err == io.EOF {
						return
					} else if err != nil {
						t.Fatal(err)
					}
				}
			})
			if int(got) > c.want+once {
				t.Errorf("%v allocations for %d events, want at most %d", got, events, c.want+once)
			}
		})
	}
}

// What a Reader keeps for the next event leaves half of the 64 KiB beside a large
// event to whatever else belongs to its stream: the connection, a decompressor.
func TestLittleIsKeptBesideALargeEvent(t *testing.T) {
	const size, beside = 1 << 20, 32 << 10
	for _, before := range []string{"", "id:1\ndata:" + strings.Repeat("x", 32<<10) + "\n\n"} {
		src := io.MultiReader(strings.NewReader(before+"data:"), io.LimitReader(&endless{again: "x"}, size), strings.NewReader("\n\n"))
		base := liveHeap()
		r := NewReader(src, WithLineBytes(-1))
		var ev Event
		for len(ev.Data) != size {
			var err error
			if ev, err = r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if kept := liveHeap() - base - size; kept > beside {
			t.Errorf("after %d bytes: %d bytes are live beside the event, want at most %d", len(before), kept, beside)
		}
		runtime.KeepAlive(r)
		runtime.KeepAlive(ev)
	}
}

// The type and the id of an event must not keep its data alive for long: the
// Reader itself remembers them.
func TestARememberedIDDoesNotKeepALargeEventAlive(t *testing.T) {
	stream := "event:a\nid:1\ndata:" + strings.Repeat("x", 1<<19) + "\n\ndata:\n\n"
	r := NewReader(strings.NewReader(stream))
	base := liveHeap()
	ev, err := r.Next()
	if err != nil || len(ev.Data) != 1<<19 {
		t.Fatal(len(ev.Data), err)
	}
	typ := ev.Type
	ev = Event{} //nolint:wastedassign // the event is dropped here
	if rest := liveHeap() - base; rest > 64<<10 {
		t.Errorf("%d bytes are live after an event was dropped", rest)
	}
	if ev, err = r.Next(); err != nil || ev.ID != "1" || typ != "a" {
		t.Fatal(ev, err, typ)
	}
}
