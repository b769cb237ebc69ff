package pool

import "syscall"

// isReset reports whether the peer, or the network, ended the connection hard.
func isReset(e syscall.Errno) bool {
	return e == syscall.WSAECONNRESET || e == syscall.WSAECONNABORTED ||
		e == syscall.ECONNRESET || e == syscall.EPIPE || e == syscall.ECONNABORTED
}
