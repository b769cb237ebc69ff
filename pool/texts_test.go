package pool

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// line is a client connection of net/http, without the pool.
type line struct {
	*testing.T
	srv *faultserver.Server
	cc  *http.ClientConn
}

func (l *line) request(ctx context.Context, body io.Reader) *http.Request {
	req, err := http.NewRequestWithContext(ctx, "POST", l.srv.URL("/"), body)
	if err != nil {
		l.Fatal(err)
	}
	return req
}

// send answers a request with script and returns the error, of its body where
// the response came.
func (l *line) send(script faultserver.Script) error {
	l.srv.Next(script)
	resp, err := l.cc.RoundTrip(l.request(l.Context(), nil))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// sendDead sends a request on a connection that is known to be dead after n
// requests.
func (l *line) sendDead(n int) error {
	for range n {
		if err := l.send(faultserver.Script{}); err != nil {
			l.Fatal(err)
		}
	}
	synctest.Wait()
	l.srv.KillAll(faultserver.FIN)
	synctest.Wait()
	return l.send(faultserver.Script{})
}

// The texts of net/http that the pool knows: each is what net/http says today.
// If one of these fails after an update of Go, the constant has to follow, or
// can go where net/http exports the error by then.
var texts = map[string]saying{
	"textServerClosedIdle": {on: faultserver.H1, provoke: func(l *line) error { return l.sendDead(1) }},
	"textUnusable":         {on: faultserver.H2, provoke: func(l *line) error { return l.sendDead(1) }},
	"textNotEstablished":   {on: faultserver.H2, provoke: func(l *line) error { return l.sendDead(0) }},
	"textForceClosed": {on: faultserver.H2, provoke: func(l *line) error {
		time.AfterFunc(time.Second, func() { l.cc.Close() })
		return l.send(faultserver.Do(faultserver.Hang{}))
	}},
	"textClientConnClosed": {on: faultserver.H1, provoke: func(l *line) error {
		l.cc.Close()
		return l.send(faultserver.Script{})
	}},
	"textConnLost": {on: faultserver.H2, provoke: func(l *line) error {
		return l.send(faultserver.Do(faultserver.BlackHole{}))
	}},
	"textReadFromServer": {on: faultserver.H1, prefix: true, provoke: func(l *line) error {
		return l.send(faultserver.KillAfterReading(faultserver.FIN))
	}},
	"textGracefulGoAway": {on: faultserver.H2, provoke: func(l *line) error { return l.send(faultserver.RefuseByGoAway()) }},
	"textGoAwayCode": {on: faultserver.H2, prefix: true, provoke: func(l *line) error {
		return l.send(faultserver.Do(faultserver.GoAway{Code: http2.ErrCodeInternal, Refuse: true}))
	}},
	"textGoAwayClosed": {on: faultserver.H2, prefix: true, provoke: func(l *line) error {
		return l.send(faultserver.Do(faultserver.GoAway{}, faultserver.Kill{How: faultserver.FIN}))
	}},
	"textH2ConnError": {on: faultserver.H2, prefix: true, provoke: func(l *line) error {
		return l.send(faultserver.Do(faultserver.Raw{Data: []byte{0, 0, 1, 0, 0, 0, 0, 0, 0, 'x'}}, faultserver.Hang{}))
	}},
	"textMalformed": {on: faultserver.H1, prefix: true, provoke: func(l *line) error {
		return l.send(faultserver.BadStatusLine(faultserver.FIN))
	}},
	"textFromPeer": {on: faultserver.H2, provoke: func(l *line) error {
		err := l.send(faultserver.Do(faultserver.Reset{Code: http2.ErrCodeInternal}))
		var se streamError
		if !errors.As(err, &se) {
			return err
		}
		return se.Cause
	}},
	"textFrameTooLarge": {on: faultserver.H2, provoke: func(l *line) error {
		return l.send(faultserver.Do(faultserver.Raw{Data: []byte("HTTP/1.1 400 Bad Request\r\n\r\n")}, faultserver.Hang{}))
	}},
	"textChunkLength":    chunks("x\r\n"),
	"textChunkNoLength":  chunks(";x=y\r\n"),
	"textChunkTooLarge":  chunks("12345678901234567\r\n"),
	"textChunkLF":        chunks("1\nx\r\n"),
	"textChunkCR":        chunks("1;\rx\r\nx\r\n"),
	"textChunkExcess":    chunks(strings.Repeat("1;"+strings.Repeat("x", 1000)+"\r\nx\r\n", 50)),
	"textTrailerEOF":     chunks("0\r\n"),
	"textTrailerTooLong": chunks("0\r\nX-Trailer: cut"),
	"textRequestCanceled": {on: faultserver.H2, provoke: func(l *line) error {
		end := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(end) })
		l.srv.Next(faultserver.Do(faultserver.Hang{}))
		req := l.request(l.Context(), nil)
		req.Cancel = end //nolint:staticcheck // http.Client.Timeout uses it
		_, err := l.cc.RoundTrip(req)
		return err
	}},
}

