package faultserver

import (
	"net"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// socket is what the server needs of a connection below TLS. TCP and memconn
// both have it.
type socket interface {
	net.Conn
	CloseWrite() error
	// Reset closes the socket with a reset.
	Reset() error
	// Discard drops what has arrived, without waiting.
	Discard()
	// PeerClosed reports whether the peer's FIN or reset has arrived, even if
	// bytes before it are unread.
	PeerClosed() bool
	// WaitPeerClosed waits for that without reading; the read deadline ends it.
	WaitPeerClosed() error
	// WriteBlocking is Write that calls blocked, holding no lock, each time
	// before it waits for room in the send buffer.
	WriteBlocking(p []byte, blocked func()) (int, error)
}

var (
	_ socket = (*memconn.Conn)(nil)
	_ socket = tcpSocket{}
)

// past is a deadline that ends a wait at once.
var past = time.Unix(1, 0)

// tcpSocket is a TCP connection. The rest of its methods depend on the system.
type tcpSocket struct{ *net.TCPConn }

func (s tcpSocket) Reset() error {
	if err := s.SetLinger(0); err != nil {
		s.Close()
		return err
	}
	return s.Close()
}

// asSocket returns the socket of an accepted connection.
func asSocket(nc net.Conn) socket {
	if tcp, ok := nc.(*net.TCPConn); ok {
		return tcpSocket{tcp}
	}
	return nc.(socket)
}
