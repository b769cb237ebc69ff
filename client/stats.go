package client

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/pool"
)

// Stats is a snapshot of a client. The parts are read one after the other, so
// under load they need not agree to the last request.
type Stats struct {
	Generation uint64                      // of the configuration, from 1
	Pool       pool.Stats                  // of the current generation, streams included; zero with Config.Base
	Budget     map[string]budget.Level     // by partition; nil without a budget
	Breaker    map[string]breaker.Snapshot // by partition; nil without a breaker
	Throttles  int                         // partitions whose server asked for no requests
}

// Stats returns a snapshot.
func (t *Transport) Stats() Stats {
	s := Stats{Throttles: t.throttles.Len()}
	if g := t.gen.Load(); g != nil {
		s.Generation = g.number
		s.Pool = g.stats()
	}
	if t.cfg.Budget != nil {
		s.Budget = maps.Collect(t.cfg.Budget.Levels())
	}
	if t.cfg.Breaker != nil {
		s.Breaker = t.cfg.Breaker.Snapshots()
	}
	return s
}

func (g *generation) stats() pool.Stats {
	var sum pool.Stats
	for i, p := range g.pools {
		if s := p.Stats(); i == 0 {
			sum = s
		} else {
			sum.HookPanics += s.HookPanics
			sum.OriginStats = plus(sum.OriginStats, s.OriginStats)
			for origin, o := range s.Origins {
				sum.Origins[origin] = plus(sum.Origins[origin], o)
			}
		}
	}
	return sum
}

func plus(a, b pool.OriginStats) pool.OriginStats {
	return pool.OriginStats{
		Open: a.Open + b.Open, Idle: a.Idle + b.Idle, Active: a.Active + b.Active, Dialing: a.Dialing + b.Dialing,
		Waiting: a.Waiting + b.Waiting, Requests: a.Requests + b.Requests,
		Dials: a.Dials + b.Dials, Reuses: a.Reuses + b.Reuses, Stale: a.Stale + b.Stale, Recoveries: a.Recoveries + b.Recoveries,
	}
}

// sources are what observed instruments read.
func (t *Transport) sources() otelbridge.Sources {
	return otelbridge.Sources{
		Tokens: func(yield func(otelbridge.TokenLevel) bool) {
			if t.cfg.Budget == nil {
				return
			}
			origins := t.origins()
			for partition, l := range t.cfg.Budget.Levels() {
				if !yield(otelbridge.TokenLevel{Origin: origins[partition], Partition: partition, Tokens: l.Tokens, Capacity: l.Capacity}) {
					return
				}
			}
		},
		Conns: func(yield func(otelbridge.ConnCount) bool) {
			for _, g := range t.generations() {
				for origin, s := range g.stats().Origins {
					if !yield(otelbridge.ConnCount{Origin: origin, Active: s.Active, Idle: s.Idle, Waiting: s.Waiting}) {
						return
					}
				}
			}
		},
		Requests: func(yield func(otelbridge.RequestCount) bool) {
			for _, g := range t.generations() {
				for _, tg := range g.targets.all() {
					if !yield(otelbridge.RequestCount{Origin: tg.origin, Partition: tg.partition, Active: int(tg.active.Load())}) {
						return
					}
				}
			}
		},
		Breakers: func(yield func(otelbridge.BreakerLevel) bool) {
			if t.cfg.Breaker == nil {
				return
			}
			origins := t.origins()
			for key, s := range t.cfg.Breaker.Snapshots() {
				if !yield(otelbridge.BreakerLevel{Origin: origins[key], Partition: key, State: s.State, Cooldown: s.Cooldown}) {
					return
				}
			}
		},
		HookPanics: func() (n uint64) {
			for _, g := range t.generations() {
				n += g.stats().HookPanics
			}
			if t.cfg.Breaker != nil {
				n += t.cfg.Breaker.HookPanics()
			}
			return n
		},
	}
}

// generations are the current one and the retired ones with calls.
func (t *Transport) generations() []*generation {
	t.closing.Lock()
	defer t.closing.Unlock()
	gens := slices.Clone(t.old)
	if g := t.gen.Load(); g != nil && !g.retired.Load() {
		gens = append(gens, g)
	}
	return gens
}

// origins maps a partition to the origin it belongs to, or to "" where it
// spans several.
func (t *Transport) origins() map[string]string {
	m := map[string]string{}
	for _, g := range t.generations() {
		for _, tg := range g.targets.all() {
			if o, ok := m[tg.partition]; ok && o != tg.origin {
				m[tg.partition] = ""
			} else {
				m[tg.partition] = tg.origin
			}
		}
	}
	return m
}

// DebugHandler serves Stats: plain text, or JSON with ?format=json or where
// Accept asks for application/json. It shows origins and partitions, never
// paths, headers or bodies. It has no access control: mount it where only
// operators reach it.
func (t *Transport) DebugHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := t.Stats()
		w.Header().Set("Cache-Control", "no-store")
		if r.FormValue("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json") {
			w.Header().Set("Content-Type", "application/json")
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			_ = enc.Encode(s) // the client went away
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		s.write(w, t.cfg.Name)
	})
}

func (s *Stats) write(w io.Writer, name string) {
	tab := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	defer tab.Flush()
	fmt.Fprintf(tab, "client %s\tgeneration %d\tthrottled partitions %d\n", name, s.Generation, s.Throttles)
	fmt.Fprintf(tab, "\npartition\ttokens\tcapacity\treserved\n")
	for _, k := range slices.Sorted(maps.Keys(s.Budget)) {
		l := s.Budget[k]
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\n", k, l.Tokens, l.Capacity, l.Reserved)
	}
	fmt.Fprintf(tab, "\nbreaker\tstate\tcooldown\n")
	for _, k := range slices.Sorted(maps.Keys(s.Breaker)) {
		b := s.Breaker[k]
		fmt.Fprintf(tab, "%s\t%v\t%v\n", k, b.State, b.Cooldown)
	}
	fmt.Fprintf(tab, "\norigin\topen\tidle\tactive\tdialing\twaiting\tdials\treuses\tstale\trecoveries\n")
	for _, k := range slices.Sorted(maps.Keys(s.Pool.Origins)) {
		o := s.Pool.Origins[k]
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n",
			k, o.Open, o.Idle, o.Active, o.Dialing, o.Waiting, o.Dials, o.Reuses, o.Stale, o.Recoveries)
	}
}
