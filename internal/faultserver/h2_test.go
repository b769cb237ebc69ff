package faultserver

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// bubbleH2 runs f in a bubble with a server and a raw client, over TLS and
// without.
func bubbleH2(t *testing.T, config Config, f func(t *testing.T, s *Server, c *rawH2), settings ...http2.Setting) {
	for _, p := range []Protocol{H2, H2C} {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := config
				config.Protocol, config.Memory = p, true
				s := Start(t, config)
				c := rawDialH2(t, s, settings...)
				c.sock.SetDeadline(time.Time{})
				f(t, s, c)
			})
		})
	}
}

// Every row is the exact sequence of frames on stream 1, WINDOW_UPDATE left out.
func TestHTTP2AnswersAreExactToTheFrame(t *testing.T) {
	rows := []struct {
		name   string
		script Script
		method string
		body   string
		want   []string
		ends   string // how the read ends afterwards; "": the connection lives
	}{
		{name: "length known", script: Respond(503, "hi"),
			want: []string{"HEADERS 1 :status=503 content-length=2", `DATA 1 "hi" END`}},
		{name: "no body", script: Respond(204, ""), want: []string{"HEADERS 1 :status=204 END"}},
		{name: "length unknown", script: Do(Header{Framing: Chunked}, Body{Data: []byte("hi")}),
			want: []string{"HEADERS 1 :status=200", `DATA 1 "hi" END`}},
		{name: "connection fields are dropped", script: Do(Header{Header: http.Header{"Connection": {"close"}, "X": {"1"}}}),
			want: []string{"HEADERS 1 :status=200 content-length=0 x=1 END"}},
		{name: "trailers", script: Do(Header{}, Body{Data: []byte("hi")}, Trailer{http.Header{"X-Sum": {"7"}}}),
			want: []string{"HEADERS 1 :status=200", `DATA 1 "hi"`, "HEADERS 1 x-sum=7 END"}},
		{name: "trickle", script: Do(Trickle{Data: []byte("abcde"), Piece: 2, Every: time.Minute}),
			want: []string{"HEADERS 1 :status=200", `DATA 1 "ab"`, `DATA 1 "cd"`, `DATA 1 "e" END`}},
		{name: "interim responses", script: Do(Interim{Status: 103, Header: http.Header{"Link": {"</a>"}}}, Header{}),
			want: []string{"HEADERS 1 :status=103 link=</a>", "HEADERS 1 :status=200 content-length=0 END"}},
		{name: "HEAD", method: "HEAD", script: Respond(200, "hi"), want: []string{"HEADERS 1 :status=200 content-length=2 END"}},
		{name: "declared length too long", script: WrongLength(4, 2),
			want: []string{"HEADERS 1 :status=200 content-length=4", `DATA 1 "\x00\x01" END`}},
		{name: "declared length too short", script: WrongLength(1, 2),
			want: []string{"HEADERS 1 :status=200 content-length=1", `DATA 1 "\x00\x01" END`}},
		{name: "echo", method: "PUT", body: "abc", script: Do(Echo{}),
			want: []string{"HEADERS 1 :status=200 content-length=3 content-type=text/plain x-fault-conn=1 x-fault-request=1", `DATA 1 "abc" END`}},
		{name: "refused", script: RefuseStream(), want: []string{"RST_STREAM 1 REFUSED_STREAM"}},
		{name: "reset in the body", script: Do(Header{}, Body{Data: []byte("hi")}, Reset{http2.ErrCodeInternal}),
			want: []string{"HEADERS 1 :status=200", `DATA 1 "hi"`, "RST_STREAM 1 INTERNAL_ERROR"}},
		{name: "reset instead of an answer", method: "PUT", body: "abc", script: Do(Reset{http2.ErrCodeEnhanceYourCalm}),
			want: []string{"RST_STREAM 1 ENHANCE_YOUR_CALM"}},
		{name: "excluded by GOAWAY", script: RefuseByGoAway(), want: []string{`GOAWAY 0 NO_ERROR ""`}},
		{name: "GOAWAY, then the answer", script: Do(GoAway{Code: http2.ErrCodeNo}, Header{}),
			want: []string{`GOAWAY 1 NO_ERROR ""`, "HEADERS 1 :status=200 content-length=0 END"}},
		{name: "GOAWAY with an error, then FIN", script: Do(GoAway{Code: http2.ErrCodeProtocol, Debug: "no"}, Kill{FIN}),
			want: []string{`GOAWAY 1 PROTOCOL_ERROR "no"`}, ends: "error EOF"},
		{name: "two steps of a graceful end", script: Do(GoAway{Last: 1<<31 - 1}, GoAway{}, GoAway{Last: 9}, Header{}),
			want: []string{`GOAWAY 2147483647 NO_ERROR ""`, `GOAWAY 1 NO_ERROR ""`, `GOAWAY 1 NO_ERROR ""`, "HEADERS 1 :status=200 content-length=0 END"}},
		{name: "half header", script: KillInHeader(FIN), ends: "error unexpected EOF"},
		{name: "less than a frame header", script: Do(HalfHeader{Bytes: 5}, Kill{RST}), ends: "error connection reset by peer"},
		{name: "half body", script: KillInBody(10, RST),
			want: []string{"HEADERS 1 :status=200 content-length=10", `DATA 1 "\x00\x01\x02\x03\x04"`}, ends: "error connection reset by peer"},
		{name: "bad status", script: BadStatusLine(FIN), want: []string{"HEADERS 1 :status=abc"}, ends: "error EOF"},
		{name: "raw frames", script: Do(Raw{Data: []byte("\x00\x00\x08\x06\x00\x00\x00\x00\x00raw ping")}),
			want: []string{`PING ack=false "raw ping"`}},
		{name: "a body that is left unread", method: "POST", body: "...", script: Early(413, FIN),
			want: []string{"HEADERS 1 :status=413 content-length=5", `DATA 1 "early" END`, "RST_STREAM 1 NO_ERROR"}},
		{name: "a flush", script: Do(Header{}, Flush{}, Body{Data: []byte("x")}, Flush{}),
			want: []string{"HEADERS 1 :status=200", `DATA 1 "x"`, `DATA 1 "" END`}},
		{name: "a header in several frames", script: HugeHeader(40_000),
			want: []string{"HEADERS 1 :status=200 content-length=0 x-huge=" + strings.Repeat("a", 40_000) + " END"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			bubbleH2(t, Config{}, func(t *testing.T, s *Server, c *rawH2) {
				c.settle()
				s.Next(row.script)
				method := row.method
				if method == "" {
					method = "GET"
				}
				c.request(1, method, "/", row.body == "")
				if row.body == "..." {
					c.must(c.fr.WriteData(1, false, []byte("unfinished")))
				} else if row.body != "" {
					c.must(c.fr.WriteData(1, true, []byte(row.body)))
				}
				c.expect(row.want...)
				if row.ends != "" {
					c.expect(row.ends)
					return
				}
				c.must(c.fr.WritePing(false, [8]byte{'a', 'l', 'i', 'v', 'e'}))
				c.expect(`PING ack=true "alive\x00\x00\x00"`)
				synctest.Wait()
				if st := s.Stats(); st.Idle != 1 || st.Requests != 1 {
					t.Errorf("afterwards: %+v", st)
				}
			})
		})
	}
}

