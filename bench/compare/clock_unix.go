//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorClock is the processor time of this process.
func processorClock() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
