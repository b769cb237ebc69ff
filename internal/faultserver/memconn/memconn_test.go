package memconn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"
)

func TestPipesAreConnectionsAsThePackageNetMeansThem(t *testing.T) {
	for _, size := range []int{0, 1000} {
		t.Run(fmt.Sprintf("buffers of %d bytes", size), func(t *testing.T) {
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
				a, b := Pipe(size)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
	}
}

// resettable is what both kinds of connection offer to the comparison below.
type resettable interface {
	net.Conn
	CloseWrite() error
}

func tcpPair(t *testing.T) (client, server resettable) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func reset(c resettable) {
	switch c := c.(type) {
	case *net.TCPConn:
		c.SetLinger(0)
		c.Close()
	case *Conn:
		c.Reset()
	}
}

// told reduces an error to what callers can ask it.
func told(err error) string {
	for _, known := range []error{io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.EPIPE, syscall.ENOTCONN} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprint(err)
}

// Every row is played on loopback TCP and in memory; the logs must be equal.
func TestAConnectionInMemoryFailsAsTCPDoes(t *testing.T) {
	read := func(c net.Conn) string {
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		var buf [16]byte
		n, err := c.Read(buf[:])
		return fmt.Sprintf("read %q %s", buf[:n], told(err))
	}
	write := func(c net.Conn) string {
		n, err := c.Write([]byte("xyz"))
		return fmt.Sprintf("write %d %s", n, told(err))
	}
	rows := []struct {
		name string
		play func(c, s resettable) []string
	}{
		{"data, then FIN", func(c, s resettable) []string {
			write(s)
			s.Close()
			return []string{read(c), read(c), read(c)}
		}},
		{"half-close leaves the other direction open", func(c, s resettable) []string {
			s.CloseWrite()
			return []string{read(c), write(c), read(s), write(s)}
		}},
		{"reset of an idle connection, read first", func(c, s resettable) []string {
			reset(s)
			return []string{read(c), read(c), write(c)}
		}},
		{"data, then reset", func(c, s resettable) []string {
			write(s)
			reset(s)
			return []string{read(c), read(c), read(c), write(c)}
		}},
		{"write to a peer that has closed", func(c, s resettable) []string {
			s.Close()
			first := read(c)
			return []string{first, write(c), read(c)}
		}},
		{"close with unread bytes is a reset", func(c, s resettable) []string {
			write(c)
			read1 := make([]byte, 1)
			io.ReadFull(s, read1)
			s.Close()
			return []string{read(c), read(c), write(c)}
		}},
		{"own close", func(c, s resettable) []string {
			c.Close()
			return []string{read(c), write(c), told(c.Close()), read(s)}
		}},
		{"write after CloseWrite", func(c, s resettable) []string {
			c.CloseWrite()
			return []string{write(c), read(s)}
		}},
		{"a deadline in the past comes before data", func(c, s resettable) []string {
			write(s)
			c.SetReadDeadline(time.Unix(1, 0))
			n, err := c.Read(make([]byte, 4))
			c.SetReadDeadline(time.Time{})
			return []string{fmt.Sprint(n), told(err), read(c)}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c, s := tcpPair(t)
			tcp := fmt.Sprint(row.play(c, s))
			c.Close()
			s.Close()
			mc, ms := Pipe(0)
			mem := fmt.Sprint(row.play(mc, ms))
			if tcp != mem {
				t.Errorf("TCP    %s\nmemory %s", tcp, mem)
			}
		})
	}
}

func TestAWriterWaitsForRoomAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe(4)
		blocked := 0
		done := false
		go func() {
			n, err := c.WriteBlocking([]byte("123456"), func() { blocked++ })
			done = n == 6 && err == nil
		}()
		synctest.Wait()
		if done || blocked != 1 {
			t.Fatalf("with a full buffer the write is done: %v, blocked was called %d times", done, blocked)
		}
		got := make([]byte, 6)
		if _, err := io.ReadFull(s, got); err != nil || string(got) != "123456" {
			t.Fatalf("read %q, %v", got, err)
		}
		synctest.Wait()
		if !done {
			t.Fatal("the write did not return after there was room")
		}
	})
}

func TestDeadlinesRunOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe(1)
		start := time.Now()
		c.SetReadDeadline(start.Add(time.Hour))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("read ended with %v", err)
		}
		var ne net.Error
		s.SetWriteDeadline(time.Now().Add(time.Hour))
		n, err := s.Write([]byte("ab"))
		if n != 1 || !errors.As(err, &ne) || !ne.Timeout() {
			t.Fatalf("write of 2 bytes into a buffer of 1 gave %d, %v", n, err)
		}
		if d := time.Since(start); d != 2*time.Hour {
			t.Fatalf("both took %v of virtual time, want 2h", d)
		}
	})
}

func TestWaitPeerClosedLeavesBytesUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe(0)
		returned := false
		go func() {
			if err := s.WaitPeerClosed(); err != nil {
				t.Error(err)
			}
			returned = true
		}()
		c.Write([]byte("still here"))
		synctest.Wait()
		if returned || s.PeerClosed() {
			t.Fatal("bytes alone were taken for the peer's end")
		}
		c.Close()
		synctest.Wait()
		if !returned || !s.PeerClosed() {
			t.Fatal("FIN was not seen")
		}
		if got, err := io.ReadAll(s); string(got) != "still here" || err != nil {
			t.Fatalf("read %q, %v", got, err)
		}
	})
}

func TestDiscardedBytesDoNotTurnCloseIntoAReset(t *testing.T) {
	c, s := Pipe(0)
	c.Write([]byte("x"))
	s.Discard()
	s.Close()
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("read gave %v, want EOF", err)
	}
}

func TestAnHTTPServerRunsOverAListenerInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := Listen()
		srv := &http.Server{
			ReadTimeout: time.Hour,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				<-time.After(time.Minute)
				w.Write(body)
			}),
		}
		go srv.Serve(ln)
		tr := &http.Transport{DialContext: ln.DialContext}
		start := time.Now()
		body := bytes.Repeat([]byte("0123456789"), 100_000)
		resp, err := (&http.Client{Transport: tr}).Post("http://any.test/", "text/plain", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d of %d bytes came back, %v", len(got), len(body), err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("the call took %v of virtual time, want 1m", d)
		}
		if got, want := ln.Counts(), (Counts{Opened: 1, Open: 1, MaxOpen: 1}); got != want {
			t.Errorf("counts are %+v, want %+v", got, want)
		}
		tr.CloseIdleConnections()
		srv.Close()
		synctest.Wait()
		if got := ln.Counts().Open; got != 0 {
			t.Errorf("%d sockets are open at the end", got)
		}
	})
}

func TestListenerCountsAreThoseOfTheClient(t *testing.T) {
	ln := Listen()
	var all []net.Conn
	for range 3 {
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	all[0].Close()
	all[0].Close()
	all[1].(*Conn).Reset()
	if got, want := ln.Counts(), (Counts{Opened: 3, Open: 1, MaxOpen: 3}); got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
	// The server's end does not count.
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got := ln.Counts().Open; got != 1 {
		t.Errorf("%d are open after the server closed one end, want 1", got)
	}
}

func TestAClosedListenerRefuses(t *testing.T) {
	ln := ListenConfig{Addr: "other.test:443", Backlog: 1}.Listen()
	waiting, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := ln.DialContext(ctx, "tcp", "x:1")
		result <- err
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("a dial with a full backlog and a canceled context gave %v", err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the second Close gave %v", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept gave %v", err)
	}
	if _, err := ln.Dial(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial gave %v", err)
	}
	if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection that nobody accepted reads %v", err)
	}
	if got := ln.Addr().String(); got != "other.test:443" {
		t.Errorf("the address is %s", got)
	}
}
