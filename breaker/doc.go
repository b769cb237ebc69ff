// Package breaker is a circuit breaker per key.
package breaker
