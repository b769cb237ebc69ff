// Package pool is a connection pool over [http.ClientConn] and an
// [http.RoundTripper].
package pool
