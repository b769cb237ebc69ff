package faultserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestAHandlerAnswersAsOnNetHTTP(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"/plain": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>plain") },
		"/empty": func(w http.ResponseWriter, r *http.Request) {},
		"/status": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK) // too late
		},
		"/early-hints": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusCreated)
		},
		"/trailers": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Declared")
			io.WriteString(w, "body")
			w.Header().Set("X-Declared", "1")
			w.Header().Set(http.TrailerPrefix+"X-Late", "2")
		},
		"/flush": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "a")
			if err := http.NewResponseController(w).Flush(); err != nil {
				panic(err)
			}
			io.WriteString(w, "b")
		},
		"/body": func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			fmt.Fprint(w, len(b), err, r.ContentLength)
			r.Body.Close()
			if _, err := r.Body.Read(b); err != http.ErrBodyReadAfterClose {
				panic(err)
			}
		},
		"/unread": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "not read") },
		"/large":  func(w http.ResponseWriter, r *http.Request) { w.Write(Pattern(300_000)) },
		"/length": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "3")
			io.WriteString(w, "abc")
		},
		"/not-modified": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) },
	}
	want := map[string]string{
		"/plain": `200 "<html>plain" length 11 type text/html; charset=utf-8`, "/empty": `200 "" length 0`,
		"/status": `418 "" length 0`, "/early-hints": `[103 </a>]201 "" length 0`,
		"/trailers": `200 "body" length -1 type text/plain; charset=utf-8 trailers 1 2`,
		"/flush":    `200 "ab" length -1 type text/plain; charset=utf-8`,
		"/body":     `200 "100000 <nil> 100000" length 19 type text/plain; charset=utf-8`,
		"/unread":   `200 "not read" length 8 type text/plain; charset=utf-8`,
		"/large":    "200 300000 bytes length -1 type application/octet-stream", "/length": `200 "abc" length 3 type text/plain; charset=utf-8`,
		"/not-modified": `304 "" length 0`,
	}
	forEach(t, func(t *testing.T, config Config) {
		config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handlers[r.URL.Path](w, r) })
		s := Start(t, config)
		tr := s.ClientTransport()
		for path := range handlers {
			got := ""
			ctx := httptrace.WithClientTrace(waiting(t), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
					got += fmt.Sprintf("[%d %s]", code, h.Get("Link"))
					return nil
				},
			})
			var body io.Reader
			if path == "/body" {
				body = bytes.NewReader(Pattern(100_000))
			}
			req, _ := http.NewRequestWithContext(ctx, "POST", s.URL(path), body)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			text := fmt.Sprintf("%q", b)
			if bytes.Equal(b, Pattern(300_000)) {
				text = "300000 bytes"
			}
			got += fmt.Sprintf("%d %s length %d", resp.StatusCode, text, resp.ContentLength)
			if ct := resp.Header.Get("Content-Type"); ct != "" {
				got += " type " + ct
			}
			if len(resp.Trailer) > 0 {
				got += " trailers " + resp.Trailer.Get("X-Declared") + " " + resp.Trailer.Get("X-Late")
			}
			if got != want[path] {
				t.Errorf("%s:\ngot  %s\nwant %s", path, got, want[path])
			}
		}
	})
}

func TestAPanickingHandlerEndsItsStreamAndIsReported(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/abort" {
				panic(http.ErrAbortHandler)
			}
			panic("boom")
		})
		s, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, _, err := do(t, s.ClientTransport(), "POST", s.URL("/abort"), nil); err == nil {
			t.Error("an aborted call succeeded")
		}
		if err := s.Err(); err != nil {
			t.Errorf("ErrAbortHandler is reported: %v", err)
		}
		if _, _, err := do(t, s.ClientTransport(), "POST", s.URL("/x"), nil); err == nil {
			t.Error("a call whose handler panicked succeeded")
		}
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "the handler of /x panicked: boom") {
			t.Errorf("Err is %v", err)
		}
	})
}

func TestAHandlersContextEndsWithItsClient(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		ended := make(chan struct{})
		config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			close(ended)
		})
		s := Start(t, config)
		ctx, cancel := context.WithCancel(waiting(t))
		req, _ := http.NewRequestWithContext(ctx, "GET", s.URL(), nil)
		go func() {
			s.WaitRequests(ctx, 1)
			cancel()
		}()
		if _, err := s.ClientTransport().RoundTrip(req); err == nil {
			t.Error("the canceled call succeeded")
		}
		select {
		case <-ended:
		case <-waiting(t).Done():
			t.Error("the handler's context did not end")
		}
	})
}

