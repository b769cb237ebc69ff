//go:build !linux

package main

import "time"

// Where the processor's time is not known, these are the wall clock.
func threadClock() time.Duration    { return wallClock() }
func processorClock() time.Duration { return wallClock() }
