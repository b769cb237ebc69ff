// Package pool is a connection pool and an [http.RoundTripper] over
// [http.ClientConn]: it decides which connection a request gets, limits them
// exactly, and resends a request whose connection turns out to have been dead.
// HTTP itself (parsing, HTTP/2, TLS, proxies, 1xx, trailers, compression) is
// net/http's; where this page is silent, a [Transport] behaves as an
// [http.Transport].
//
// # Connections
//
// Requests share connections by scheme, host, port and proxy. A request that
// asks to upgrade its connection is kept apart where HTTP/2 is possible, since
// only HTTP/1 can be upgraded, but counts against the same limit.
//
// A request gets, in this order: an HTTP/2 connection with a free stream, or
// the HTTP/1 connection that idles for the shortest time; else, if
// MaxConnsPerHost permits, a connection that is dialled for it, or one that
// becomes free before that dial is over; else a place in a queue, whose first
// request gets the next connection that becomes free or the next slot. A
// request that finds its connection dead keeps its place. A dial goes on when
// its request is canceled, and its connection idles, unless
// [Transport.CloseIdleConnections] finds that nobody waits for it.
//
// Where a server may speak HTTP/2 and is not known not to, requests wait for
// the first dial and share its connection, or its error.
//
// A slot is one socket. It is taken before the dial and given back when the
// socket has closed, so MaxConnsPerHost of the base holds at every instant. An
// upgraded connection keeps its slot until the caller closes the stream. (A
// *tls.Conn that the base's DialTLSContext returns cannot be followed to its
// close: its slot is given back when net/http is done with it, and a truncation
// of it is not noticed.)
//
// # Recovery
//
// A server may close a connection at the moment at which a request is written
// to it. While a send fails on a connection that had served or idled before,
// and no byte of a response has arrived, the request is sent again on another
// one, if its body can be replayed ([Replayable]) and either it is idempotent
// ([Idempotent]) or the server has certainly not processed it: nothing of it was
// written (known on HTTP/1 alone), its stream was refused, or a graceful GOAWAY
// excluded it. It meets at most [Config].Recoveries dead connections; then one
// is dialled for it alone, in the place of an idle or freed one if the limit
// asks for that. What fails on a connection that was dialled for the request is
// not recovered, with one exception: a refused stream and a graceful GOAWAY are
// the server's word that it has not looked, and count as dead connections
// whatever the age of theirs.
//
// A request that is not sent again fails with a [*StaleConnError]. Recovery is
// immediate, costs no retry budget, and needs no client above the pool.
//
// # Errors
//
// [DialError] and [TLSHandshakeError] say that no connection could be made;
// [TLSTransportError] that an established TLS connection failed, a truncation
// (no close_notify) told apart; [WaitError] that [Config].MaxConnWait passed;
// [ErrClosed] that the pool is closed. All keep their cause for errors.Is and
// errors.As. When a request's context ends, the error is its cause
// ([context.Cause]). [ClassOf] gives every error one of a closed set of classes,
// [Recoverable] and [Unprocessed] say what can be done about it.
//
// # Default behaviour
//
// The differences from http.Transport with the same fields:
//
//   - PUT, DELETE and QUERY are recovered too, on HTTP/2 every idempotent
//     request, and a request with GetBody of which nothing was processed,
//     whatever its method.
//   - A TLS stream that ends without close_notify is an error, even where the
//     end of the stream is the end of a response (AllowTruncated switches that
//     off).
//   - MaxConnsPerHost counts upgraded connections and those that are being
//     closed.
//   - IdleConnTimeout, MaxIdleConnsPerHost and MaxIdleConns hold for HTTP/2 too.
//   - An HTTPS proxy is never spoken to in HTTP/2, which http.Transport offers
//     to it by mistake.
//   - The body of a request that is answered before it was read to its end is
//     closed when its connection ends, even while a Read of it blocks.
//   - The base is not changed; protocols registered with it
//     ([http.Transport.RegisterProtocol]) are not used. Only http and https are
//     known.
//   - GotConnInfo.Conn in a trace is the socket as the base's dial function
//     returned it, without TLS.
//   - A panic in a dial function reaches the request that waits for the dial.
//
// # Goroutines, blocking, panics
//
// RoundTrip blocks until there is a response header or an error. Hooks, traces'
// GetConn and GotConn, Proxy, GetBody and Attempt.Watch run on the caller's
// goroutine and outside every lock; a panic in one, or runtime.Goexit, goes
// through to the caller unchanged after everything that the request held was
// given back. Dials run on goroutines of their own, with the values of the
// request's context but not its end. What happens while no request looks on (a
// server closes an idle connection, a timer fires) is reported on background
// goroutines, to [Config].Hooks alone, with Call 0; a panic there is counted in
// [Stats] and handed to [Config].OnPanic.
//
// A Transport holds no goroutine while it is idle but those of its connections.
// [Transport.Close] ends those.
package pool
