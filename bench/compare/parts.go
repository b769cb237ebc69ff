package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"
	peer "github.com/tmaxmax/go-sse"
	"golang.org/x/time/rate"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/sse"
)

// part is a piece of a client that also exists by itself, beside its peers.
// The first one is plimsoll's.
type part struct {
	title string
	peers []named
}

type named struct {
	name string
	make func() op // shared by all goroutines; a parser makes a reader in each call
}

const origin = "https://api.example:443"

func parts() []part {
	return []part{
		{"retry budget, a call without retries", []named{
			{"plimsoll", func() op {
				tokens := must(budget.New(budget.Default())).Partition(origin)
				return func() { tokens.Replenish() }
			}},
			{"AWS SDK token bucket", func() op {
				l := ratelimit.NewTokenRateLimit(500)
				return func() { check(l.AddTokens(1)) }
			}},
			{"x/time/rate", func() op {
				l := rate.NewLimiter(rate.Inf, 500)
				return func() { l.Allow() }
			}},
		}},
		{"retry budget, a retry that helps", []named{
			{"plimsoll", func() op {
				tokens := must(budget.New(budget.Default())).Partition(origin)
				return func() {
					if r, err := tokens.Reserve(budget.Transient); err == nil {
						r.Settle(budget.Refund)
					}
				}
			}},
			{"AWS SDK token bucket", func() op {
				l := ratelimit.NewTokenRateLimit(500)
				ctx := context.Background()
				return func() {
					if release, err := l.GetToken(ctx, 5); err == nil {
						check(release())
					}
				}
			}},
			{"x/time/rate", func() op {
				l := rate.NewLimiter(1e9, 500)
				return func() { l.AllowN(time.Now(), 10) }
			}},
		}},
		{"breaker, admission and success", []named{
			{"plimsoll", func() op {
				b, ctx := newBreaker(), context.Background()
				return func() { must(b.Admit(ctx, origin)).Success() }
			}},
			{"gobreaker, two steps", func() op {
				b := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{})
				return func() { must(b.Allow())(nil) }
			}},
			{"failsafe-go", func() op {
				b := circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, leastCalls, time.Minute).Build()
				return func() {
					if b.TryAcquirePermit() {
						b.RecordSuccess()
					}
				}
			}},
		}},
		{"SSE parser, 1,000 events of 100 bytes", sseParsers(1000, 100)},
		{"SSE parser, 100 events of 4 KiB", sseParsers(100, 4096)},
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func sseParsers(n, size int) []named {
	event := "event: delta\nid: 7\ndata: " + strings.Repeat("x", size-27) + "\n\n"
	stream := []byte(strings.Repeat(event, n))
	return []named{
		{"plimsoll", func() op {
			return func() {
				seen := 0
				for _, err := range sse.All(bytes.NewReader(stream)) {
					check(err)
					seen++
				}
				same(seen, n)
			}
		}},
		{"tmaxmax/go-sse", func() op {
			return func() {
				seen := 0
				for _, err := range peer.Read(bytes.NewReader(stream), nil) {
					check(err)
					seen++
				}
				same(seen, n)
			}
		}},
	}
}

func same(got, want int) {
	if got != want {
		panic(fmt.Sprintf("compare: %d events, want %d", got, want))
	}
}

// partResult is what a part and its peers cost.
type partResult struct {
	Title      string
	Goroutines int
	Names      []string
	Times      []interval
	Bytes      []float64
	Allocs     []float64
}

func (pt part) measure(p plan, goroutines int) (partResult, []series) {
	result := partResult{Title: pt.title, Goroutines: goroutines}
	var teams []team
	for _, peer := range pt.peers {
		o := peer.make()
		result.Names = append(result.Names, peer.name)
		bytes, allocs := heapOf(team{o})
		result.Bytes, result.Allocs = append(result.Bytes, bytes), append(result.Allocs, allocs)
		teams = append(teams, sharedTeam(goroutines, o))
	}
	c := p.interleaved(teams)
	for i := range teams {
		result.Times = append(result.Times, c.time(i))
	}
	samples := c.series(benchmark("Part", "part", pt.title, "goroutines", goroutines), result.Names...)
	for i := range samples {
		samples[i].Bytes, samples[i].Allocs = result.Bytes[i], result.Allocs[i]
	}
	return result, samples
}

// sharedTeam is a team whose members share one op.
func sharedTeam(goroutines int, o op) team {
	return teamOf(goroutines, func() op { return o })
}
