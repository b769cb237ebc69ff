package redisstore

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Mode says how often a store asks the server.
type Mode int

// The modes.
const (
	// Batched admits to a closed gate by what the server said last and tells it
	// the outcomes in batches.
	Batched Mode = iota
	// Strict asks the server for every operation, but for refusals by a gate
	// that is known to be open.
	Strict
)

var modes = [...]string{"batched", "strict"}

// String returns "batched" or "strict".
func (m Mode) String() string {
	if m >= 0 && int(m) < len(modes) {
		return modes[m]
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// Config describes a [Store].
type Config struct {
	// Client talks to the server: a single one, Sentinel, Cluster or Ring, with
	// the TLS, credentials and pool sizes that it was made with. It must be
	// set; the store does not close it. Its user needs the commands EVALSHA,
	// EVAL, TIME, HMGET, HSET and PEXPIRE on keys that begin with Prefix.
	Client redis.UniversalClient
	// Mode says how often the server is asked. Zero: Batched, which
	// collects outcomes; Strict asks for every operation.
	Mode Mode
	// Prefix begins the name of every key; "" means "plimsoll:breaker:". Stores
	// with the same Prefix on the same server share their gates.
	Prefix string
	// MaxKeys bounds what the store remembers in this process; 0: 4096 keys;
	// negative is an error. The server forgets a gate that was not used for a
	// day and some cooldowns.
	MaxKeys int
}

func (c Config) withDefaults() (Config, error) {
	if c.Client == nil {
		return c, fmt.Errorf("redisstore: Config.Client is nil; give a client of github.com/redis/go-redis/v9")
	}
	if c.Mode != Batched && c.Mode != Strict {
		return c, fmt.Errorf("redisstore: Config.Mode is %v; give Batched or Strict", c.Mode)
	}
	if c.MaxKeys < 0 {
		return c, fmt.Errorf("redisstore: Config.MaxKeys is %d; give a positive number, or 0 for 4096", c.MaxKeys)
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = 4096
	}
	if c.Prefix == "" {
		c.Prefix = "plimsoll:breaker:"
	}
	return c, nil
}

// honoursDeadlines reports whether the client applies the deadlines of
// contexts to its connections.
func honoursDeadlines(c redis.UniversalClient) bool {
	switch c := c.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		return c.Options().ContextTimeoutEnabled
	default:
		return false
	}
}
