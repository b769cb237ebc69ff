package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// replayer serves a fixed list of events, those behind the request's
// Last-Event-ID, and 204 where none is left. It cuts the bytes of its responses
// where it is told.
type replayer struct {
	events  []string // on the wire; the n-th has the ID n, or none
	chunked bool     // else the end of the connection is the end of the body
	reset   bool     // cut by a reset, else by FIN
	cuts    []int    // bytes of the n-th response
	served  int
	got     []string // Last-Event-ID of each request
}

func (s *replayer) serve(l *memconn.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.answer(conn.(*memconn.Conn))
	}
}

func (s *replayer) answer(conn *memconn.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	id := req.Header.Get("Last-Event-ID")
	s.got = append(s.got, id)
	from, _ := strconv.Atoi(id)
	if from == len(s.events) {
		conn.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
		return
	}
	wire := s.wire(from)
	s.served++
	if s.served > len(s.cuts) || s.cuts[s.served-1] >= len(wire) {
		conn.Write([]byte(wire))
		return
	}
	conn.Write([]byte(wire[:s.cuts[s.served-1]]))
	if s.reset {
		conn.Reset()
	}
}

func (s *replayer) wire(from int) string {
	if !s.chunked {
		return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + strings.Join(s.events[from:], "")
	}
	wire := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, ev := range s.events[from:] {
		half := len(ev) / 2 // a chunk's border is no event's border
		for _, chunk := range []string{ev[:half], ev[half:]} {
			wire += fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk)
		}
	}
	return wire + "0\r\n\r\n"
}

// TestACutAtEveryByteNeitherLosesNorRepeatsAnEvent cuts the first connection
// behind each of its bytes, headers included, and some of the second one too.
func TestACutAtEveryByteNeitherLosesNorRepeatsAnEvent(t *testing.T) {
	want := []string{"message/1=one", "add/2=zwei", "add/3=a\nb"}
	for _, end := range []string{"\n", "\r\n", "\r"} {
		texts := strings.NewReplacer("|", end)
		list := []string{
			texts.Replace(": c|id: 1|data: one||"), texts.Replace("event: add|data: zwei|id: 2||"), texts.Replace("id: 3|event: add|data: a|data: b||"),
		}
		for _, chunked := range []bool{false, true} {
			for _, reset := range []bool{false, true} {
				whole := len((&replayer{events: list, chunked: chunked}).wire(0))
				t.Run(fmt.Sprintf("%q chunked %v reset %v", end, chunked, reset), func(t *testing.T) {
					for cut := range whole + 1 {
						inBubble(t, func(t *testing.T) {
							server := &replayer{events: list, chunked: chunked, reset: reset, cuts: []int{cut, cut * 7 % whole}}
							r := newRig(t, Config{}, nil)
							l := memconn.Listen()
							defer l.Close()
							go server.serve(l)
							r = r.dialling(Config{Stream: StreamConfig{Resume: true}}, l.DialContext)
							got, err := collect(t, r.stream(context.Background()))
							if err != nil {
								t.Fatalf("cut at %d: %v", cut, err)
							}
							if strings.Join(got, " ") != strings.Join(want, " ") {
								t.Fatalf("cut at %d and %d: events %q, want %q; asked for %q", cut, server.cuts[1], got, want, server.got)
							}
							level := 500
							if second := server.wire(0); server.served > 1 && server.cuts[1] < strings.Index(second, "\r\n\r\n")+4 {
								level -= 10 // a retry without a response
							}
							if r.level() != level {
								t.Errorf("cut at %d: level %d, want %d", cut, r.level(), level)
							}
							r.over(events.StreamEnded)
						})
					}
				})
			}
		}
	}
}

func TestAServerThatRestartsIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, nil)
		l := memconn.Listen()
		server := &replayer{events: []string{"retry: 2000\nid: 1\ndata: 1\n\n", "id: 2\ndata: 2\n\n"}, cuts: []int{110}}
		go server.serve(l)
		var dials atomic.Int32
		r = r.dialling(Config{Stream: StreamConfig{Resume: true}}, func(ctx context.Context, network, addr string) (c net.Conn, err error) {
			if n := dials.Add(1); n == 2 || n == 3 {
				return nil, syscall.ECONNREFUSED
			}
			return l.DialContext(ctx, network, addr)
		})
		start := time.Now()
		got, err := collect(t, r.stream(context.Background()))
		l.Close()
		if err != nil {
			t.Error(err)
		}
		equal(t, got, "message/1=1", "message/2=2")
		if took := time.Since(start); took != 8*time.Second {
			t.Errorf("it took %v, want four times the reconnection time", took)
		}
		if level := r.level(); level != 480 {
			t.Errorf("level %d, want the price of two refused dials gone", level)
		}
		r.over(events.StreamEnded)
	})
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, nil)
		r = r.dialling(Config{Stream: StreamConfig{Resume: true}}, func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
		if _, err := r.client.Stream(r.request(context.Background())); reasonOf(err) != events.StreamTransport || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v", err)
		}
		if n := eventstest.Count[events.AttemptStarted](r.rec); n != 1 {
			t.Errorf("%d attempts to open a stream at a server that is not there, want 1 as for any call", n)
		}
	})
}
