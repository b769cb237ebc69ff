package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
)

func TestContentTypeAndEncoding(t *testing.T) {
	zipped := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		io.WriteString(w, s)
		w.Close()
		return b.String()
	}
	const one = "data: one\n\n"
	for _, row := range []struct {
		contentType, encoding, body string
		accept                      string // Accept-Encoding of the request
		want                        events.StreamReason
	}{
		{"text/event-stream", "", one, "", ""},
		{"Text/Event-Stream; charset=utf-8", "", one, "", ""},
		{"text/event-stream;charset=UTF-8;q=\"a;b\"", "", one, "", ""},
		{"text/event-stream; charset", "", one, "", ""},
		{"text/event-streams", "", one, "", events.StreamContentType},
		{"text/plain; text/event-stream", "", one, "", events.StreamContentType},
		{"", "", one, "", events.StreamContentType},
		{";", "", one, "", events.StreamContentType},
		{"text/event-stream", "identity", one, "", ""},
		{"text/event-stream", "gzip", zipped(one), "", ""},
		{"text/event-stream", "gzip", zipped(one), "gzip", events.StreamEncoding}, // who asks has to decode
		{"text/event-stream", "br", one, "", events.StreamEncoding},
		{"text/event-stream", "gzip, gzip", one, "", events.StreamEncoding},
	} {
		t.Run(fmt.Sprint(row.contentType, " ", row.encoding, " ", row.accept), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Content-Type"] = []string{row.contentType}
					if row.encoding != "" {
						w.Header().Set("Content-Encoding", row.encoding)
					}
					io.WriteString(w, row.body)
				}))
				req := r.request(context.Background())
				if row.accept != "" {
					req.Header.Set("Accept-Encoding", row.accept)
				}
				s, err := r.client.Stream(req)
				if reasonOf(err) != row.want {
					t.Fatalf("error %v, want reason %q", err, row.want)
				}
				if err == nil {
					got, err := collect(t, s)
					if err != nil {
						t.Error(err)
					}
					equal(t, got, "message/=one")
					if closed := r.over(events.StreamEnded); closed.Bytes != int64(len(one)) {
						t.Errorf("StreamClosed %+v, want decoded bytes", closed)
					}
				}
			})
		})
	}
}

func TestAnErrorOfTheContentTypeSaysWhatIsWrong(t *testing.T) {
	for contentType, want := range map[string]string{
		"":                            "is absent,",
		"text/event-stream; a=1; a=2": "is malformed,",
		"/secret":                     "is malformed,",
		"text/html; charset=utf-8":    "is text/html,",
		"x-secret/y":                  "is another one,",
	} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{contentType}
			}))
			_, err := r.client.Stream(r.request(context.Background()))
			if reasonOf(err) != events.StreamContentType || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: error %v, want %q", contentType, err, want)
			}
		})
	}
}
