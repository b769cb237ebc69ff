package pool_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// socks5 is a SOCKS5 proxy (RFC 1928) in memory. With a user it wants that
// user's password (RFC 1929).
type socks5 struct {
	ln             *memconn.Listener
	dial           func(ctx context.Context, network, addr string) (net.Conn, error)
	user, password string
	refuse         byte // the reply to CONNECT; 0: success

	wg      sync.WaitGroup
	mu      sync.Mutex
	targets []string // host:port of each CONNECT; guarded by mu
}

func startSOCKS(t interface{ Cleanup(func()) }, s *socks5) *socks5 {
	s.ln = memconn.Listen()
	s.wg.Go(func() {
		for {
			c, err := s.ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		s.ln.Close()
		s.wg.Wait()
	})
	return s
}

func (s *socks5) serve(c net.Conn) {
	defer c.Close()
	if s.greet(c) != nil {
		return
	}
	addr, err := readTarget(c)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.targets = append(s.targets, addr)
	s.mu.Unlock()
	reply := []byte{5, s.refuse, 0, 1, 0, 0, 0, 0, 0, 0}
	if s.refuse != 0 {
		c.Write(reply)
		return
	}
	target, err := s.dial(context.Background(), "tcp", addr)
	if err != nil {
		return
	}
	defer target.Close()
	c.Write(reply)
	var up sync.WaitGroup
	up.Go(func() {
		io.Copy(target, c)
		target.Close()
	})
	io.Copy(c, target)
	c.Close()
	up.Wait()
}

var errSOCKS = errors.New("not what a SOCKS5 client says")

// greet negotiates the authentication.
func (s *socks5) greet(c net.Conn) error {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c, head); err != nil || head[0] != 5 {
		return errSOCKS
	}
	if _, err := io.ReadFull(c, make([]byte, head[1])); err != nil {
		return err
	}
	if s.user == "" {
		_, err := c.Write([]byte{5, 0})
		return err
	}
	c.Write([]byte{5, 2})
	if _, err := io.ReadFull(c, head[:1]); err != nil || head[0] != 1 {
		return errSOCKS
	}
	user, err := readString(c)
	if err != nil {
		return err
	}
	password, err := readString(c)
	if err != nil {
		return err
	}
	if user != s.user || password != s.password {
		c.Write([]byte{1, 1})
		return errSOCKS
	}
	_, err = c.Write([]byte{1, 0})
	return err
}

func readString(c net.Conn) (string, error) {
	n := make([]byte, 1)
	if _, err := io.ReadFull(c, n); err != nil {
		return "", err
	}
	b := make([]byte, n[0])
	_, err := io.ReadFull(c, b)
	return string(b), err
}

// readTarget reads a CONNECT request.
func readTarget(c net.Conn) (string, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil || head[0] != 5 || head[1] != 1 {
		return "", errSOCKS
	}
	var host string
	switch head[3] {
	case 1, 4:
		ip := make([]byte, map[byte]int{1: 4, 4: 16}[head[3]])
		if _, err := io.ReadFull(c, ip); err != nil {
			return "", err
		}
		host = net.IP(ip).String()
	case 3:
		var err error
		if host, err = readString(c); err != nil {
			return "", err
		}
	default:
		return "", errSOCKS
	}
	port := make([]byte, 2)
	if _, err := io.ReadFull(c, port); err != nil {
		return "", err
	}
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))), nil
}

// seen returns the targets asked for so far.
func (s *socks5) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.targets...)
}
