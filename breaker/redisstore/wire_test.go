package redisstore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// wire sees the commands that a client sends.
type wire struct {
	mu   sync.Mutex
	ops  []string
	told chan string // each operation after its answer
}

func watchWire(c *redis.Client) *wire {
	w := &wire{told: make(chan string, 10_000)}
	c.AddHook(w)
	return w
}

func (w *wire) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *wire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w *wire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		op := ""
		if args := cmd.Args(); len(args) > 4 && (args[0] == "evalsha" || args[0] == "eval") {
			op, _ = args[4].(string)
			if args[0] == "evalsha" { // eval repeats one
				w.mu.Lock()
				w.ops = append(w.ops, op)
				w.mu.Unlock()
			}
		}
		err := next(ctx, cmd)
		if op != "" && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			w.told <- op
		}
		return err
	}
}

func (w *wire) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ops := w.ops
	w.ops = nil
	return ops
}

// await waits for the next operation of that name.
func (w *wire) await(t *testing.T, op string) {
	t.Helper()
	for {
		select {
		case got := <-w.told:
			if got == op {
				return
			}
		case <-time.After(time.Minute):
			t.Fatalf("no %s was sent", op)
		}
	}
}
