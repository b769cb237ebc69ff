package redisstore_test

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/breaker/redisstore"
)

func ExampleNew() {
	// No server is asked before the first admission.
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
	defer client.Close()

	store, err := redisstore.New(redisstore.Config{Client: client, Mode: redisstore.Strict})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	b, err := breaker.New(breaker.Config{Store: store})
	fmt.Println(b.Config().Store == breaker.Store(store), err)

	_, err = redisstore.New(redisstore.Config{})
	fmt.Println(err)
	// Output:
	// true <nil>
	// redisstore: Config.Client is nil; give a client of github.com/redis/go-redis/v9
}
