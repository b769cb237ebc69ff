package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// dialer dials the connections of one contestant and knows how many of them
// are open.
type dialer struct {
	net.Dialer
	open atomic.Int64
}

func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		endIfExhausted(err)
		return nil, err
	}
	d.open.Add(1)
	return &dialed{TCPConn: c.(*net.TCPConn), closed: sync.OnceFunc(func() { d.open.Add(-1) })}, nil
}

// dialed has all methods of the connection that it counts.
type dialed struct {
	*net.TCPConn
	closed func()
}

func (c *dialed) Close() error {
	c.closed()
	return c.TCPConn.Close()
}

// listener ends the process when no file descriptor is left: http.Server
// would wait for one, and the clients for the server.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	endIfExhausted(err)
	return c, err
}

// endIfExhausted ends the process with a message if err says that it has no
// file descriptor left. What would be measured from here on is no contestant.
func endIfExhausted(err error) {
	if exhausted(err) {
		fmt.Fprintf(os.Stderr, "compare: no file descriptor is left: %v; raise the limit of open files (ulimit -n)\n", err)
		os.Exit(1)
	}
}

func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
