package compat_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// withTrailers answers with a body and two trailers, one of them announced.
var withTrailers = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Trailer", "X-Declared")
	io.WriteString(w, "body")
	w.Header().Set("X-Declared", "d")
	w.Header().Set(http.TrailerPrefix+"X-Late", "l")
})

func TestResponseTrailersComeWithTheBodysEnd(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: p, Handler: withTrailers}, client.Config{MaxResponseBytes: 1000})
			r.Next(faultserver.Respond(503, "busy"), faultserver.Script{}, faultserver.KillAfterReading(faultserver.FIN))
			for range 2 { // through a retry, then through a recovery
				resp, err := r.client.Do(get(t, bounded(t), r.URL()))
				if err != nil {
					t.Fatal(err)
				}
				// On HTTP/2 this server announces none.
				if _, ok := resp.Trailer["X-Declared"]; !ok && !p.Multiplexed() || resp.Trailer.Get("X-Declared") != "" {
					t.Errorf("before the body was read the trailers are %v, want the announced one without a value", resp.Trailer)
				}
				if body := read(t, resp); body != "body" {
					t.Errorf("the body is %q", body)
				}
				if resp.Trailer.Get("X-Declared") != "d" || resp.Trailer.Get("X-Late") != "l" {
					t.Errorf("the trailers are %v, want both", resp.Trailer)
				}
			}
			r.nothingHeld(t)
		})
	}
}

// summed is a body that knows its trailer at its end alone.
type summed struct {
	io.Reader
	req *http.Request
}

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		s.req.Trailer.Set("X-Sum", "5")
	}
	return n, err
}

func (s *summed) Close() error { return nil }

func TestRequestTrailersGoOutWithEachAttempt(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: p}, client.Config{})
			r.Next(faultserver.Respond(503, "busy"), faultserver.KillAfterReading(faultserver.FIN))
			req, err := http.NewRequestWithContext(bounded(t), http.MethodPut, r.URL(), nil)
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = -1
			req.Trailer = http.Header{"X-Sum": nil}
			req.GetBody = func() (io.ReadCloser, error) { return &summed{strings.NewReader("cargo"), req}, nil }
			req.Body, _ = req.GetBody()
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if body := read(t, resp); body != "cargo" {
				t.Errorf("the echo is %q", body)
			}
			seen := r.Requests()
			if len(seen) != 3 {
				t.Errorf("the server saw %d requests, want 3", len(seen))
			}
			for _, s := range seen {
				if s.Trailer.Get("X-Sum") != "5" || s.BodyBytes != 5 {
					t.Errorf("request %d came with %d bytes and trailers %v, want 5 bytes and X-Sum: 5", s.Seq, s.BodyBytes, s.Trailer)
				}
			}
			r.nothingHeld(t)
		})
	}
}

// The shape of a gRPC call: both sides talk in turn on one stream, and the
// trailers hold the outcome.
func TestATwoWayStreamTalksInTurnAndEndsInTrailers(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H2, faultserver.H2C} {
		t.Run(p.String(), func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Trailer", "Grpc-Status")
				w.(http.Flusher).Flush()
				in := bufio.NewScanner(r.Body)
				for in.Scan() {
					fmt.Fprintf(w, "aye %s\n", in.Text())
					w.(http.Flusher).Flush()
				}
				w.Header().Set("Grpc-Status", "0")
			})}, client.Config{})
			down, up := io.Pipe()
			req, err := http.NewRequestWithContext(bounded(t), http.MethodPost, r.URL(), down)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answers := bufio.NewReader(resp.Body)
			for i := range 20 {
				fmt.Fprintf(up, "order %d\n", i)
				if line, err := answers.ReadString('\n'); err != nil || line != fmt.Sprintf("aye order %d\n", i) {
					t.Fatalf("answer %d is %q, %v", i, line, err)
				}
			}
			up.Close()
			if rest, err := io.ReadAll(answers); err != nil || len(rest) != 0 || resp.Trailer.Get("Grpc-Status") != "0" {
				t.Errorf("the stream ends with %q, %v, trailers %v; want Grpc-Status: 0", rest, err, resp.Trailer)
			}
			r.nothingHeld(t)
		})
	}
}

// A body that breaks before its trailers is an error, not an end without them.
func TestABodyThatBreaksBeforeItsTrailersIsAnError(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		for _, how := range faultserver.Hows(p) {
			t.Run(fmt.Sprint(p, "/", how), func(t *testing.T) {
				r := newRig(t, faultserver.Config{Protocol: p}, client.Config{})
				got := make(chan struct{})
				r.Next(faultserver.Do(
					faultserver.Header{Header: http.Header{"Trailer": {"X-Declared"}}, Framing: faultserver.Chunked},
					faultserver.Body{Data: []byte("half")}, faultserver.Flush{}, faultserver.Wait{Until: got}, faultserver.Kill{How: how},
				))
				resp, err := r.client.Do(get(t, bounded(t), r.URL()))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				half := make([]byte, 4)
				if _, err := io.ReadFull(resp.Body, half); err != nil || string(half) != "half" {
					t.Fatalf("the first half is %q, %v", half, err)
				}
				close(got)
				if rest, err := io.ReadAll(resp.Body); err == nil || len(rest) > 0 {
					t.Errorf("the broken body ends with %q and %v, want an error", rest, err)
				}
				if done := doneCall(t, r); done.Outcome != events.OutcomeEscaped {
					t.Errorf("the call's outcome is %q, want %q", done.Outcome, events.OutcomeEscaped)
				}
				r.nothingHeld(t)
			})
		}
	}
}
