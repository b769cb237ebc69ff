package faultserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// follow is a second request, which asks for the end of the connection, and its
// answer.
const (
	follow       = "GET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	followAnswer = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
)

// Every row is the exact text of the answers to a request and a second one that
// follows at once. Where the connection ends with the first answer, the second
// is missing.
func TestHTTP1AnswersAreExactToTheByte(t *testing.T) {
	rows := []struct {
		name    string
		script  Script
		request string
		want    string
		ends    bool // before the second answer
		cut     bool // TLS ends without close_notify
	}{
		{name: "length known", script: Respond(503, "hi"), request: get,
			want: "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nhi"},
		{name: "own reason and header", script: Do(Header{Status: 299, Reason: "Odd", Header: http.Header{"B": {"2"}, "A": {"1", "3"}}}), request: get,
			want: "HTTP/1.1 299 Odd\r\nA: 1\r\nA: 3\r\nB: 2\r\nContent-Length: 0\r\n\r\n"},
		{name: "chunks and trailers",
			script:  Do(Header{Framing: Chunked}, Body{Data: []byte("abc")}, Body{Size: 17}, Trailer{http.Header{"X-Sum": {"7"}}}),
			request: get,
			want: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n11\r\n" + string(Pattern(17)) +
				"\r\n0\r\nX-Sum: 7\r\n\r\n"},
		{name: "trailers alone ask for chunks", script: Do(Header{}, Body{Data: []byte("abc")}, Trailer{http.Header{"X-Sum": {"7"}}}), request: get,
			want: "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n"},
		{name: "a flush before the end asks for chunks", script: Do(Header{}, Body{Data: []byte("a")}, Flush{}, Body{Data: []byte("b")}), request: get,
			want: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"},
		{name: "trickle", script: Do(Trickle{Data: []byte("abcde"), Piece: 2}), request: get,
			want: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n"},
		{name: "interim responses", script: Do(Interim{Status: 102}, Interim{Status: 103, Header: http.Header{"Link": {"</a>"}}}, Header{}), request: get,
			want: "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{name: "100-continue", script: Respond(200, ""),
			request: "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
			want:    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{name: "100-continue withheld", script: Do(ReadBody{Withhold: true}, Header{}),
			request: "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
			want:    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{name: "100-continue refused", script: Do(Header{Status: 417}), ends: true,
			request: "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
			want:    "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"},
		{name: "declared length too long", script: WrongLength(10, 4), request: get, ends: true,
			want: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n\x00\x01\x02\x03"},
		{name: "declared length too short", script: WrongLength(2, 4), request: get,
			want: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x00\x01\x02\x03"},
		{name: "both framings", request: get,
			script: Do(Header{Header: http.Header{"Content-Length": {"5"}, "Transfer-Encoding": {"chunked"}}}, Body{Data: []byte("12345")}),
			want:   "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n12345"},
		{name: "until close", script: Do(Header{Framing: UntilClose}, Body{Data: []byte("to the end")}), request: get, ends: true,
			want: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end"},
		{name: "until close, cut", script: Do(Header{Framing: UntilClose}, Body{Data: []byte("to the")}, Kill{FIN}), request: get, ends: true, cut: true,
			want: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the"},
		{name: "half header by count", script: Do(HalfHeader{Bytes: 12}, Kill{FIN}), request: get, ends: true, cut: true,
			want: "HTTP/1.1 200"},
		{name: "half header", script: KillInHeader(FIN), request: get, ends: true, cut: true,
			want: "HTTP/1.1 200 OK\r\nCo"},
		{name: "half body", script: KillInBody(10, FIN), request: get, ends: true, cut: true,
			want: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + string(Pattern(5))},
		{name: "bad status line", script: BadStatusLine(FIN), request: get, ends: true, cut: true,
			want: "THIS IS NOT HTTP\r\n\r\n"},
		{name: "raw", script: Do(Raw{Data: []byte("HTTP/1.1 200 OK\nContent-Length: 0\n\n")}), request: get,
			want: "HTTP/1.1 200 OK\nContent-Length: 0\n\n"},
		{name: "huge header", script: HugeHeader(100_000), request: get,
			want: "HTTP/1.1 200 OK\r\nX-Huge: " + strings.Repeat("a", 100_000) + "\r\nContent-Length: 0\r\n\r\n"},
		{name: "answer before the body is read", script: Early(413, FIN), ends: true, cut: true,
			request: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi",
			want:    "HTTP/1.1 413 Request Entity Too Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nearly"},
		{name: "answer before the body is read, connection kept", script: Do(Header{Status: 400}),
			request: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi",
			want:    "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
		{name: "HEAD", script: Respond(200, "hi"), request: "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
			want: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"},
		{name: "304", script: Respond(304, "ignored"), request: get, want: "HTTP/1.1 304 Not Modified\r\n\r\n"},
		{name: "HTTP/1.0", script: Respond(200, "hi"), request: "GET / HTTP/1.0\r\n\r\n", ends: true,
			want: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"},
		{name: "HTTP/1.0, length unknown", script: Do(Header{}, Body{Data: []byte("a")}, Flush{}, Body{Data: []byte("b")}), ends: true,
			request: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
			want:    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab"},
		{name: "echo", script: Do(Echo{}),
			request: "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
			want: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Fault-Conn: 1\r\nX-Fault-Request: 1\r\n" +
				"Content-Length: 4\r\n\r\nabcd"},
		{name: "waiting goes on with the default", script: Do(Delay{time.Hour}), request: get,
			want: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Fault-Conn: 1\r\nX-Fault-Request: 1\r\nContent-Length: 2\r\n\r\nok"},
		{name: "not HTTP", request: "what\r\n\r\n", ends: true,
			want: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
	}
	for _, p := range []Protocol{H1, TLS} {
		for _, row := range rows {
			t.Run(fmt.Sprint(p, " ", row.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := Start(t, Config{Protocol: p, Memory: true})
					s.Next(row.script)
					if !row.ends {
						s.Next(Do(Header{Status: 204}))
					}
					c := rawDial(t, s)
					c.sock.SetDeadline(time.Time{})
					c.send(row.request + follow)
					want := row.want
					if !row.ends {
						want += followAnswer
					}
					before, _ := c.sock.seen()
					got, err := c.rest()
					if err != nil {
						t.Errorf("the read ended with %v", err)
					}
					if got != want {
						t.Errorf("got  %.300q\nwant %.300q", got, want)
					}
					if p == TLS {
						after, sockErr := c.sock.seen()
						if notified := sockErr == nil; notified == row.cut {
							t.Errorf("after %d bytes of the socket its end was %v; cut is %v", after-before, sockErr, row.cut)
						}
					}
					n := 2
					if row.ends {
						n = 1
					}
					if strings.HasPrefix(row.request, "what") {
						n = 0
					}
					if st := s.Stats(); st.Requests != n || st.Opened != 1 {
						t.Errorf("%+v, want %d requests on one connection", st, n)
					}
				})
			})
		}
	}
}

func TestHTTP1RequestsAreRecorded(t *testing.T) {
	s := Start(t, Config{IDHeader: "My-Id"})
	c := rawDial(t, s)
	c.send("PUT /a/b?c=d HTTP/1.1\r\nHost: example.com\r\nMy-Id: 7\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" +
		"3\r\nabc\r\n0\r\nX-Sum: 9\r\n\r\n" + get)
	if resp := readResponse(t, c); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	if resp := readResponse(t, c); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	if err := s.WaitIdle(waiting(t), 1); err != nil {
		t.Fatal(err)
	}
	rs := s.Requests()
	if len(rs) != 2 {
		t.Fatalf("%d requests", len(rs))
	}
	r := rs[0]
	if r.Seq != 1 || r.OnConn != 1 || r.ID != "7" || r.Method != "PUT" || r.Path != "/a/b" || r.Query != "c=d" ||
		r.Host != "example.com" || r.BodyBytes != 3 || !r.BodyDone || !r.Processed || !r.Answered ||
		r.Trailer.Get("X-Sum") != "9" || r.Proto != "HTTP/1.1" || r.Stream != 0 {
		t.Errorf("the first record is %+v", r)
	}
	if r := rs[1]; r.Seq != 2 || r.OnConn != 2 || r.Conn != 1 || r.ID != "" || !r.BodyDone || r.Trailer != nil {
		t.Errorf("the second record is %+v", r)
	}
	if s.ProcessedTwice()["7"] != 0 {
		t.Error("7 was processed once")
	}
	c.send("GET / HTTP/1.1\r\nHost: x\r\nMy-Id: 7\r\n\r\n")
	readResponse(t, c)
	if s.ProcessedTwice()["7"] != 2 {
		t.Errorf("7 was processed twice, the server says %v", s.ProcessedTwice())
	}
}

func TestUnsolicitedBytesReachAParkedConnection(t *testing.T) {
	for _, p := range []Protocol{H1, TLS} {
		t.Run(p.String(), func(t *testing.T) {
			s := Start(t, Config{Protocol: p})
			a, b := park(t, s), park(t, s)
			s.Next(Do(Hang{}))
			b.send(get)
			if err := s.WaitRequests(waiting(t), 3); err != nil {
				t.Fatal(err)
			}
			const text = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"
			if n := s.WriteIdle([]byte(text)); n != 1 {
				t.Errorf("%d connections took it, want 1", n)
			}
			if got := a.read(len(text)); got != text {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTheGoneClientEndsAScriptThatWaits(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		for name, st := range map[string]Step{"Hang": Hang{}, "Delay": Delay{time.Hour}, "Wait": Wait{}, "BlackHole": BlackHole{}} {
			t.Run(name, func(t *testing.T) {
				s := Start(t, config)
				s.Next(Do(st))
				c := unshaken(t, s)
				c.send(firstRequest(config.Protocol))
				if err := s.WaitRequests(waiting(t), 1); err != nil {
					t.Fatal(err)
				}
				c.sock.Close()
				if err := s.WaitOpen(waiting(t), 0); err != nil {
					t.Fatal(err)
				}
				if r := s.Requests()[0]; r.Answered {
					t.Errorf("the record is %+v", r)
				}
			})
		}
	})
}

func TestAHalfClosedClientStillGetsItsAnswer(t *testing.T) {
	s := Start(t, Config{})
	c := rawDial(t, s)
	c.send(get)
	c.sock.Conn.(*countedConn).CloseWrite()
	if got, err := c.rest(); err != nil || !strings.HasSuffix(got, "ok") {
		t.Errorf("got %q, %v", got, err)
	}
}
