//go:build !linux

package faultserver

import "io"

// Systems other than Linux do not tell the state of a connection through the
// standard library. There the count of open connections falls when the server
// reads the end of the stream, not before.

func (s tcpSocket) PeerClosed() bool { return false }

func (s tcpSocket) WaitPeerClosed() error {
	_, err := io.Copy(io.Discard, s.TCPConn)
	return err
}

func (s tcpSocket) Discard() {}

func (s tcpSocket) WriteBlocking(p []byte, blocked func()) (int, error) { return s.Write(p) }
