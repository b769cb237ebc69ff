package faultserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// cutHows are the ways that can cut at a byte of the socket.
var cutHows = []How{FIN, RST, Shut}

// unshaken connects without a handshake; app is TLS that has not begun.
func unshaken(t *testing.T, s *Server) *rawClient {
	t.Helper()
	nc, err := s.DialContext(waiting(t), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	c := &rawClient{t: t, sock: &tap{Conn: nc}}
	c.app = c.sock
	if s.Protocol().Encrypted() {
		config := s.ClientTLS()
		config.ServerName = "mem.test"
		config.NextProtos = []string{"h2", "http/1.1"}
		if s.Protocol() == TLS {
			config.NextProtos = nil
		}
		c.app = tls.Client(c.sock, config)
	}
	return c
}

// firstRequest is what a client of the protocol sends at first, above TLS.
func firstRequest(p Protocol) string {
	if !p.Multiplexed() {
		return "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	}
	return http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + // SETTINGS
		"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x10\x00\x00" + // WINDOW_UPDATE
		"\x00\x00\x03\x01\x05\x00\x00\x00\x01\x82\x86\x84" // HEADERS: GET, http, /
}

func checkCutEnd(t *testing.T, how How, sockErr error) {
	t.Helper()
	want := io.EOF
	if how == RST {
		want = syscall.ECONNRESET
	}
	if !errors.Is(sockErr, want) {
		t.Errorf("the socket ended with %v, want %v", sockErr, want)
	}
}

func TestAConnectionIsCutAfterExactlySoManyBytesWritten(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		for _, how := range cutHows {
			for _, n := range []int{1, 7, 100, 5000} {
				t.Run(fmt.Sprint(how, " after ", n), func(t *testing.T) {
					s := Start(t, config)
					s.NextConn(Do(KillAfterWritten{Bytes: int64(n), How: how}))
					s.Next(Do(Header{}, Body{Size: 20_000}))
					c := unshaken(t, s)
					if _, err := io.WriteString(c.app, firstRequest(config.Protocol)); err == nil {
						io.Copy(io.Discard, c.app)
					}
					got, sockErr := c.sock.seen()
					if got != n {
						t.Errorf("the client got %d bytes, want %d", got, n)
					}
					checkCutEnd(t, how, sockErr)
					if info := s.Conns()[0]; info.Written != int64(n) || info.How != how {
						t.Errorf("the server says %+v", info)
					}
				})
			}
		}
	})
}

func TestAResponseIsCutAfterExactlySoManyBytesOfTheSocket(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		for _, how := range cutHows {
			for _, n := range []int{1, 4000, 40_000} {
				t.Run(fmt.Sprint(how, " after ", n), func(t *testing.T) {
					s := Start(t, config)
					gate := make(chan struct{})
					s.Next(Do(Wait{gate}, KillAfterWritten{Bytes: int64(n), How: how}, Header{}, Body{Size: 60_000}))
					c := unshaken(t, s)
					c.send(firstRequest(config.Protocol))
					if err := s.WaitRequests(waiting(t), 1); err != nil {
						t.Fatal(err)
					}
					before := s.Conns()[0].Written
					close(gate)
					io.Copy(io.Discard, c.app)
					got, sockErr := c.sock.seen()
					if got != int(before)+n {
						t.Errorf("the client got %d bytes, want %d and then %d", got, before, n)
					}
					checkCutEnd(t, how, sockErr)
				})
			}
		}
	})
}

func TestAConnectionIsCutAfterExactlySoManyBytesRead(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		for _, how := range cutHows {
			for _, n := range []int{1, 20, 200, 20_000} {
				t.Run(fmt.Sprint(how, " after ", n), func(t *testing.T) {
					s := Start(t, config)
					s.NextConn(Do(KillAfterRead{Bytes: int64(n), How: how}))
					s.Next(Do(Hang{}))
					c := unshaken(t, s)
					text := firstRequest(config.Protocol)
					if !config.Protocol.Multiplexed() {
						text = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n"
					}
					_, err := io.WriteString(c.app, text+strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", 2000))
					if how == FIN && err != nil && !config.Protocol.Encrypted() {
						t.Errorf("a client that meets FIN must be able to write, got %v", err)
					}
					io.Copy(io.Discard, c.app)
					if info := s.Conns()[0]; info.Read != int64(n) || info.How != how || !info.Killed {
						t.Errorf("the server has read %d bytes, want %d: %+v", info.Read, n, info)
					}
					_, sockErr := c.sock.seen()
					if how == FIN {
						checkCutEnd(t, how, sockErr)
					}
				})
			}
		}
	})
}

