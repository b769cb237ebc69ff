package sse

import (
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// read is what one call of a scripted io.Reader gives.
type read struct {
	s   string
	n   int // if not 0: the count to lie about
	err error
}

type script struct {
	reads []read
	calls int
}

func (s *script) Read(p []byte) (int, error) {
	if s.calls == len(s.reads) {
		panic("the script is at its end")
	}
	c := s.reads[s.calls]
	s.calls++
	if c.n != 0 {
		return c.n, c.err
	}
	return copy(p, c.s), c.err
}

func TestAnErrorOfTheSourceComesUnchangedBehindTheEventsBeforeIt(t *testing.T) {
	broken := errors.New("broken")
	for _, reads := range [][]read{
		{{s: "data:a\n\ndata:b\n\ndata:c\n"}, {err: broken}},
		{{s: "data:a\n\ndata:b\n\ndata:c\n", err: broken}},
		{{s: "data:a\n"}, {s: "\ndata:b\n\n", err: broken}},
	} {
		src := &script{reads: reads}
		r := NewReader(src)
		for _, want := range []string{"a", "b"} {
			if ev, err := r.Next(); err != nil || ev.Data != want {
				t.Fatal(ev, err)
			}
		}
		for range 3 {
			if ev, err := r.Next(); err != broken || ev != (Event{}) {
				t.Fatal(ev, err)
			}
		}
		if src.calls != len(reads) {
			t.Errorf("%d reads, want %d", src.calls, len(reads))
		}
	}
}

func TestTheIterationYieldsAnErrorOnceAndEnds(t *testing.T) {
	for name, c := range map[string]struct {
		src  io.Reader
		opts []Option
		want error
	}{
		"source": {iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("data:a\n\n"))), nil, iotest.ErrTimeout},
		"cut":    {io.MultiReader(strings.NewReader("data:a\n\ndata"), iotest.ErrReader(io.ErrUnexpectedEOF)), nil, io.ErrUnexpectedEOF},
	} {
		seq := All(c.src, c.opts...)
		var errs []error
		for range 2 { // a second range finds nothing more
			for ev, err := range seq {
				if err != nil {
					errs = append(errs, err)
					if ev != (Event{}) {
						t.Errorf("%s: %+v comes with an error", name, ev)
					}
				}
			}
		}
		if len(errs) != 1 || errs[0] != c.want {
			t.Errorf("%s: errors %v, want %v once", name, errs, c.want)
		}
	}
}

func TestPastACapTheIterationEndsWithOneError(t *testing.T) {
	for _, o := range []Option{WithLineBytes(7), WithEventBytes(2), WithTotalBytes(18, 0)} {
		stream := "data:a\n\ndata:b\n\ndata:long\n\ndata:d\n\n"
		var got []string
		var errs []error
		for ev, err := range All(iotest.OneByteReader(strings.NewReader(stream)), o) {
			if err != nil {
				errs = append(errs, err)
			} else {
				got = append(got, ev.Data)
			}
		}
		var ce *CapError
		if len(errs) != 1 || !errors.As(errs[0], &ce) || ce.Events != 2 || !reflect.DeepEqual(got, []string{"a", "b"}) {
			t.Errorf("events %q, errors %v", got, errs)
		}
	}
}

