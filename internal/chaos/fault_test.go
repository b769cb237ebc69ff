package chaos

import (
	"context"
	"net/http"
	"slices"
	"time"

	fs "github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// fault is one thing that can go wrong. Exactly one of request, conn, dial and
// parked is set.
type fault struct {
	group string
	name  string
	on    []fs.Protocol // nil: all

	request func(*reply) fs.Script                     // what a request is answered with
	conn    func(*reply) fs.Script                     // what a new connection meets
	dial    func(context.Context, time.Duration) error // what a dial ends in; of a unit of time
	parked  func(*fs.Server)                           // what is done to parked connections before a request

	racy    bool // what comes of it hangs on which side is first: not in the page
	refused bool // the server says that it has not processed the request
	weight  int  // in a round; 0: only in the page, because a client cannot notice it, or because a round has its own
}

func (f *fault) possible(p fs.Protocol) bool {
	return f.on == nil || slices.Contains(f.on, p)
}

// reply is what a server would answer in order.
type reply struct {
	proto   fs.Protocol
	unit    time.Duration // of the round's time
	header  http.Header
	data    []byte
	handler http.Handler // sends them, after it has read and checked the request
}

// with returns the header and these fields besides.
func (r *reply) with(fields ...string) http.Header {
	h := r.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	for i := 0; i < len(fields); i += 2 {
		h.Set(fields[i], fields[i+1])
	}
	return h
}

// inOrder is the script without a fault.
func inOrder(r *reply) fs.Script { return fs.Do(fs.Handle{Handler: r.handler}) }

func (r *reply) half() []byte { return r.data[:len(r.data)/2] }

var (
	onHTTP1 = []fs.Protocol{fs.H1, fs.TLS}
	onHTTP2 = []fs.Protocol{fs.H2, fs.H2C}
	onTLS   = []fs.Protocol{fs.TLS, fs.H2}
)

// hows returns the protocols on which a connection can end in this way.
func hows(how fs.How) []fs.Protocol {
	if how == fs.CloseNotify || how == fs.TruncatedRecord {
		return onTLS
	}
	return nil
}

// endings name the ways in which a connection ends.
var endings = []struct {
	how  fs.How
	name string
}{
	{fs.FIN, "FIN"},
	{fs.RST, "reset"},
	{fs.Shut, "FIN, and a reset to what comes after"},
	{fs.CloseNotify, "close_notify"},
	{fs.TruncatedRecord, "half a TLS record"},
}

// faults is the table of all faults.
func faults() []fault {
	var all []fault
	for _, part := range [][]fault{connecting(), parkedOnes(), endsOfConnections(), malformedOnes(), silences(), statuses(), http2Ones(), harmless()} {
		all = append(all, part...)
	}
	return all
}

// untilClose is the header of a body that ends with the connection. Without TLS
// nothing can be promised of it.
func (r *reply) untilClose() fs.Header {
	h := fs.Header{Header: r.header, Framing: fs.UntilClose}
	if !r.proto.Encrypted() {
		h.Header = r.with("X-Body", "unknown")
	}
	return h
}

// unasked is the group of responses that come before their requests. A client
// that has not read one yet when it sends a request takes it for the answer, as
// HTTP/1.1 numbers nothing; so in a round with them, answers are not compared.
const unasked = "A parked connection, unasked"

// The names of faults that a round has to know.
const (
	refusedByGoAway = "graceful GOAWAY that excludes the request"
	deaf            = "deaf and mute"
)
