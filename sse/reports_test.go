package sse

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// tmaxmax/go-sse#32: messages above 64 KiB never arrived, and no error said so.
func TestALineOf70KBIsParsedWithTheDefaults(t *testing.T) {
	data := strings.Repeat("0123456789", 7000)
	stream := "data: " + data + "\n\ndata: next\n\n"
	want := []Event{msg(data), msg("next")}
	for name, src := range map[string]io.Reader{
		"whole":          strings.NewReader(stream),
		"byte by byte":   iotest.OneByteReader(strings.NewReader(stream)),
		"EOF with bytes": iotest.DataErrReader(strings.NewReader(stream)),
	} {
		if got := collect(t, src); !reflect.DeepEqual(got.Events, want) || got.Err != nil {
			t.Errorf("%s: %d events, error %v", name, len(got.Events), got.Err)
		}
	}
}

// modelcontextprotocol/go-sdk#726: a line above 1 MiB was an error, and its
// users could not change that. Here the cap is an option, the error names it,
// and the line is parsed though every border between reads cuts a rune.
func TestALineAboveTheCapIsParsedWithARaisedCapThoughRunesAreCut(t *testing.T) {
	const rune3 = "\u65e5" // three bytes
	data := strings.Repeat(rune3, 400_000)
	stream := "data:" + data + "\n\n"
	inRune := func(after int) bool { return after > 5 && (after-5)%3 == 1 && after%4 == 0 }

	var ce *CapError
	res := collect(t, &cutReader{s: stream, cut: inRune})
	if !errors.As(res.Err, &ce) || ce.Cap != LineCap || !strings.Contains(ce.Error(), "WithLineBytes") {
		t.Fatalf("error %v", res.Err)
	}
	res = collect(t, &cutReader{s: stream, cut: inRune}, WithLineBytes(2<<20))
	if res.Err != nil || !reflect.DeepEqual(res.Events, []Event{msg(data)}) {
		t.Fatalf("%d events, error %v", len(res.Events), res.Err)
	}
}

// modelcontextprotocol/go-sdk#726, small: a border at every place in runes of
// two, three and four bytes.
func TestABorderInARuneDoesNotBreakIt(t *testing.T) {
	for _, r := range []string{"\u00fc", "\u20ac", "\U0001F600"} {
		stream := "data:" + r + "\n\n"
		everyCut(t, stream, result{Events: []Event{msg(r)}, Ends: []int64{int64(len(stream))}, Bytes: int64(len(stream))})
	}
}

// Servers that end their lines with CR alone.
func TestAStreamWithCROnlyLineEndsIsParsed(t *testing.T) {
	stream := strings.ReplaceAll("event: a\nid: 1\ndata: x\ndata: y\n\n: ping\n\ndata: z\n\n", "\n", "\r")
	want := []Event{{Type: "a", Data: "x\ny", ID: "1"}, {Type: "message", Data: "z", ID: "1"}}
	if got := collect(t, iotest.OneByteReader(strings.NewReader(stream))); !reflect.DeepEqual(got.Events, want) || got.Err != nil {
		t.Errorf("got %+v", got)
	}
}
