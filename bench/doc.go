// Package bench compares plimsoll with its peers, side by side in one run. It
// is a module of its own, so that the peers are no dependencies of plimsoll.
package bench
