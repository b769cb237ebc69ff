package pool

import (
	"fmt"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Config configures a [Transport]. The zero value is valid: a pool with the
// settings of [http.DefaultTransport].
type Config struct {
	// Base supplies dialling, TLS, proxy and limits. It is never changed and
	// never dials itself. The limits (MaxIdleConns, MaxIdleConnsPerHost,
	// MaxConnsPerHost, IdleConnTimeout, DisableKeepAlives), Proxy and the dial
	// functions are read from it whenever they are needed, the other fields
	// before each dial; like those of a running [http.Transport], they must not
	// be written while requests run.
	//
	// Nil: [http.DefaultTransport] if that is an *http.Transport, else a
	// transport with its stock values.
	Base *http.Transport

	// Hooks receives the connection events, before the hooks that a request's
	// context carries. Nil: none.
	Hooks *events.Hooks

	// Recoveries is how many reused connections one request may find dead
	// before it gets a connection dialled for it alone. 0: the base's
	// MaxIdleConnsPerHost (2 if that is 0). Negative: no recovery at all; the
	// first dead connection is the request's error.
	Recoveries int

	// MaxConnLifetime is how long after its dial a connection still takes new
	// requests; running ones finish. 0 or negative: for ever.
	MaxConnLifetime time.Duration

	// MaxConnWait is how long a request queues for a connection while
	// MaxConnsPerHost is exhausted, before it fails with a [*WaitError]; dials
	// do not count. 0 or negative: as long as the request's context allows.
	MaxConnWait time.Duration

	// RetryNonIdempotent treats every method as idempotent in recovery (see
	// [Idempotent]).
	RetryNonIdempotent bool

	// AllowTruncated accepts the end of a TLS stream without close_notify as
	// if it were an orderly end, as http.Transport does. A response whose
	// length only the end of the connection tells can then be cut short
	// unnoticed.
	AllowTruncated bool

	// PingInterval is how long an HTTP/2 connection may be silent before it is
	// asked with a PING frame whether it is alive. If no answer comes within
	// the base's HTTP2.PingTimeout, or, where that is 0, within PingInterval
	// but at most 15 s, the connection is closed and its requests fail. 0: the
	// base's HTTP2.SendPingTimeout, which is off by default. Negative: off.
	// Values from 1 ns to below 1 ms are refused as a forgotten unit.
	PingInterval time.Duration

	// OnPanic receives what a hook on a background goroutine panicked with. It
	// may run concurrently and must not panic. Nil: the panic is only counted,
	// in [Stats].
	OnPanic func(any)
}

func (c *Config) validate() error {
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"MaxConnLifetime", c.MaxConnLifetime},
		{"MaxConnWait", c.MaxConnWait},
		{"PingInterval", c.PingInterval},
	} {
		if d.value > 0 && d.value < time.Millisecond {
			return fmt.Errorf("pool: Config.%s is %v, below 1ms: give a unit, or 0 for the default", d.field, d.value)
		}
	}
	if b := c.Base; b != nil && b.Protocols != nil && !b.Protocols.HTTP1() && !b.Protocols.HTTP2() && !b.Protocols.UnencryptedHTTP2() {
		return fmt.Errorf("pool: Config.Base.Protocols is %v, which allows none: set one, or nil for the default", *b.Protocols)
	}
	return nil
}
