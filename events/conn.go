package events

import "time"

// ConnOpened says that a connection was dialled and its handshakes are done.
type ConnOpened struct {
	Meta
	Conn     uint64        // the connection's number in this process, from 1
	Protocol string        // "1.1" or "2"
	Duration time.Duration // of the dial with its handshakes
}

// ConnAcquired is the begin of one use of a connection.
type ConnAcquired struct {
	Meta
	Conn     uint64        // the connection's number, as in ConnOpened
	Protocol string        // "1.1" or "2"
	Reused   bool          // it had served, or idled, before
	Wait     time.Duration // queueing for a slot, without the dial
	Age      time.Duration // since it was opened
}

// ConnReleased is the end of one use of a connection.
type ConnReleased struct {
	Meta
	Conn      uint64        // the connection's number, as in ConnOpened
	HandedOn  bool          // given to a waiter directly; else it idles or closes
	Age       time.Duration // since it was opened
	Remaining int           // uses still running on it (HTTP/2)
}

// ConnClosed is the end of a connection's socket.
type ConnClosed struct {
	Meta
	Conn     uint64        // the connection's number, as in ConnOpened
	Protocol string        // "1.1" or "2"
	Cause    ConnCause     // one of ConnCauses
	Age      time.Duration // since it was opened
}

// ConnStale says that a reused connection turned out to be dead before any
// byte of a response, and that another one is taken.
type ConnStale struct {
	Meta
	Conn  uint64     // the dead connection's number, as in ConnOpened
	Try   int        // 1-based number of the dead acquisition in this attempt
	Class ErrorClass // what the dead connection answered
}

// ConnRecovered says that a request went through after its first connections
// were dead.
type ConnRecovered struct {
	Meta
	Conn       uint64     // the connection that served it
	Recoveries int        // resends that it took
	Class      ErrorClass // what the last dead connection answered
	Fresh      bool       // a forced fresh dial served it
}