func TestARefusedStreamIsNeverProcessed(t *testing.T) {
	for name, sc := range map[string]Script{
		"REFUSED_STREAM":                Do(Delay{time.Second}, Reset{http2.ErrCodeRefusedStream}),
		"GOAWAY":                        RefuseByGoAway(),
		"GOAWAY after waiting":          Do(Delay{time.Second}, GoAway{Refuse: true}),
		"the settings' stream limit":    Respond(200, ""),
		"another code counts as a deed": Do(Reset{http2.ErrCodeCancel}),
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{}
			limited := strings.Contains(name, "limit")
			if limited {
				config.Settings.MaxConcurrentStreams = 1
			}
			bubbleH2(t, config, func(t *testing.T, s *Server, c *rawH2) {
				id := uint32(1)
				if limited {
					// The limit holds once it was acknowledged.
					go c.next()
					synctest.Wait()
					s.Next(Do(Hang{}))
					c.request(1, "POST", "/", true)
					id = 3
				} else {
					s.Next(sc)
				}
				c.request(id, "POST", "/", true, "x-request-id", "me")
				r, err := s.WaitRequest(waiting(t), func(r Request) bool { return r.ID == "me" })
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute)
				r = s.Requests()[r.Seq-1]
				if want := strings.Contains(name, "deed"); r.Processed != want || r.Answered {
					t.Errorf("the record is %+v, want Processed %v", r, want)
				}
				c.sock.Close()
			})
		})
	}
}

