package sse

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// msg is an event without type, id and retry.
func msg(data string) Event { return Event{Type: "message", Data: data} }

const maxRetry = 9223372036854 * time.Millisecond

// standardCases pin the WHATWG HTML standard, "Parsing an event stream" and
// "Interpreting an event stream".
var standardCases = []struct {
	name   string
	stream string
	want   []Event
	id     string // last event ID at the end
}{
	{name: "an empty stream has no event", stream: ""},
	{name: "one line of data", stream: "data: x\n\n", want: []Event{msg("x")}},
	{name: "the space behind the colon is optional", stream: "data:x\n\n", want: []Event{msg("x")}},
	{name: "only one space is removed", stream: "data:  x \n\n", want: []Event{msg(" x ")}},
	{name: "a tab is not a space", stream: "data:\tx\n\n", want: []Event{msg("\tx")}},
	{name: "a value may have colons", stream: "data::x: y\n\n", want: []Event{msg(":x: y")}},
	{name: "a value of one space is empty", stream: "data: \n\n", want: []Event{msg("")}},

	{name: "data lines are joined by line feeds", stream: "data: a\ndata: b\ndata\ndata: c\n\n", want: []Event{msg("a\nb\n\nc")}},
	{name: "the standard's stock example", stream: "data: YHOO\ndata: +2\ndata: 10\n\n", want: []Event{msg("YHOO\n+2\n10")}},
	{name: "empty data is an event, the unfinished block none", stream: "data\n\ndata\ndata\n\ndata:", want: []Event{msg(""), msg("\n")}},
	{name: "the standard's example with ids", stream: ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
		want: []Event{{Type: "message", Data: "first event", ID: "1"}, msg("second event")}},
	{name: "the standard's example of spaces", stream: "data:test\n\ndata: test\n\n", want: []Event{msg("test"), msg("test")}},

	{name: "LF", stream: "data:a\n\ndata:b\n\n", want: []Event{msg("a"), msg("b")}},
	{name: "CR", stream: "data:a\r\rdata:b\r\r", want: []Event{msg("a"), msg("b")}},
	{name: "CRLF", stream: "data:a\r\n\r\ndata:b\r\n\r\n", want: []Event{msg("a"), msg("b")}},
	{name: "LF CR are two line ends", stream: "data:a\n\rdata:b\n\r", want: []Event{msg("a"), msg("b")}},
	{name: "CR CRLF", stream: "data:a\r\r\ndata:b\r\r\n", want: []Event{msg("a"), msg("b")}},
	{name: "CRLF CR", stream: "data:a\r\n\rdata:b\r\n\r", want: []Event{msg("a"), msg("b")}},
	{name: "CRLF LF", stream: "data:a\r\n\ndata:b\r\n\n", want: []Event{msg("a"), msg("b")}},
	{name: "every line end in one block", stream: "data:a\r\ndata:b\ndata:c\rdata:d\n\n", want: []Event{msg("a\nb\nc\nd")}},
	{name: "blank lines give nothing", stream: "\n\r\r\n\n\ndata:a\n\n\n\r\n\r", want: []Event{msg("a")}},
	{name: "an LF behind the CR of a blank line is its own", stream: "data:a\r\r\n\ndata:b\n\n", want: []Event{msg("a"), msg("b")}},
	{name: "other line separators are text", stream: "data:a\vb\fc\u0085d\u2028e\n\n", want: []Event{msg("a\vb\fc\u0085d\u2028e")}},

	{name: "comments are ignored", stream: ":a\ndata:x\n: data:y\n:\n\n", want: []Event{msg("x")}},
	{name: "comments alone give no event", stream: ":\n\n: ping\n\n"},
	{name: "unknown fields are ignored", stream: "foo: bar\ndatas: x\ndat: x\nDATA: x\n data: x\ndata : x\nretryy: 1\ndata:x\n\n", want: []Event{msg("x")}},
	{name: "a long line without a colon is an unknown field", stream: "justsometext\ndata:x\n\n", want: []Event{msg("x")}},
	{name: "a NUL makes a name unknown and is text in data", stream: "data\x00:1\n\x00data:2\ndata:\x003\n\n", want: []Event{msg("\x003")}},

	{name: "the event field names the type", stream: "event: add\ndata:x\n\ndata:y\n\n", want: []Event{{Type: "add", Data: "x"}, msg("y")}},
	{name: "the last event field counts", stream: "event:a\nevent:b\ndata:x\n\n", want: []Event{{Type: "b", Data: "x"}}},
	{name: "an empty event field is the default type", stream: "event:a\nevent\ndata:x\n\nevent:\ndata:y\n\n", want: []Event{msg("x"), msg("y")}},
	{name: "the event field may follow the data", stream: "data:x\nevent:a\ndata:y\n\n", want: []Event{{Type: "a", Data: "x\ny"}}},
	{name: "a type without data gives nothing and is forgotten", stream: "event:a\n\ndata:x\n\n", want: []Event{msg("x")}},

	{name: "an id stays", stream: "id:1\ndata:x\n\ndata:y\n\n", id: "1",
		want: []Event{{Type: "message", Data: "x", ID: "1"}, {Type: "message", Data: "y", ID: "1"}}},
	{name: "an id without data stays too", stream: "id:1\n\ndata:y\n\n", id: "1", want: []Event{{Type: "message", Data: "y", ID: "1"}}},
	{name: "an empty id resets it", stream: "id:1\ndata:x\n\nid\ndata:y\n\n", want: []Event{{Type: "message", Data: "x", ID: "1"}, msg("y")}},
	{name: "an empty id without data resets it", stream: "id:1\n\nid:\n\ndata:y\n\n", want: []Event{msg("y")}},
	{name: "the last id of a block counts", stream: "id:1\ndata:x\nid: 22\n\n", id: "22", want: []Event{{Type: "message", Data: "x", ID: "22"}}},
	{name: "an id with NUL is ignored", stream: "id:1\nid:2\x003\ndata:x\n\nid:\x00\n\n", id: "1", want: []Event{{Type: "message", Data: "x", ID: "1"}}},
	{name: "an id of zero is an id", stream: "id:0\ndata:x\n\n", id: "0", want: []Event{{Type: "message", Data: "x", ID: "0"}}},
	{name: "the id of an unfinished block counts for nothing", stream: "id:1\ndata:x\n\nid:2\ndata:y\n", id: "1", want: []Event{{Type: "message", Data: "x", ID: "1"}}},

	{name: "retry comes with its event", stream: "retry: 1500\ndata:x\n\ndata:y\n\n",
		want: []Event{{Type: "message", Data: "x", Retry: 1500 * time.Millisecond, HasRetry: true}, msg("y")}},
	{name: "retry without data comes with the next event", stream: "retry:7\n\n\ndata:x\n\n", want: []Event{{Type: "message", Data: "x", Retry: 7 * time.Millisecond, HasRetry: true}}},
	{name: "retry may be zero", stream: "retry:000\ndata:x\n\n", want: []Event{{Type: "message", Data: "x", HasRetry: true}}},
	{name: "retry is digits only", stream: "retry:1\nretry\nretry:\nretry:2x\nretry:-3\nretry:+4\nretry:5 \nretry:  6\nretry:7.0\nretry:1e3\nretry:\u0661\ndata:x\n\n",
		want: []Event{{Type: "message", Data: "x", Retry: time.Millisecond, HasRetry: true}}},
	{name: "retry 2^63 is the longest time", stream: "retry:9223372036854775808\ndata:x\n\n", want: []Event{{Type: "message", Data: "x", Retry: maxRetry, HasRetry: true}}},
	{name: "retry at the edge of a Duration", stream: "retry:9223372036854\ndata:x\n\nretry:9223372036855\ndata:y\n\nretry:9223372036853\ndata:z\n\n",
		want: []Event{{Type: "message", Data: "x", Retry: maxRetry, HasRetry: true}, {Type: "message", Data: "y", Retry: maxRetry, HasRetry: true},
			{Type: "message", Data: "z", Retry: maxRetry - time.Millisecond, HasRetry: true}}},

	{name: "a BOM at the start is dropped", stream: "\uFEFFdata:x\n\n", want: []Event{msg("x")}},
	{name: "only one BOM is dropped", stream: "\uFEFF\uFEFFdata:1\n\ndata:2\n\n", want: []Event{msg("2")}},
	{name: "a BOM elsewhere is text", stream: "data:1\n\n\uFEFFdata:2\n\ndata:\uFEFF3\n\n", want: []Event{msg("1"), msg("\uFEFF3")}},
	{name: "half a BOM is part of a name", stream: "\xEF\xBBdata:x\ndata:y\n\n", want: []Event{msg("y")}},
	{name: "half a BOM alone is a line", stream: "\xEF\xBB\n\ndata:y\n\n", want: []Event{msg("y")}},
	{name: "a BOM and nothing else", stream: "\uFEFF"},
	{name: "a BOM before a blank line", stream: "\uFEFF\n\ndata:y\r\r", want: []Event{msg("y")}},

	{name: "UTF-8", stream: "data:ok\u2026 \u00fc \u65e5\u672c \U0001F600\n\n", want: []Event{msg("ok\u2026 \u00fc \u65e5\u672c \U0001F600")}},
	{name: "UTF-8 in type and id", stream: "event:\u00e9\nid:\u65e5\ndata:x\n\n", id: "\u65e5", want: []Event{{Type: "\u00e9", Data: "x", ID: "\u65e5"}}},
	{name: "a stray byte is replaced", stream: "data:a\xFFb\x80\n\n", want: []Event{msg("a\uFFFDb\uFFFD")}},
	{name: "a cut sequence is replaced once", stream: "data:\xE2\x82\ndata:\xF0\x9F\x98x\n\n", want: []Event{msg("\uFFFD\n\uFFFDx")}},
	{name: "surrogates and overlong forms, a U+FFFD each byte", stream: "data:\xED\xA0\x80\xC0\xAF\n\n", want: []Event{msg(strings.Repeat("\uFFFD", 5))}},
	{name: "type and id are decoded each alone", stream: "event:\xE2\nid:\x82\ndata:\xAC\n\n", id: "\uFFFD", want: []Event{{Type: "\uFFFD", Data: "\uFFFD", ID: "\uFFFD"}}},

	{name: "a block cut off is discarded", stream: "data:x\n\ndata:y\ndata:z\n", want: []Event{msg("x")}},
	{name: "a line cut off is discarded", stream: "data:x\n\ndata:y", want: []Event{msg("x")}},
}

func TestTheStandardIsFollowedHoweverTheStreamIsCut(t *testing.T) {
	for _, c := range standardCases {
		t.Run(c.name, func(t *testing.T) {
			got := collect(t, strings.NewReader(c.stream))
			if !reflect.DeepEqual(got.Events, c.want) || got.LastEventID != c.id || got.Err != nil {
				t.Fatalf("got %+v\nwant events %+v, last event ID %q and no error", got, c.want, c.id)
			}
			want := noCaps().run(c.stream)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got %+v\nthe model says %+v", got, want)
			}
			everyCut(t, c.stream, want)
		})
	}
}

// What a user sees as one stream may have had blocks of all kinds before.
func TestACaseBehindAnotherIsParsedAsAlone(t *testing.T) {
	for _, a := range standardCases {
		for _, b := range standardCases {
			stream := a.stream + "\n\n" + b.stream
			if got, want := collect(t, strings.NewReader(stream)), noCaps().run(stream); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: got %+v\nwant %+v", stream, got, want)
			}
		}
	}
}
