// Package redisstore shares the gates of package breaker between processes
// through a Redis server, or one that speaks its protocol and runs its Lua.
package redisstore