func TestBothDirectionsOfAStreamFlowAtOnce(t *testing.T) {
	for _, p := range []Protocol{H2, H2C} {
		t.Run(p.String(), func(t *testing.T) {
			s := Start(t, Config{Protocol: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.(http.Flusher).Flush()
				buf := make([]byte, 1)
				for {
					if _, err := io.ReadFull(r.Body, buf); err != nil {
						return
					}
					w.Write(slices.Concat(buf, []byte{'!'}))
					w.(http.Flusher).Flush()
				}
			})})
			pr, pw := io.Pipe()
			req, _ := http.NewRequestWithContext(waiting(t), "POST", s.URL(), pr)
			resp, err := s.ClientTransport().RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range "abc" {
				io.WriteString(pw, string(c))
				buf := make([]byte, 2)
				if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != string(c)+"!" {
					t.Fatalf("got %q, %v", buf, err)
				}
			}
			pw.Close()
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
				t.Errorf("the end is %q, %v", rest, err)
			}
		})
	}
}

func TestAnUpgradedConnectionEndsAsItWasTold(t *testing.T) {
	for _, p := range []Protocol{H1, TLS} {
		for _, how := range Hows(p) {
			t.Run(fmt.Sprint(p, " ", how), func(t *testing.T) {
				s := Start(t, Config{Protocol: p, Handler: upgrade{}})
				c := rawDial(t, s)
				c.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst;")
				want := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst;"
				if got := c.read(len(want)); got != want {
					t.Fatalf("got %q", got)
				}
				c.send("second;")
				if got := c.read(7); got != "second;" {
					t.Fatalf("got %q", got)
				}
				if n := s.KillIdle(how); n != 0 {
					t.Errorf("KillIdle took the upgraded connection")
				}
				if n := s.KillAll(how); n != 1 {
					t.Errorf("KillAll took %d", n)
				}
				c.expectEnd(how)
			})
		}
	}
}

// upgrade switches to an echo of bytes until "bye;".
type upgrade struct{}

func (upgrade) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nc, brw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer nc.Close()
	io.WriteString(brw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	brw.Flush()
	for {
		word, err := brw.ReadString(';')
		if err != nil || word == "bye;" {
			return
		}
		brw.WriteString(word)
		brw.Flush()
	}
}

func TestTheTakerOfAnUpgradedConnectionCanCloseIt(t *testing.T) {
	for _, p := range []Protocol{H1, TLS} {
		t.Run(p.String(), func(t *testing.T) {
			s := Start(t, Config{Protocol: p, Handler: upgrade{}})
			req, _ := http.NewRequestWithContext(waiting(t), "GET", s.URL(), nil)
			req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}}
			resp, err := s.ClientTransport().RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != 101 {
				t.Fatal(resp.Status)
			}
			io.WriteString(resp.Body.(io.Writer), "hello;bye;")
			if got, err := io.ReadAll(resp.Body); string(got) != "hello;" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			resp.Body.Close()
			if err := s.WaitOpen(waiting(t), 0); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAServerIsAProxy(t *testing.T) {
	for _, via := range []Protocol{H1, TLS} {
		for _, p := range Protocols() {
			if p == H2C {
				continue // no client speaks it through a proxy
			}
			t.Run(fmt.Sprint(p, " through ", via), func(t *testing.T) {
				ca := NewCA()
				target := Start(t, Config{Protocol: p, CA: ca})
				proxy := Start(t, Config{Protocol: via, CA: ca, Handler: &Proxy{Authorization: "Basic dTpw"}})
				tr := target.ClientTransport()
				if tr.TLSClientConfig == nil {
					tr.TLSClientConfig = proxy.ClientTLS()
				}
				if p == H2 {
					tr.Protocols.SetHTTP1(true) // for the proxy itself
				}
				u, _ := url.Parse(proxy.URL())
				tr.Proxy = http.ProxyURL(u)
				if _, _, err := do(t, tr, "GET", target.URL("/"), nil); p != H1 && (err == nil || !strings.Contains(err.Error(), "Proxy Authentication Required")) {
					t.Errorf("without a password: %v", err)
				}
				u.User = url.UserPassword("u", "p")
				resp, body, err := do(t, tr, "PUT", target.URL("/x"), Pattern(200_000))
				if err != nil || resp.StatusCode != 200 || !bytes.Equal(body, Pattern(200_000)) {
					t.Fatalf("%v, %d bytes", err, len(body))
				}
				if r := target.Requests()[0]; r.Proto != resp.Proto || p == H2 && resp.ProtoMajor != 2 || r.Path != "/x" || r.BodyBytes != 200_000 {
					t.Errorf("the target saw %+v", r)
				}
				first := proxy.Requests()[0]
				if p == H1 && first.Method != "GET" || p != H1 && (first.Method != "CONNECT" || first.Path != target.Addr()) {
					t.Errorf("the proxy saw %+v", first)
				}
				tr.CloseIdleConnections()
				if err := target.WaitOpen(waiting(t), 0); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
