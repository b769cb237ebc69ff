package faultserver

import "fmt"

// Protocol is what a server speaks.
type Protocol int

const (
	// H1 is HTTP/1.1 without TLS.
	H1 Protocol = iota
	// TLS is HTTP/1.1 over TLS.
	TLS
	// H2 is HTTP/2 over TLS, agreed by ALPN. A client that offers only
	// http/1.1 is served HTTP/1.1.
	H2
	// H2C is unencrypted HTTP/2 with prior knowledge. A client that does not
	// begin with the HTTP/2 preface is served HTTP/1.1.
	H2C
)

// Protocols lists all protocols, for table tests.
func Protocols() []Protocol { return []Protocol{H1, TLS, H2, H2C} }

// String returns "H1", "TLS", "H2" or "H2C".
func (p Protocol) String() string {
	switch p {
	case H1:
		return "H1"
	case TLS:
		return "TLS"
	case H2:
		return "H2"
	case H2C:
		return "H2C"
	}
	return fmt.Sprintf("Protocol(%d)", int(p))
}

// Encrypted reports whether the protocol runs over TLS.
func (p Protocol) Encrypted() bool { return p == TLS || p == H2 }

// Multiplexed reports whether the protocol is HTTP/2.
func (p Protocol) Multiplexed() bool { return p == H2 || p == H2C }

// How is the way in which the server ends a connection.
type How int

const (
	// FIN ends the sending half: shutdown(SHUT_WR). What the client still
	// sends is read and dropped, so that it never meets a reset. Over TLS there
	// is no close_notify: a truncation. The socket closes when the client
	// closes its own.
	FIN How = iota
	// RST sends a reset: SetLinger(0) and close.
	RST
	// Shut closes the socket as a process does that is done with it: FIN now,
	// and a reset in answer to every byte that comes later.
	Shut
	// CloseNotify sends TLS's close_notify, then as FIN: the clean end of a TLS
	// connection. Only over TLS.
	CloseNotify
	// TruncatedRecord writes the first half of a TLS record, then as FIN. Only
	// over TLS.
	TruncatedRecord
)

// Hows lists the ways that are possible on p, for table tests.
func Hows(p Protocol) []How {
	if p.Encrypted() {
		return []How{FIN, RST, Shut, CloseNotify, TruncatedRecord}
	}
	return []How{FIN, RST, Shut}
}

// String returns the constant's name.
func (h How) String() string {
	switch h {
	case FIN:
		return "FIN"
	case RST:
		return "RST"
	case Shut:
		return "Shut"
	case CloseNotify:
		return "CloseNotify"
	case TruncatedRecord:
		return "TruncatedRecord"
	}
	return fmt.Sprintf("How(%d)", int(h))
}

// possible returns an error if a connection of p cannot end in this way.
func (h How) possible(p Protocol) error {
	switch h {
	case FIN, RST, Shut:
		return nil
	case CloseNotify, TruncatedRecord:
		if p.Encrypted() {
			return nil
		}
		return fmt.Errorf("%v needs TLS, the server speaks %v", h, p)
	}
	return fmt.Errorf("%v is no way to end a connection", h)
}

// raw returns an error if the way cannot cut a connection between two bytes of
// the socket, below TLS.
func (h How) raw() error {
	switch h {
	case FIN, RST, Shut:
		return nil
	}
	return fmt.Errorf("%v cannot cut at a byte of the socket; use FIN, RST or Shut", h)
}
