package main

import (
	"context"
	"time"
)

// scope gives the calls of one contestant their contexts, one for each member,
// and ends them after each slice, outside the measured time. That frees the
// connections of responses that a contestant has neither read nor closed: some
// leave one open for every attempt that failed, and the process would run out
// of file descriptors. Until then they are left open, and whoever left them
// has to dial new ones. A nil scope's contexts never end.
type scope struct {
	members []*member
}

type member struct {
	renew  func(context.Context)
	cancel context.CancelFunc
}

// join calls renew with the context of a member's calls: now, and whenever
// there is a new one.
func (s *scope) join(renew func(context.Context)) {
	if s == nil {
		renew(context.Background())
		return
	}
	m := &member{renew: renew}
	m.begin()
	s.members = append(s.members, m)
}

func (m *member) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.renew(ctx)
}

// end ends the contexts of the calls that were made and begins new ones. No
// call may be under way.
func (s *scope) end() {
	if s == nil {
		return
	}
	for _, m := range s.members {
		m.cancel()
		m.begin()
	}
}

// leave ends the contexts for good.
func (s *scope) leave() {
	if s == nil {
		return
	}
	for _, m := range s.members {
		m.cancel()
	}
	s.members = nil
}

// quiet waits until what was to be closed is closed on both ends: until neither
// number of open connections has changed for as long as patience says.
func quiet(client, server func() int64, patience time.Duration) {
	const step = 500 * time.Microsecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	c, s := client(), server()
	for same := time.Duration(0); same < patience; {
		<-tick.C
		if c2, s2 := client(), server(); c2 == c && s2 == s {
			same += step
		} else {
			c, s, same = c2, s2, 0
		}
	}
}
