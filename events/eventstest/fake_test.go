package eventstest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// fakeTB stands in for the test of a user, so that a test can see an assertion
// fail. Anything but what it overrides panics on the nil TB.
type fakeTB struct {
	testing.TB
	failures []string
	ended    bool // Fatalf was called
}

func (*fakeTB) Helper() {}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	f.ended = true
	runtime.Goexit()
}

// try runs an assertion as the test of a user would.
func try(assert func(testing.TB)) *fakeTB {
	f := &fakeTB{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert(f)
	}()
	<-done
	return f
}

// mustHold fails t unless the assertion held.
func mustHold(t *testing.T, assert func(testing.TB)) {
	t.Helper()
	if f := try(assert); len(f.failures) != 0 {
		t.Errorf("the assertion failed: %s", f.failures)
	}
}

// mustFail fails t unless the assertion failed once, with a message that holds
// each of want.
func mustFail(t *testing.T, assert func(testing.TB), want ...string) {
	t.Helper()
	f := try(assert)
	if len(f.failures) != 1 {
		t.Fatalf("the assertion failed %d times, want once: %q", len(f.failures), f.failures)
	}
	for _, w := range want {
		if !strings.Contains(f.failures[0], w) {
			t.Errorf("the failure lacks %q:\n%s", w, f.failures[0])
		}
	}
}