// The end of a response makes room for the next stream before the client can
// ask for it.
func TestAStreamAtTheLimitMayFollowTheEndOfTheOneBefore(t *testing.T) {
	s := Start(t, Config{Protocol: H2C, Settings: Settings{MaxConcurrentStreams: 1}})
	client := &http.Client{Transport: s.ClientTransport()}
	const n = 2000
	for range n {
		resp, err := client.Get(s.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if st := s.Stats(); st.Requests != n || st.Opened != 1 {
		t.Errorf("%d requests on %d connections, want %d on 1: some were refused", st.Requests, st.Opened, n)
	}
}

func TestStreamsAboveTheLastOfGoAwayAreIgnored(t *testing.T) {
	bubbleH2(t, Config{}, func(t *testing.T, s *Server, c *rawH2) {
		gate := make(chan struct{})
		s.Next(Do(Wait{gate}, Header{Status: 201}))
		c.request(1, "GET", "/", true)
		synctest.Wait()
		if n := s.GoAway(http2.ErrCodeNo); n != 1 {
			t.Fatalf("GOAWAY went to %d connections", n)
		}
		c.expect(`GOAWAY 1 NO_ERROR ""`)
		c.request(3, "POST", "/", false)
		c.must(c.fr.WriteData(3, true, []byte("lost")))
		close(gate)
		c.expect("HEADERS 1 :status=201 content-length=0 END")
		c.must(c.fr.WritePing(false, [8]byte{}))
		c.expect(`PING ack=true "\x00\x00\x00\x00\x00\x00\x00\x00"`)
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%d requests are recorded, want 1", n)
		}
	})
}

func TestTheServerKeepsToTheClientsWindowsAndFrameSize(t *testing.T) {
	settings := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}
	bubbleH2(t, Config{}, func(t *testing.T, s *Server, c *rawH2) {
		s.Next(Do(Header{Framing: Chunked}, Body{Size: 40_000}))
		c.request(1, "GET", "/", true)
		c.expect("HEADERS 1 :status=200", fmt.Sprintf("DATA 1 %q", Pattern(10)))
		// A change of the initial window moves open streams, even below 0.
		c.must(c.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3}))
		c.must(c.fr.WriteWindowUpdate(1, 8))
		c.expect(`DATA 1 "\n"`)
		c.must(c.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 20_000}))
		c.must(c.fr.WriteWindowUpdate(1, 1<<20))
		want := Pattern(40_000)[11:]
		tail := len(want) - holdTail // what is held back for END_STREAM
		c.expect(fmt.Sprintf("DATA 1 %q", want[:20_000]), fmt.Sprintf("DATA 1 %q", want[20_000:tail]), fmt.Sprintf("DATA 1 %q END", want[tail:]))
		// The connection's window is its own: 65535 - 40000 are left.
		s.Next(Do(Header{}, Body{Size: 30_000}))
		c.must(c.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
		c.request(3, "GET", "/", true)
		c.expect("HEADERS 3 :status=200 content-length=30000")
		c.expect(fmt.Sprintf("DATA 3 %q", Pattern(30_000)[:20_000]), fmt.Sprintf("DATA 3 %q", Pattern(30_000)[20_000:25_535]))
		c.must(c.fr.WriteWindowUpdate(0, 1<<20))
		c.expect(fmt.Sprintf("DATA 3 %q END", Pattern(30_000)[25_535:]))
	}, settings)
}

func TestAStreamsWindowIsGivenBackAsItsScriptReads(t *testing.T) {
	bubbleH2(t, Config{Settings: Settings{InitialWindowSize: 100}}, func(t *testing.T, s *Server, c *rawH2) {
		gate := make(chan struct{})
		s.Next(Do(Wait{gate}, ReadBody{Bytes: 60}, Header{}))
		c.request(1, "PUT", "/", false)
		c.must(c.fr.WriteDataPadded(1, false, Pattern(80), make([]byte, 19))) // 100 with the length of the padding
		var got []string
		frames := func() {
			for {
				f, err := c.fr.ReadFrame()
				if err != nil {
					return
				}
				if w, ok := f.(*http2.WindowUpdateFrame); ok {
					got = append(got, fmt.Sprint(w.StreamID, ":", w.Increment))
				}
			}
		}
		go frames()
		synctest.Wait()
		if want := "[0:100 1:20]"; fmt.Sprint(got) != want {
			t.Errorf("unread: window updates %v, want %v: the connection's and the padding", got, want)
		}
		close(gate)
		synctest.Wait()
		if want := "[0:100 1:20 1:60]"; fmt.Sprint(got) != want {
			t.Errorf("after 60 bytes were read: window updates %v, want %v", got, want)
		}
		c.sock.Close()
	})
}

func TestAClientThatOverrunsAWindowIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Protocol: H2C, Memory: true, Settings: Settings{InitialWindowSize: 100}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := rawDialH2(t, s)
		c.sock.SetDeadline(time.Time{})
		go func() {
			for c.next() != "error EOF" {
			}
		}()
		synctest.Wait()
		s.Next(Do(Hang{}))
		c.request(1, "PUT", "/", false)
		c.must(c.fr.WriteData(1, false, Pattern(101)))
		synctest.Wait()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "connection 1 overran") {
			t.Errorf("Err is %v", err)
		}
		c.sock.Close()
	})
}

