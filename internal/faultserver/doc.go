// Package faultserver is an HTTP server on loopback, or in memory, whose faults
// are scripted to the byte and to the frame. Tests of a client start one and
// tell it what to do with which connection and which request:
//
//	s := faultserver.Start(t, faultserver.Config{Protocol: faultserver.H2})
//	client := &http.Client{Transport: s.ClientTransport()}
//	s.Next(
//		faultserver.Respond(503, "busy"),
//		faultserver.KillAfterReading(faultserver.RST),
//		faultserver.Do(faultserver.ReadBody{}, faultserver.Header{}, faultserver.Trickle{Size: 10, Every: time.Second}),
//	)
//
// It speaks HTTP/1.1 ([H1]), HTTP/1.1 over TLS ([TLS]), HTTP/2 over TLS ([H2])
// and unencrypted HTTP/2 with prior knowledge ([H2C]), each with code of its
// own from the socket to the response, so that nothing between a script and the
// wire rearranges bytes. Flow control, SETTINGS and PING of HTTP/2 are those of
// RFC 9113; a client that overruns a window is reported by [Server.Err].
//
// # Which script
//
// A request takes the next script of [Server.Next], else that of Config.Choose;
// without one, or with the zero [Script], Config.Handler answers, and without a
// handler the request's body is echoed ("ok" if there is none) with status 200
// and the fields X-Fault-Conn and X-Fault-Request (its numbers, from 1). A
// connection takes the next script of [Server.NextConn], else that of
// Config.ChooseConn.
//
// # Faults
//
// Steps and calls that a protocol cannot do are refused: Next, NextConn and the
// Kill calls panic, a script of Choose resets the connection and shows in Err.
//
//	fault                                  H1   TLS  H2   H2C  how
//	delay, wait for the test               yes  yes  yes  yes  Delay, Wait; both scripts
//	no answer, connection or stream alive  yes  yes  yes  yes  Hang
//	deaf and mute, TCP stays up            yes  yes  yes  yes  BlackHole; Server.BlackHole
//	FIN, without close_notify over TLS     yes  yes  yes  yes  Kill{FIN}, KillIdle, KillAll, RaceIdle
//	reset                                  yes  yes  yes  yes  Kill{RST}, ...
//	FIN, then reset to what still comes    yes  yes  yes  yes  Kill{Shut}, ...
//	close_notify, then FIN                 -    yes  yes  -    Kill{CloseNotify}, ...
//	half a TLS record, then FIN            -    yes  yes  -    Kill{TruncatedRecord}, ...; KillAfterWritten
//	end before or in the handshake, alert  -    yes  yes  -    NextConn: Kill, KillAfterWritten, Raw{TLSAlert(n)}
//	end after n bytes written              yes  yes  yes  yes  KillAfterWritten; both scripts
//	end after n bytes read                 yes  yes  yes  yes  NextConn: KillAfterRead
//	end after n bytes of a body read       yes  yes  yes  yes  ReadBody{Bytes: n}, Kill
//	end after the request was read         yes  yes  yes  yes  KillAfterReading
//	end with the request unread            yes  yes  yes  yes  KillUnread
//	end of parked connections              yes  yes  yes  yes  KillIdle
//	end when the next request arrives      yes  yes  yes  yes  RaceIdle
//	half a header                          yes  yes  yes  yes  HalfHeader, KillInHeader
//	half a body                            yes  yes  yes  yes  KillInBody
//	wrong Content-Length                   yes  yes  yes  yes  WrongLength; Header with the field set
//	body until close, cut or not           yes  yes  -    -    Header{Framing: UntilClose}
//	chunks, trailers                       yes  yes  t    t    Header{Framing: Chunked}, Trailer
//	trickle                                yes  yes  yes  yes  Trickle
//	1xx responses                          yes  yes  yes  yes  Interim
//	100-continue withheld or refused       yes  yes  yes  yes  ReadBody{Withhold: true}; Header before ReadBody
//	answer before the body is read         yes  yes  yes  yes  Early; Header before ReadBody
//	malformed status                       yes  yes  yes  yes  BadStatusLine, Raw
//	oversized header                       yes  yes  yes  yes  HugeHeader
//	bytes that nobody asked for            yes  yes  f    f    WriteIdle, Raw
//	RST_STREAM, REFUSED_STREAM             -    -    yes  yes  Reset, RefuseStream
//	GOAWAY, graceful or an error           -    -    yes  yes  GoAway, RefuseByGoAway; Server.GoAway
//	SETTINGS small, changed or withheld    -    -    yes  yes  Settings; Config.Settings
//	PING unanswered                        -    -    yes  yes  Settings{IgnorePings: true}
//	upgrade (101), CONNECT                 yes  yes  -    -    Handle with Hijack; Proxy
//
// t: trailers, as HTTP/2 has no chunks. f: whole frames, if the connection shall
// live. An HTTP/1.1 client of an H2 or H2C server gets what the columns TLS and
// H1 say.
//
// # Who noticed what
//
// [Server.KillIdle] has sent FIN or reset when it returns. That the client has
// noticed is for the client's own counts to say; wait for them. The opposite
// order, in which the client writes a request on a connection that it believes
// alive, is forced by [Server.RaceIdle].
//
// KillIdle, RaceIdle, Stats, Requests and Conns wait for responses whose last
// bytes are just being written, so that a client that has read a response to
// its end finds its connection parked and its request Answered. They do not
// wait where the server answered before it had read the body: use
// [Server.WaitIdle] there.
//
// # Counts
//
// [Stats] counts connections at the server, from their acceptance to the moment
// at which the client closes its end. A client that dials through [Sockets] (the
// default) tells the server of that moment, so that a connection that was closed
// before another was dialled is never counted beside it. FIN alone says it too
// late for that: it waits behind bytes that the server has no room for, and
// behind the pacing of some congestion controls. For other clients the server
// looks for FIN, on Linux and in memory at every count, on other systems when it
// reads it. [Sockets] counts at the client's end, exact at every instant.
//
// # Time
//
// With Config.Memory the server listens in memory (package memconn) and runs in
// a testing/synctest bubble, so that delays cost nothing and durations are
// exact. Make and close it inside the bubble. DialContext then reaches the
// server for every address.
//
// # Goroutines
//
// A connection has two goroutines, one that reads its socket ahead (at most 64
// KiB) and one for its requests; HTTP/2 has one more for each stream. A script
// runs on one goroutine. Its waits end when the client closes, resets the stream
// or the server closes. [Server.Close] returns when all goroutines have ended,
// those of handlers included. Config's functions and handlers are called without
// a lock. A panic of a handler ends its stream (on HTTP/1.1 its connection) and
// is reported by Err, unless it is http.ErrAbortHandler.
package faultserver