func TestTheEndOfTheStreamEndsTheIterationWithoutAnError(t *testing.T) {
	n := 0
	for ev, err := range All(iotest.DataErrReader(strings.NewReader("data:a\n\ndata:b"))) {
		if err != nil || ev.Data != "a" {
			t.Fatal(ev, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestALoopThatBreaksCanBeContinued(t *testing.T) {
	seq := All(strings.NewReader("data:a\n\ndata:b\n\ndata:c\n\n"))
	var got []string
	for range 4 {
		for ev, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ev.Data)
			break
		}
	}
	if strings.Join(got, "") != "abc" {
		t.Errorf("events %q", got)
	}
}

// With a CR the line is over. Waiting for the LF that may follow would hold the
// event back until the server's next byte.
func TestALoneCRDispatchesWithoutWaitingForTheNextByte(t *testing.T) {
	for _, block := range []string{"data:a\r\r", "data:a\n\r", "data:a\r\n\r", "data:a\n\n"} {
		src := &script{reads: []read{{s: block}}} // panics when asked for more
		if ev, err := NewReader(src).Next(); err != nil || ev.Data != "a" {
			t.Errorf("%q: %v, %v", block, ev, err)
		}
	}
	// The LF that follows after all ends no line of its own.
	src := &script{reads: []read{{s: "data:a\r\n\r"}, {s: "\ndata:b\r"}, {s: "\n"}, {s: "\r"}}}
	r := NewReader(src)
	for i, want := range []string{"a", "b"} {
		if ev, err := r.Next(); err != nil || ev.Data != want {
			t.Errorf("event %d: %v, %v", i, ev, err)
		}
	}
}

func TestASourceThatGivesNothingIsGivenUpAfterAHundredReads(t *testing.T) {
	src := &script{reads: make([]read, 1000)}
	src.reads[0].s, src.reads[99].s, src.reads[199].s = "data:a\n", "\n", ":"
	r := NewReader(src)
	if ev, err := r.Next(); err != nil || ev.Data != "a" {
		t.Fatal(ev, err)
	}
	if _, err := r.Next(); err != io.ErrNoProgress {
		t.Fatal(err)
	}
	if src.calls != 300 {
		t.Errorf("%d reads, want 100 behind the last byte", src.calls)
	}
}

func TestASourceThatCountsWrongIsAnError(t *testing.T) {
	for _, n := range []int{-1, bufferBytes + 1} {
		r := NewReader(&script{reads: []read{{n: n}}})
		if _, err := r.Next(); err == nil || !strings.HasPrefix(err.Error(), "sse: ") {
			t.Errorf("count %d: error %v", n, err)
		}
	}
}

func TestAReaderWithoutASourcePanics(t *testing.T) {
	defer func() {
		if s, _ := recover().(string); !strings.HasPrefix(s, "sse: NewReader") {
			t.Errorf("panic %q", s)
		}
	}()
	NewReader(nil)
}

func TestTheStateOfAReaderIsThatOfTheLastBlankLine(t *testing.T) {
	r := NewReader(strings.NewReader("id:1\nretry:5\ndata:a\n\nid:2\n\nretry:6\n: c\ndata:b\r\n\r\nid:3\nretry:7\ndata:c"))
	check := func(id string, retry time.Duration, ok bool, n int64) {
		t.Helper()
		gotRetry, gotOK := r.Retry()
		if r.LastEventID() != id || gotRetry != retry || gotOK != ok || r.Bytes() != n {
			t.Errorf("id %q, retry %v %v, %d bytes; want %q, %v %v, %d", r.LastEventID(), gotRetry, gotOK, r.Bytes(), id, retry, ok, n)
		}
	}
	check("", 0, false, 0)
	if ev, err := r.Next(); err != nil || ev.ID != "1" {
		t.Fatal(ev, err)
	}
	check("1", 5*time.Millisecond, true, 21)
	if ev, err := r.Next(); err != nil || ev.ID != "2" || ev.Retry != 6*time.Millisecond {
		t.Fatal(ev, err)
	}
	check("2", 6*time.Millisecond, true, 48)
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
	check("2", 7*time.Millisecond, true, 68) // a retry field takes effect at once, an id does not
}

func TestAStreamGoesOnWithTheLastEventIDItWasGiven(t *testing.T) {
	for _, c := range []struct{ given, stream, want, after string }{
		{"41", "data:a\n\n", "41", "41"},
		{"41", "id:42\ndata:a\n\n", "42", "42"},
		{"41", "id:41\ndata:a\n\n", "41", "41"},
		{"41", "id\ndata:a\n\n", "", ""},
		{"41", "id:4\x00\ndata:a\n\nid:9", "41", "41"},
		{"\xE2\x82", "data:\xFF\n\n", "\uFFFD", "\uFFFD"},
	} {
		r := NewReader(strings.NewReader(c.stream), WithLastEventID(c.given))
		if ev, err := r.Next(); err != nil || ev.ID != c.want {
			t.Errorf("%+v: %+v, %v", c, ev, err)
		}
		if _, err := r.Next(); err != io.EOF || r.LastEventID() != c.after {
			t.Errorf("%+v: last event ID %q, %v", c, r.LastEventID(), err)
		}
	}
}

// More types than are remembered, types too long to be, and ill-formed ones.
func TestOnlySixteenTypesAreRemembered(t *testing.T) {
	r := NewReader(strings.NewReader(strings.Repeat("event:a\ndata\n\n", 9) + manyTypes(100)))
	for {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if n := len(r.types.names); n > maxTypeNames {
			t.Fatalf("%d types are remembered", n)
		} else if r.events == 109 {
			if n != maxTypeNames {
				t.Fatalf("%d types are remembered of 101", n)
			}
			return
		}
	}
}

func manyTypes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("event:t" + strconv.Itoa(i) + "\ndata\n\n")
	}
	return b.String()
}

func TestEveryTypeIsRightHoweverManyThereAre(t *testing.T) {
	var b strings.Builder
	var want []Event
	for round := range 3 {
		for i := range 2 * maxTypeNames {
			typ := strings.Repeat(string(rune('a'+i)), 1+i*5)
			sent := typ
			if i%7 == 3 {
				typ, sent = typ+"\uFFFD", typ+"\xFF"
			}
			b.WriteString("event:" + sent + "\ndata:" + strconv.Itoa(round) + "\n\n")
			want = append(want, Event{Type: typ, Data: strconv.Itoa(round)})
		}
	}
	if got := collect(t, iotest.HalfReader(strings.NewReader(b.String()))); !reflect.DeepEqual(got.Events, want) || got.Err != nil {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
