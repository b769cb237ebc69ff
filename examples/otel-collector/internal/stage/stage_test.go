package stage

import (
	"context"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
)

func newStage(t *testing.T) *Stage {
	t.Helper()
	s, err := New(Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func ofOrders(t *testing.T, s client.Stats) (budget.Level, uint64) {
	t.Helper()
	level, ok := s.Budget["http://orders.shop:80"]
	if !ok {
		t.Fatalf("no budget of orders in %v", s.Budget)
	}
	return level, s.Pool.Origins["http://orders.shop:80"].Recoveries
}

// Where connections die while parked, the legacy client pays for each with a
// retry; the settled one recovers and pays nothing.
func TestTheLegacyClientPaysForWhatTheSettledOneRecovers(t *testing.T) {
	for _, a := range []Accounting{Settled, Legacy} {
		s := newStage(t)
		if err := s.Account(a); err != nil {
			t.Fatal(err)
		}
		s.Burst(t.Context(), 0)
		if err := s.Cause(Kill); err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			s.Burst(t.Context(), n)
		}
		level, recoveries := ofOrders(t, s.Stats())
		if a == Settled && (level.Tokens != 500 || recoveries == 0) {
			t.Errorf("settled: %+v, %d recoveries", level, recoveries)
		}
		if a == Legacy && (level.Tokens > 450 || recoveries != 0) {
			t.Errorf("legacy: %+v, %d recoveries", level, recoveries)
		}
	}
}

func TestADeadUpstreamOpensTheBreakerBeforeTheBudgetIsEmpty(t *testing.T) {
	s := newStage(t)
	if err := s.Cause(Dead); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		s.Burst(t.Context(), n)
	}
	level, _ := ofOrders(t, s.Stats())
	if gate := s.Stats().Breaker["http://orders.shop:80"]; gate.State.String() != "open" || level.Tokens < 100 {
		t.Errorf("breaker %v, %+v", gate.State, level)
	}
	if err := s.Cause(Healthy); err != nil {
		t.Fatal(err)
	}
}

func TestAnotherAccountingBeginsWithAFullBudget(t *testing.T) {
	s := newStage(t)
	if err := s.Account(Legacy); err != nil {
		t.Fatal(err)
	}
	if err := s.Cause(Unavailable); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		s.Burst(t.Context(), n)
	}
	if level, _ := ofOrders(t, s.Stats()); level.Tokens == 500 {
		t.Fatalf("nothing was paid: %+v", level)
	}
	if err := s.Account(Settled); err != nil {
		t.Fatal(err)
	}
	if err := s.Cause(Healthy); err != nil {
		t.Fatal(err)
	}
	s.Burst(t.Context(), 1)
	if level, _ := ofOrders(t, s.Stats()); level.Tokens != 500 {
		t.Errorf("%+v", level)
	}
	if state := s.State(); state.Accounting != Settled || state.Trouble != Healthy {
		t.Errorf("%+v", state)
	}
}

func TestABurstReachesAllUpstreams(t *testing.T) {
	s := newStage(t)
	s.Burst(t.Context(), 0)
	stats := s.Stats()
	for _, origin := range []string{Orders, Search, Feed} {
		if stats.Pool.Origins[origin+":80"].Dials == 0 {
			t.Errorf("%s was not called: %+v", origin, stats.Pool.Origins)
		}
	}
}

func TestUnknownNamesAreNamed(t *testing.T) {
	s := newStage(t)
	for _, err := range []error{s.Cause("rain"), s.Account("rain")} {
		if err == nil || !strings.Contains(err.Error(), `"rain"`) {
			t.Errorf("%v", err)
		}
	}
	for _, trouble := range Troubles() {
		if err := s.Cause(trouble); err != nil {
			t.Error(err)
		}
	}
}

func TestTheIllsOfAServiceOutsideCannotBeChosen(t *testing.T) {
	other := newStage(t)
	s, err := New(Config{OrdersAddr: strings.TrimPrefix(other.orders.URL(), "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Burst(t.Context(), 1)
	if s.Heals() || s.Cause(Dead) == nil || other.orders.Hits() == 0 {
		t.Errorf("heals %t, hits %d", s.Heals(), other.orders.Hits())
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.Run(ctx)
	}()
	if err := s.Cause(Kill); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-over
}

func TestAClosedStageTakesNoOtherClient(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.Account(Legacy) == nil {
		t.Error("a closed stage made a client")
	}
}
