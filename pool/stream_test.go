package pool

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// switching answers 101 and echoes what the client sends, until it ends.
func switching() faultserver.Script {
	return faultserver.Do(faultserver.Handle{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		nc, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer nc.Close()
		io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		io.Copy(nc, buf)
	})})
}

func (w *world) upgrade() io.ReadWriteCloser {
	w.Helper()
	req := w.request(w.Context(), "GET", "/upgrade", "")
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	w.srv.Next(switching())
	resp, err := w.pool.RoundTrip(req)
	if err != nil {
		w.Fatal(err)
	}
	rwc, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		w.Fatalf("status %d, body %T", resp.StatusCode, resp.Body)
	}
	return rwc
}

func TestAnUpgradedConnectionKeepsItsSlotUntilItIsClosed(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.TLS, faultserver.H2} {
		inWorld(t, faultserver.Config{Protocol: p}, func(b *http.Transport, _ *Config) {
			b.MaxConnsPerHost = 1
			b.Protocols = nil
			b.ForceAttemptHTTP2 = true
		}, func(w *world) {
			rwc := w.upgrade()
			next := w.async(w.request(w.Context(), "GET", "/x", ""))
			if !next.pending() {
				t.Fatalf("%v: the slot was given away", p)
			}
			if s := w.pool.Stats(); s.Open != 1 || s.Requests != 1 || s.Waiting != 1 {
				t.Errorf("%v: %+v", p, s)
			}
			io.WriteString(rwc, "ping\n")
			if line, err := bufio.NewReader(rwc).ReadString('\n'); line != "ping\n" || err != nil {
				t.Errorf("%v: %q, %v", p, line, err)
			}
			if err := rwc.Close(); err != nil {
				t.Errorf("%v: %v", p, err)
			}
			rwc.Close() // once more does no harm
			w.wantOK(next)
			if c := of[events.ConnClosed](w.log); len(c) != 1 || c[0].Cause != events.ConnUpgraded {
				t.Errorf("%v: closed %+v", p, c)
			}
			if n := w.srv.Sockets().MaxOpen(); n != 1 {
				t.Errorf("%v: %d sockets at once", p, n)
			}
		})
	}
}

func TestAnUpgradedStreamCanEndItsWritingHalf(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		rwc := w.upgrade()
		io.WriteString(rwc, "all")
		if err := rwc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(rwc); string(b) != "all" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		rwc.Close()
	})
}

func TestCloseEndsUpgradedStreams(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		rwc := w.upgrade()
		w.pool.Close()
		if _, err := rwc.Read(make([]byte, 1)); err == nil {
			t.Error("it goes on")
		}
		rwc.Close()
	})
}

func TestAResetOfAnUpgradedTLSStreamIsATLSTransportError(t *testing.T) {
	for _, how := range []faultserver.How{faultserver.RST, faultserver.FIN} {
		inWorld(t, faultserver.Config{Protocol: faultserver.TLS}, nil, func(w *world) {
			rwc := w.upgrade()
			synctest.Wait()
			w.srv.KillAll(how)
			_, err := io.ReadAll(rwc)
			var te *TLSTransportError
			if !errors.As(err, &te) || te.Op != OpStream || te.Truncated != (how == faultserver.FIN) {
				t.Errorf("%v: got %v", how, err)
			}
			rwc.Close()
		})
	}
}

// tunnel answers CONNECT and echoes.
func tunnel() faultserver.Script {
	return faultserver.Do(faultserver.Handle{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		nc, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer nc.Close()
		io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n")
		io.Copy(nc, buf)
	})})
}

func TestATunnelOpenedByCONNECTEndsItsConnection(t *testing.T) {
	inWorld(t, faultserver.Config{}, oneConn, func(w *world) {
		w.srv.Next(tunnel())
		pr, pw := io.Pipe()
		req := w.request(w.Context(), "CONNECT", "", "")
		req.Body = pr
		resp, err := w.pool.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		go io.WriteString(pw, "ping\n")
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "ping\n" || err != nil {
			t.Errorf("%q, %v", line, err)
		}
		resp.Body.Close()
		pw.Close()
		synctest.Wait()
		if c := of[events.ConnClosed](w.log); len(c) != 1 || c[0].Cause != events.ConnUpgraded {
			t.Errorf("closed %+v", c)
		}
		w.mustDo("GET", "/x", "")
	})
}
