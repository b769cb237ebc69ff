// Package memconn offers buffered connections in memory that behave like TCP
// sockets on loopback: bounded buffers in both directions, half-close, reset,
// read and write deadlines, and a listener to dial.
//
// [net.Pipe] is unbuffered: a writer waits for the reader, which deadlocks
// clients that write a request while the server writes a response, and hides
// every race that needs bytes in flight. A real socket, on the other hand,
// blocks inside the kernel, where the virtual clock of testing/synctest does
// not see it. The connections of this package have buffers and wait only on
// condition variables and channels, so that a client and a server can run in
// one synctest bubble. Make the [Listener] or [Pipe] inside the bubble.
//
// # Behaviour
//
//   - Write returns when all bytes are in the buffer; it waits only while the
//     buffer is full. Read returns what is there, at least one byte.
//   - Close sends FIN. If bytes that were received are still unread it sends a
//     reset instead, as Linux does. Bytes written before are still delivered.
//   - After the peer's Close the first Write succeeds (the bytes meet a closed
//     socket), the following ones fail with EPIPE. Reads end in io.EOF.
//   - [Conn.Reset] is SetLinger(0) and Close: the peer reads what is buffered,
//     then gets ECONNRESET once, from the next Read or Write, whichever comes
//     first; after that Read gives io.EOF and Write EPIPE.
//   - Errors are *net.OpError values around the same syscall errors as those of
//     TCP, so that errors.Is(err, syscall.ECONNRESET), errors.Is(err,
//     net.ErrClosed) and errors.Is(err, os.ErrDeadlineExceeded) work.
//
// All methods may be called from any goroutine. Nothing panics. No goroutine is
// started, except those of expired deadline timers, which end at once.
package memconn
