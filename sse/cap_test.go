package sse

import (
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
)

// capModel is the model with the given caps; 0 is none.
func capModel(line, event, total int64) model {
	or := func(n int64) int64 {
		if n == 0 {
			return math.MaxInt64
		}
		return n
	}
	return model{lineCap: or(line), eventCap: or(event), totalCap: or(total)}
}

func TestACapLetsPassWhatIsExactlyAsLong(t *testing.T) {
	const n = 12
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name   string
		make   func(size int) string // a stream that has size of what is capped
		option func(int64) Option
		model  model
		cap    string
	}{
		{"line of data", func(s int) string { return "data:" + x(s-5) + "\n\n" }, WithLineBytes, capModel(n, 0, 0), LineCap},
		{"line of data with a space and CRLF", func(s int) string { return "data: " + x(s-6) + "\r\n\r\n" }, WithLineBytes, capModel(n, 0, 0), LineCap},
		{"comment", func(s int) string { return ":" + x(s-1) + "\ndata:a\n\n" }, WithLineBytes, capModel(n, 0, 0), LineCap},
		{"unknown field", func(s int) string { return x(s) + "\ndata:a\n\n" }, WithLineBytes, capModel(n, 0, 0), LineCap},
		{"id", func(s int) string { return "id:" + x(s-3) + "\ndata:a\n\n" }, WithLineBytes, capModel(n, 0, 0), LineCap},
		{"retry", func(s int) string { return "retry:" + strings.Repeat("0", s-6) + "\ndata:a\n\n" }, WithLineBytes, capModel(n, 0, 0), LineCap},
		{"line behind a BOM", func(s int) string { return "\uFEFFdata:" + x(s-5) + "\n\n" }, WithLineBytes, capModel(n, 0, 0), LineCap},
		{"line that is never ended", func(s int) string { return "data:\n\ndata:" + x(s-5) }, WithLineBytes, capModel(n, 0, 0), LineCap},

		{"data", func(s int) string { return "data:" + x(s) + "\n\n" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"data of two lines", func(s int) string { return "data:" + x(5) + "\ndata:" + x(s-6) + "\n\n" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"data of many empty lines", func(s int) string { return strings.Repeat("data\n", s+1) + "\n" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"data of many empty lines with colons", func(s int) string { return strings.Repeat("data:\r", s+1) + "\r" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"data, type and id", func(s int) string { return "event:abc\nid:1234\ndata:" + x(s-7) + "\n\n" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"replaced types", func(s int) string { return "event:abc\nevent:\nevent:d\ndata:" + x(s-4) + "\n\n" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"ids without data", func(s int) string { return "id:1\nid:2\x00\nid:" + x(s-3) + "\n\n" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"replacement characters", func(s int) string { return "data:\xFF\xFF\xFF" + x(s-9) + "\n\n" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"replacement characters of a type and an id", func(s int) string { return "event:\xFF\nid:\xE2\x82\ndata:" + x(s-6) + "\n\n" }, WithEventBytes, capModel(0, n, 0), EventCap},
		{"an event behind another", func(s int) string { return "data:abcdefgh\n\n: c\ndata:" + x(s) + "\n\n" }, WithEventBytes, capModel(0, n, 0), EventCap},

		{"total", func(s int) string { return "data:\n\n" + x(s-7) }, func(n int64) Option { return WithTotalBytes(n, 0) }, capModel(0, 0, n), TotalCap},
		{"total that ends with an event", func(s int) string { return (x(n-7) + "\ndata\n\n:::")[:s] }, func(n int64) Option { return WithTotalBytes(n, 0) }, capModel(0, 0, n), TotalCap},
		{"total of comments", func(s int) string { return strings.Repeat(":\n", n)[:s] }, func(n int64) Option { return WithTotalBytes(n, 0) }, capModel(0, 0, n), TotalCap},
		{"total of line ends", func(s int) string { return strings.Repeat("\r\n", n)[:s] }, func(n int64) Option { return WithTotalBytes(n, 0) }, capModel(0, 0, n), TotalCap},
		{"total with a BOM", func(s int) string { return "\uFEFFdata\n\n" + x(s-9) }, func(n int64) Option { return WithTotalBytes(n, 0) }, capModel(0, 0, n), TotalCap},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{n - 1, n, n + 1, n + 2} {
				stream := c.make(size)
				want := c.model.run(stream)
				got := collect(t, strings.NewReader(stream), c.option(n))
				ce := (*CapError)(nil)
				switch broken := errors.As(got.Err, &ce); {
				case broken != (size > n):
					t.Fatalf("%d under a cap of %d ends with %v", size, n, got.Err)
				case broken && (ce.Cap != c.cap || ce.Limit != n):
					t.Fatalf("error %#v, want cap %s and limit %d", ce, c.cap, n)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%q: got %+v\nwant %+v", stream, got, want)
				}
				everyCut(t, stream, want, c.option(n))
			}
		})
	}
}

func TestTheFirstByteThatBreaksACapDecidesWhichOneItIs(t *testing.T) {
	const stream = "data:0123456789"
	for _, c := range []struct {
		line, event, total int64
		cap                string
	}{
		{10, 5, 10, TotalCap}, // all three at byte 11: what is not read comes first
		{10, 5, 11, LineCap},
		{11, 5, 11, EventCap},
		{9, 5, 11, LineCap},
		{11, 4, 11, EventCap},
		{11, 6, 10, TotalCap},
	} {
		opts := []Option{WithLineBytes(c.line), WithEventBytes(c.event), WithTotalBytes(c.total, 0)}
		want := capModel(c.line, c.event, c.total).run(stream)
		if ce := new(CapError); !errors.As(want.Err, &ce) || ce.Cap != c.cap {
			t.Fatalf("%+v: the model says %v", c, want.Err)
		}
		everyCut(t, stream, want, opts...)
	}
}

// The bytes of a cut byte order mark belong to the first line, which is known
// only with the byte behind them.
func TestHalfAByteOrderMarkCountsForTheLine(t *testing.T) {
	for _, limit := range []int64{1, 2, 3} {
		for _, stream := range []string{"\xEF\xBBx\ndata\n\n", "\xEF\xBB\n\n", "\xEF\n\n", "\xEF\xBB", "\uFEFFxxx\n"} {
			everyCut(t, stream, capModel(limit, 0, 0).run(stream), WithLineBytes(limit))
		}
	}
}

func TestTheDefaultCapsAreAsDocumented(t *testing.T) {
	line := func(n int64) io.Reader { return strings.NewReader("data:" + strings.Repeat("x", int(n)-5) + "\n\n") }
	event := func(n int64) io.Reader { // 32 lines of about half a MiB, with 31 line feeds
		l := int(n-31) / 32
		s := strings.Repeat("data:"+strings.Repeat("x", l)+"\n", 31)
		return strings.NewReader(s + "data:" + strings.Repeat("x", int(n)-31-31*l) + "\n\n")
	}
	tail := func(n int64) io.Reader { return strings.NewReader(strings.Repeat(":", int(n))) }
	for _, c := range []struct {
		name string
		src  io.Reader
		opts []Option
		cap  string // "": none is broken
	}{
		{"line at 1 MiB", line(1 << 20), nil, ""},
		{"line above 1 MiB", line(1<<20 + 1), nil, LineCap},
		{"line at 0, which is 1 MiB", line(1<<20 + 1), []Option{WithLineBytes(0)}, LineCap},
		{"line without a cap", line(1<<20 + 1), []Option{WithLineBytes(-1)}, ""},
		{"event at 16 MiB", event(16 << 20), nil, ""},
		{"event above 16 MiB", event(16<<20 + 1), nil, EventCap},
		{"event at 0, which is 16 MiB", event(16<<20 + 1), []Option{WithEventBytes(0)}, EventCap},
		{"event without a cap", event(16<<20 + 1), []Option{WithEventBytes(-7)}, ""},
		{"total at 1 GiB", tail(5), []Option{WithTotalBytes(0, 1<<30-5)}, ""},
		{"total above 1 GiB", tail(6), []Option{WithTotalBytes(0, 1<<30-5)}, TotalCap},
		{"total without a cap", tail(6), []Option{WithTotalBytes(-1, math.MaxInt64)}, ""},
		{"the last option counts", tail(6), []Option{WithTotalBytes(5, 0), WithTotalBytes(6, 0)}, ""},
	} {
		var ce *CapError
		if err := collect(t, c.src, c.opts...).Err; c.cap == "" && err != nil || c.cap != "" && (!errors.As(err, &ce) || ce.Cap != c.cap) {
			t.Errorf("%s: error %v, want cap %q", c.name, err, c.cap)
		}
	}
	if r := NewReader(line(9)); r.totalCap != 1<<30 {
		t.Errorf("total cap %d", r.totalCap)
	}
}

// A subscription of several connections has one total.
func TestTheTotalCapGoesOnAcrossReconnections(t *testing.T) {
	const limit = 30
	stream := "id:1\ndata:a\n\n" // 13 bytes
	used, id, events := int64(0), "", 0
	for connection := 1; ; connection++ {
		r := NewReader(strings.NewReader(stream), WithTotalBytes(limit, used), WithLastEventID(id))
		for _, err := range r.Events() {
			if err == nil {
				events++
				continue
			}
			var ce *CapError
			if !errors.As(err, &ce) || ce.Cap != TotalCap || ce.Limit != limit {
				t.Fatal(err)
			}
			if connection != 3 || events != 2 || used+r.Bytes() != limit {
				t.Fatalf("the cap broke in connection %d after %d events and %d+%d bytes", connection, events, used, r.Bytes())
			}
			return
		}
		used += r.Bytes()
		id = r.LastEventID()
	}
}

func TestAUsedUpTotalEndsTheNextStreamAtItsFirstByte(t *testing.T) {
	for _, used := range []int64{10, 11, math.MaxInt64} {
		src := strings.NewReader("data:a\n\n")
		res := collect(t, src, WithTotalBytes(10, used))
		if ce := (*CapError)(nil); !errors.As(res.Err, &ce) || ce.Cap != TotalCap || res.Bytes != 0 || src.Len() != 7 {
			t.Errorf("used %d: %+v, %d bytes left", used, res, src.Len())
		}
		if res := collect(t, strings.NewReader(""), WithTotalBytes(10, used)); res.Err != nil {
			t.Errorf("used %d: an empty stream ends with %v", used, res.Err)
		}
	}
}

func TestANegativeCountOfUsedBytesPanics(t *testing.T) {
	defer func() {
		if s, _ := recover().(string); !strings.Contains(s, "used is -1") {
			t.Errorf("panic %q", s)
		}
	}()
	WithTotalBytes(5, -1)
}

func TestACapErrorSaysWhichCapAndHowToRaiseIt(t *testing.T) {
	for option, err := range map[string]*CapError{
		"WithLineBytes":  {Cap: LineCap, Limit: 123, Events: 4},
		"WithEventBytes": {Cap: EventCap, Limit: 123, Events: 4},
		"WithTotalBytes": {Cap: TotalCap, Limit: 123, Events: 4},
	} {
		for _, part := range []string{"sse: ", err.Cap + " cap", "123 bytes", "events before: 4", option} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q lacks %q", err, part)
			}
		}
	}
}