func TestSettingsCanBeWithheldAndPingsIgnored(t *testing.T) {
	bubbleH2(t, Config{Settings: Settings{Withhold: true, IgnorePings: true}}, func(t *testing.T, s *Server, c *rawH2) {
		c.must(c.fr.WritePing(false, [8]byte{}))
		s.Next(Do(Header{}))
		c.request(1, "GET", "/", true)
		f, err := c.fr.ReadFrame()
		if ack, ok := f.(*http2.SettingsFrame); err != nil || !ok || !ack.IsAck() {
			t.Fatalf("the first frame is %v, %v; want the acknowledgement of ours", f, err)
		}
		c.expect("HEADERS 1 :status=200 content-length=0 END")
		if got := s.Conns()[0].Pings; got != 1 {
			t.Errorf("%d PINGs are counted", got)
		}
	})
}

func TestAConnectionsSettingsAreThoseOfItsScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Start(t, Config{Protocol: H2C, Memory: true})
		s.NextConn(Do(Settings{MaxConcurrentStreams: 7, InitialWindowSize: 8, MaxFrameSize: 20_000}))
		s.Next(Do(Settings{MaxConcurrentStreams: 9}, Header{}))
		c := rawDialH2(t, s)
		c.request(1, "GET", "/", true)
		var got []string
		for len(got) < 2 {
			f, err := c.fr.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if set, ok := f.(*http2.SettingsFrame); ok && !set.IsAck() {
				line := ""
				set.ForeachSetting(func(s http2.Setting) error { line += fmt.Sprint(s.ID, "=", s.Val, " "); return nil })
				got = append(got, line)
			}
		}
		want := []string{
			"MAX_CONCURRENT_STREAMS=7 INITIAL_WINDOW_SIZE=8 MAX_FRAME_SIZE=20000 ",
			"MAX_CONCURRENT_STREAMS=9 INITIAL_WINDOW_SIZE=65535 MAX_FRAME_SIZE=16384 ",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("settings are\n%q, want\n%q", got, want)
		}
	})
}

func TestHTTP2RequestsAreRecorded(t *testing.T) {
	bubbleH2(t, Config{}, func(t *testing.T, s *Server, c *rawH2) {
		s.Next(Do(ReadBody{}, Header{}), Do(Hang{}))
		c.request(1, "PUT", "/a?b=c", false, "x-request-id", "1", "cookie", "a=1", "cookie", "b=2")
		c.must(c.fr.WriteData(1, false, []byte("abc")))
		c.hbuf.Reset()
		c.hbuf.WriteString("\x00\x05x-sum\x017")
		c.must(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.hbuf.Bytes(), EndHeaders: true, EndStream: true}))
		c.expect("HEADERS 1 :status=200 content-length=0 END")
		c.request(3, "GET", "/hang", true)
		synctest.Wait()
		c.must(c.fr.WriteRSTStream(3, http2.ErrCodeCancel))
		c.must(c.fr.WriteGoAway(0, http2.ErrCodeNo, nil))
		synctest.Wait()
		rs := s.Requests()
		if len(rs) != 2 {
			t.Fatalf("%d requests", len(rs))
		}
		r := rs[0]
		if r.Stream != 1 || r.Proto != "HTTP/2.0" || r.ID != "1" || r.Method != "PUT" || r.Path != "/a" || r.Query != "b=c" ||
			r.Host != "mem.test" || r.BodyBytes != 3 || !r.BodyDone || r.Trailer.Get("X-Sum") != "7" || !r.Processed ||
			!r.Answered || r.Header.Get("Cookie") != "a=1; b=2" {
			t.Errorf("the first record is %+v", r)
		}
		if r := rs[1]; !r.Canceled || r.Answered || r.OnConn != 2 {
			t.Errorf("the second record is %+v", r)
		}
		if info := s.Conns()[0]; !info.GoAway || !info.Idle || info.Requests != 2 || info.Proto != "HTTP/2.0" {
			t.Errorf("the connection is %+v", info)
		}
		c.sock.Close()
	})
}

func TestServersOfHTTP2StillSpeakHTTP1(t *testing.T) {
	for _, p := range []Protocol{H2, H2C} {
		t.Run(p.String(), func(t *testing.T) {
			s := Start(t, Config{Protocol: p})
			tr := s.ClientTransport()
			tr.Protocols = new(http.Protocols)
			tr.Protocols.SetHTTP1(true)
			tr.ForceAttemptHTTP2 = false
			resp, body, err := do(t, tr, "POST", s.URL(), Pattern(100_000))
			if err != nil {
				t.Fatal(err)
			}
			if resp.ProtoMajor != 1 || !bytes.Equal(body, Pattern(100_000)) {
				t.Errorf("HTTP/%d, %d bytes", resp.ProtoMajor, len(body))
			}
		})
	}
}
