package faultserver

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"syscall"
)

// The states of a TCP connection whose peer has sent FIN or a reset, from
// include/net/tcp_states.h.
const (
	tcpTimeWait  = 6
	tcpClose     = 7
	tcpCloseWait = 8
	tcpLastAck   = 9
	tcpClosing   = 11
)

// peerClosed asks the kernel for the connection's state. The state is the first
// byte of struct tcp_info, of which the call fetches four.
func peerClosed(fd uintptr) bool {
	v, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
	if err != nil {
		return true
	}
	var info [4]byte
	binary.NativeEndian.PutUint32(info[:], uint32(v))
	switch info[0] {
	case tcpTimeWait, tcpClose, tcpCloseWait, tcpLastAck, tcpClosing:
		return true
	}
	return false
}

func (s tcpSocket) PeerClosed() bool {
	rc, err := s.SyscallConn()
	if err != nil {
		return true
	}
	closed := true
	if rc.Control(func(fd uintptr) { closed = peerClosed(fd) }) != nil {
		return true
	}
	return closed
}

func (s tcpSocket) WaitPeerClosed() error {
	rc, err := s.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Read(peerClosed)
}

func (s tcpSocket) Discard() {
	rc, err := s.SyscallConn()
	if err != nil {
		return
	}
	// The descriptor does not block.
	rc.Control(func(fd uintptr) {
		var buf [4096]byte
		for {
			n, err := syscall.Read(int(fd), buf[:])
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 {
				return
			}
		}
	})
}

func (s tcpSocket) WriteBlocking(p []byte, blocked func()) (int, error) {
	rc, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	n := 0
	var werr error
	err = rc.Write(func(fd uintptr) bool {
		for n < len(p) {
			k, err := syscall.Write(int(fd), p[n:])
			switch {
			case k > 0:
				n += k
			case err == syscall.EINTR:
			case err == syscall.EAGAIN:
				blocked()
				return false
			case err != nil:
				werr = os.NewSyscallError("write", err)
				return true
			default:
				werr = io.ErrUnexpectedEOF
				return true
			}
		}
		return true
	})
	if err == nil && werr != nil {
		err = &net.OpError{Op: "write", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: werr}
	}
	return n, err
}
