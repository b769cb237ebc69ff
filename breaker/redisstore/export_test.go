package redisstore

import "testing"

// StartServer starts a redis-server of the test's own and returns its address.
func StartServer(t testing.TB) (addr string) { return startServer(t).addr }
