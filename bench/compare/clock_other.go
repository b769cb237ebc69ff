//go:build !unix

package main

import "time"

// processorClock is the wall clock where the processor's is not known.
func processorClock() time.Duration { return wallClock() }
