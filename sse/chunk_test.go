package sse

import (
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
)

// A delivery is a legal way of ending a stream or of giving nothing.
type delivery int

const (
	plain     delivery = iota // (n, nil), and (0, io.EOF) at the end
	withEOF                   // (n, io.EOF) with the last bytes
	withEmpty                 // (0, nil) before each piece
)

// A cutReader delivers s cut behind the given offsets.
type cutReader struct {
	s      string
	cut    func(after int) bool // whether a piece ends behind byte number after
	how    delivery
	at     int
	rested bool
}

func (c *cutReader) Read(p []byte) (int, error) {
	if c.at == len(c.s) {
		return 0, io.EOF
	}
	if c.how == withEmpty && !c.rested {
		c.rested = true
		return 0, nil
	}
	c.rested = false
	n := 0
	for n < len(p) && c.at < len(c.s) {
		p[n] = c.s[c.at]
		n++
		c.at++
		if c.cut(c.at) {
			break
		}
	}
	if c.how == withEOF && c.at == len(c.s) {
		return n, io.EOF
	}
	return n, nil
}

// A probe looks at what its Reader holds whenever that asks for more.
type probe struct {
	t   testing.TB
	src io.Reader
	r   *Reader
	got int64
}

func (p *probe) Read(b []byte) (int, error) {
	held := int64(len(p.r.buf) + p.r.spares.n*segmentBytes)
	stored := int64(0)
	for _, x := range []*text{p.r.data, p.r.typ, p.r.id, p.r.newID} {
		stored += int64(x.size)
		held += int64(cap(x.first) + cap(x.segs)*8 + len(x.segs)*segmentBytes)
	}
	if stored > p.r.eventCap {
		p.t.Fatalf("%d bytes are stored under an event cap of %d", stored, p.r.eventCap)
	}
	if limit := min(p.got, p.r.eventCap) + 64<<10; held > limit {
		p.t.Fatalf("%d bytes are held after %d under an event cap of %d", held, p.got, p.r.eventCap)
	}
	n, err := p.src.Read(b)
	p.got += int64(n)
	return n, err
}

var scratch = make([]byte, bufferBytes)

// collect parses src to its end.
func collect(t testing.TB, src io.Reader, opts ...Option) (res result) {
	t.Helper()
	r := NewReader(src, opts...)
	r.src = &probe{t: t, src: src, r: r}
	r.buf = scratch // thousands of readers need not have one each
	for {
		ev, err := r.Next()
		if err != nil {
			if ev != (Event{}) {
				t.Fatalf("event %+v came with error %v", ev, err)
			}
			if err != io.EOF {
				res.Err = err
			}
			if _, again := r.Next(); again != err {
				t.Fatalf("after error %v came %v", err, again)
			}
			res.Bytes, res.LastEventID = r.Bytes(), r.LastEventID()
			res.Retry, res.HasRetry = r.Retry()
			return res
		}
		res.Events = append(res.Events, ev)
		res.Ends = append(res.Ends, r.Bytes())
	}
}

// everyCut parses stream under every cut into pieces if it is short, and
// otherwise under every one and two cuts, cut behind every byte, and some
// hundred random cuts; each with every delivery. All must give want.
func everyCut(t *testing.T, stream string, want result, opts ...Option) {
	t.Helper()
	try := func(name string, cut func(int) bool) {
		t.Helper()
		for _, how := range []delivery{plain, withEOF, withEmpty} {
			src := &cutReader{s: stream, cut: cut, how: how}
			if got := collect(t, src, opts...); !reflect.DeepEqual(got, want) {
				t.Fatalf("stream %.200q, %s, delivery %d:\n got %+.600v\nwant %+.600v", stream, name, how, got, want)
			}
		}
	}
	n := len(stream)
	try("whole", func(int) bool { return false })
	try("cut behind every byte", func(int) bool { return true })
	if n <= 11 {
		for set := range 1 << max(n-1, 0) {
			try(fmt.Sprintf("cuts %b", set), func(after int) bool { return set>>(after-1)&1 == 1 })
		}
		return
	}
	step := 1 + n/120 // of a long stream not every pair of cuts
	for a := 1; a < n; a += step {
		for b := a; b < n; b += step {
			try(fmt.Sprintf("cut behind %d and %d", a, b), func(after int) bool { return after == a || after == b })
		}
	}
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	for range 100 {
		odds := 1 + rnd.IntN(9)
		seed := rnd.Uint64()
		try(fmt.Sprintf("random cuts %d/%d", odds, seed), randomCuts(seed, odds))
	}
}

// randomCuts cuts behind one byte in odds. The decisions depend on seed alone.
func randomCuts(seed uint64, odds int) func(int) bool {
	return func(after int) bool {
		x := (seed + uint64(after)) * 0x9E3779B97F4A7C15 // the mixing of SplitMix64
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		return (x^x>>31)%uint64(odds) == 0
	}
}

// An event is complete when its blank line is, and not a byte later: the source
// that gives one byte at a time has then not been asked for another.
func TestAnEventIsHandedOverWithTheLastByteOfItsBlankLine(t *testing.T) {
	for _, c := range standardCases {
		src := &cutReader{s: c.stream, cut: func(int) bool { return true }}
		r := NewReader(src)
		want := noCaps().run(c.stream)
		for i, end := range want.Ends {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			if int64(src.at) != end {
				t.Errorf("%s: event %d came after %d bytes, want %d", c.name, i, src.at, end)
			}
		}
	}
}