func TestABodyIsReadToTheByteAndThenTheConnectionEnds(t *testing.T) {
	forEachHow(t, func(t *testing.T, config Config, how How) {
		s := Start(t, config)
		s.Next(Do(ReadBody{Bytes: 1234}, Kill{how}))
		_, _, err := do(t, s.ClientTransport(), "PUT", s.URL(), Pattern(30_000))
		if err == nil {
			t.Fatal("the call succeeded")
		}
		r := s.Requests()[0]
		if r.Processed {
			t.Errorf("a request whose body was read in part counts as processed: %+v", r)
		}
		if r.BodyBytes < 1234 || !config.Protocol.Multiplexed() && r.BodyBytes != 1234 {
			t.Errorf("%d body bytes are counted, want 1234", r.BodyBytes)
		}
	})
}

func TestAHandshakeIsCutOrRefused(t *testing.T) {
	rows := []struct {
		name   string
		script Script
		want   string
	}{
		{"killed at accept, FIN", Do(Kill{FIN}), "EOF"},
		{"killed at accept, RST", Do(Kill{RST}), "connection reset by peer"},
		{"half a record instead of the server's hello", Do(Kill{TruncatedRecord}), "unexpected EOF"},
		{"an alert", Do(Raw{Data: TLSAlert(40)}), "remote error: tls: handshake failure"},
		{"no TLS at all", Do(Raw{Data: []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), Wire: true}), "first record does not look like a TLS handshake"},
	}
	for _, p := range []Protocol{TLS, H2} {
		for _, row := range rows {
			t.Run(fmt.Sprint(p, " ", row.name), func(t *testing.T) {
				s := Start(t, Config{Protocol: p})
				s.NextConn(row.script)
				_, _, err := do(t, s.ClientTransport(), "GET", s.URL(), nil)
				if err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("the call gave %v, want %q in it", err, row.want)
				}
				if n := len(s.Requests()); n != 0 {
					t.Errorf("%d requests arrived", n)
				}
			})
		}
	}
}

func TestAConnectionEndsAfterTheHandshake(t *testing.T) {
	for _, p := range []Protocol{TLS, H2} {
		for _, how := range Hows(p) {
			t.Run(fmt.Sprint(p, " ", how), func(t *testing.T) {
				s := Start(t, Config{Protocol: p})
				s.NextConn(Do(Handshake{}, Kill{how}))
				rawDial(t, s).expectEnd(how)
			})
		}
	}
}

func TestAMissingClientCertificateIsRecorded(t *testing.T) {
	for _, p := range []Protocol{TLS, H2} {
		t.Run(p.String(), func(t *testing.T) {
			s := Start(t, Config{Protocol: p, ConfigureTLS: func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }})
			if _, _, err := do(t, s.ClientTransport(), "GET", s.URL(), nil); err == nil {
				t.Error("the call succeeded without a certificate")
			}
			err := s.wait(waiting(t), "a failed handshake", func(Stats) bool {
				err := s.Conns()[0].Handshake
				return err != nil && strings.Contains(err.Error(), "certificate")
			})
			if err != nil {
				t.Error(err)
			}
			tr := s.ClientTransport()
			tr.TLSClientConfig.Certificates = []tls.Certificate{s.CA().Certificate("client.test")}
			if resp, _, err := do(t, tr, "GET", s.URL(), nil); err != nil || resp.StatusCode != 200 {
				t.Errorf("with a certificate the call gave %v", err)
			}
		})
	}
}
