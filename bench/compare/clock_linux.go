package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadClock is the processor time of the thread that asks. It is for one
// goroutine that is locked to its thread.
func threadClock() time.Duration { return used(unix.CLOCK_THREAD_CPUTIME_ID) }

// processorClock is the processor time of this process.
func processorClock() time.Duration { return used(unix.CLOCK_PROCESS_CPUTIME_ID) }

func used(id int32) time.Duration {
	var t unix.Timespec
	check(unix.ClockGettime(id, &t))
	return time.Duration(t.Nano())
}