// saying is how to make net/http say a text.
type saying struct {
	on      faultserver.Protocol
	prefix  bool // the text is only the begin of the error's
	provoke func(*line) error
}

// chunks answers with a chunked body as it is, and ends the connection.
func chunks(body string) saying {
	return saying{on: faultserver.H1, provoke: func(l *line) error {
		return l.send(faultserver.Do(faultserver.ReadBody{},
			faultserver.Raw{Data: []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)}, faultserver.Kill{How: faultserver.FIN}))
	}}
}

func TestTheTextsOfNetHTTPAreWhatItSays(t *testing.T) {
	consts := textConstants(t)
	for name := range texts {
		if _, ok := consts[name]; !ok {
			t.Errorf("there is no constant %s any more: its row can go", name)
		}
	}
	for name, text := range consts {
		t.Run(name, func(t *testing.T) {
			row, ok := texts[name]
			if !ok {
				t.Fatalf("no row provokes %q: nothing shows that net/http says it", text)
			}
			synctest.Test(t, func(t *testing.T) {
				l := newLine(t, row.on)
				err := row.provoke(l)
				if !saysText(err, text, row.prefix) {
					t.Errorf("net/http says %q, not %q", err, text)
				}
			})
		})
	}
}

func newLine(t *testing.T, p faultserver.Protocol) *line {
	srv := faultserver.Start(t, faultserver.Config{Protocol: p, Memory: true})
	b := srv.ClientTransport()
	b.HTTP2 = &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 10 * time.Second}
	scheme, _, _ := strings.Cut(srv.URL(), ":")
	cc, err := b.NewClientConn(t.Context(), scheme, srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return &line{t, srv, cc}
}

// saysText reports whether an error in err's chain has the text.
func saysText(err error, text string, prefix bool) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if s := err.Error(); s == text || prefix && strings.HasPrefix(s, text) && len(s) > len(text) {
			return true
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				if saysText(e, text, prefix) {
					return true
				}
			}
		}
	}
	return false
}

// textConstants returns the constants of the package that hold texts of
// errors, by name.
func textConstants(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "classify.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	consts := map[string]string{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, name := range v.Names {
				if !strings.HasPrefix(name.Name, "text") {
					continue
				}
				text, err := strconv.Unquote(v.Values[i].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatalf("%s is no string: %v", name.Name, err)
				}
				consts[name.Name] = text
			}
		}
	}
	if len(consts) < 5 {
		t.Fatalf("found only %v", consts)
	}
	return consts
}

// What a URL that was put together by hand has in its Host is not shown.
func TestAHostThatIsNoneIsRefusedUnseen(t *testing.T) {
	var asked int
	tr, err := New(Config{Hooks: &events.Hooks{
		ConnOpened: func(context.Context, events.ConnOpened) { asked++ },
		ConnClosed: func(context.Context, events.ConnClosed) { asked++ },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, host := range []string{"user:s3cret@127.0.0.1:1", "127.0.0.1:1?key=s3cret", "127.0.0.1:1#s3cret"} {
		_, err := tr.RoundTrip(&http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: host, Path: "/"}, Header: http.Header{}}) //nolint:bodyclose // there is none
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "pool: Request.URL.Host") {
			t.Errorf("%q: error %v", host, err)
		}
	}
	if asked != 0 || len(tr.Stats().Origins) != 0 {
		t.Errorf("%d connection events, %+v", asked, tr.Stats())
	}
}
