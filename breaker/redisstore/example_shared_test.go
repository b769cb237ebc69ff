package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/breaker/redisstore"
)

// Two processes share their gates: what the first one found out, the second one
// need not.
func ExampleNew_shared() { //nolint:testableexamples // it needs a server; TestTheSharedExampleRuns starts one and checks the output
	process := func() (*breaker.Breaker, func()) {
		rdb := redis.NewUniversalClient(&redis.UniversalOptions{
			Addrs:                 []string{os.Getenv("REDIS_ADDR")},
			ContextTimeoutEnabled: true, // spares a goroutine per command
		})
		store, err := redisstore.New(redisstore.Config{Client: rdb, Mode: redisstore.Strict})
		if err != nil {
			panic(err)
		}
		b, err := breaker.New(breaker.Config{Store: store, ConsecutiveFailures: 2})
		if err != nil {
			panic(err)
		}
		return b, func() { store.Close(); rdb.Close() }
	}
	first, closeFirst := process()
	defer closeFirst()
	second, closeSecond := process()
	defer closeSecond()

	ctx := context.Background()
	for range 2 {
		permit, err := first.Admit(ctx, "https://orders.example:443")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("first:", permit.Failure().State)
	}
	_, err := second.Admit(ctx, "https://orders.example:443")
	if rejected, ok := errors.AsType[*breaker.RejectedError](err); ok {
		fmt.Println("second:", rejected.State)
	}
	// Prints:
	// first: closed
	// first: open
	// second: open
}

// printed is what ExampleNew_shared says it prints.
const printed = "first: closed\nfirst: open\nsecond: open\n"

func TestTheSharedExampleRuns(t *testing.T) {
	t.Setenv("REDIS_ADDR", redisstore.StartServer(t))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	ExampleNew_shared()
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != printed {
		t.Errorf("%v, printed:\n%s", err, got)
	}
}
