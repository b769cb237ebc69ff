package faultserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"

	"golang.org/x/net/http2"
)

// errGone ends a script whose connection or stream is over.
var errGone = errors.New("faultserver: the connection or stream is over")

// armFirst arms the cuts that a connection's script begins with, before the
// first byte is read, and returns the other steps.
func (c *conn) armFirst(steps []Step) []Step {
	for len(steps) > 0 {
		switch st := steps[0].(type) {
		case KillAfterWritten:
			c.wire.cutWrite(st.Bytes, st.How)
		case KillAfterRead:
			c.wire.cutRead(st.Bytes, st.How)
		default:
			return steps
		}
		steps = steps[1:]
	}
	return steps
}

// serve runs a connection from its script to its end.
func (c *conn) serve(script Script) {
	defer close(c.wire.served)
	defer c.finished()
	shaken := c.tls == nil
	for _, st := range script.Steps {
		if !c.connStep(st, &shaken) {
			return
		}
	}
	if !shaken && !c.shake() {
		return
	}
	br := bufio.NewReader(c.app)
	if c.speaksH2(br) {
		newH2(c, br).serve()
		return
	}
	c.setReady("HTTP/1.1", nil, br.Buffered() > 0)
	c.serveH1(br)
}

// finished closes the sending half of a connection that its client has ended,
// or whose handshake failed. The pump closes the socket when the client has
// closed its own.
func (c *conn) finished() {
	c.s.mu.Lock()
	ours := c.killed
	c.finish()
	c.s.changed.fire()
	c.s.mu.Unlock()
	if !ours {
		c.wire.setMode(wireDead)
		c.sock.CloseWrite()
	}
}

// connStep runs one step of a connection's script; false ends the connection.
func (c *conn) connStep(st Step, shaken *bool) bool {
	switch st := st.(type) {
	case Delay:
		return c.sleep(st.For, nil)
	case Wait:
		return c.waitFor(st.Until, nil)
	case BlackHole:
		c.blackHole()
		<-c.done
		return false
	case Kill:
		c.kill(st.How)
		return false
	case KillAfterWritten:
		c.wire.cutWrite(st.Bytes, st.How)
	case KillAfterRead:
		c.wire.cutRead(st.Bytes, st.How)
	case Raw:
		return c.writeRaw(st.Data, st.Wire || !*shaken) == nil
	case Handshake:
		*shaken = true
		return c.shake()
	case Settings:
		c.settings = st
	}
	return true
}

// shake does the TLS handshake.
func (c *conn) shake() bool {
	err := c.tls.HandshakeContext(context.Background())
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.shaken = err == nil
	c.handshake = err
	c.s.changed.fire()
	return err == nil
}

// speaksH2 tells the version: by ALPN over TLS, else by the first bytes.
func (c *conn) speaksH2(br *bufio.Reader) bool {
	switch c.s.config.Protocol {
	case H2:
		return c.tls.ConnectionState().NegotiatedProtocol == "h2"
	case H2C:
		head := []byte(http2.ClientPreface[:4])
		first, err := br.Peek(len(head))
		return err == nil && bytes.Equal(first, head)
	}
	return false
}

// waitFor waits for until. It reports false if the connection is over before.
func (c *conn) waitFor(until, also <-chan struct{}) bool {
	select {
	case <-until:
		return true
	case <-c.done:
		return false
	case <-also:
		return false
	}
}

// writeRaw writes bytes as they are.
func (c *conn) writeRaw(p []byte, belowTLS bool) error {
	if belowTLS {
		_, err := c.wire.Write(p)
		return err
	}
	c.s.mu.Lock()
	h := c.h2
	c.s.mu.Unlock()
	if h != nil {
		return h.raw(p)
	}
	_, err := c.app.Write(p)
	return err
}
