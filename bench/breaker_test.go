package bench

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/internal/bootstrap"
)

// breakerPeers run one healthy operation: asked for, admitted, settled as a
// success.
var breakerPeers = []struct {
	name string
	make func(testing.TB) func(testing.TB)
}{
	{"plimsoll", func(tb testing.TB) func(testing.TB) {
		b, err := breaker.New(breaker.Config{})
		if err != nil {
			tb.Fatal(err)
		}
		ctx := context.Background()
		return func(tb testing.TB) {
			p, err := b.Admit(ctx, "https://api.example:443")
			if err != nil {
				tb.Error(err)
				return
			}
			p.Success()
		}
	}},
	{"gobreaker", func(testing.TB) func(testing.TB) {
		b := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{})
		return func(tb testing.TB) {
			done, err := b.Allow()
			if err != nil {
				tb.Error(err)
				return
			}
			done(nil)
		}
	}},
	{"failsafe", func(testing.TB) func(testing.TB) {
		b := circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 20, time.Minute).Build()
		return func(tb testing.TB) {
			if !b.TryAcquirePermit() {
				tb.Error("rejected")
				return
			}
			b.RecordSuccess()
		}
	}},
}

func BenchmarkBreakerSerial(b *testing.B) {
	for _, peer := range breakerPeers {
		b.Run(peer.name, func(b *testing.B) {
			op := peer.make(b)
			b.ReportAllocs()
			for b.Loop() {
				op(b)
			}
		})
	}
}

// BenchmarkBreakerRatio reports plimsoll's time as a share of gobreaker's: the
// median over slices that alternate A B B A, so that a machine that changes
// its pace meanwhile slows both, and the upper end of the median's bootstrap
// 95 % interval, to which a bound applies. Run it with -benchtime 60x: fewer
// than 40 slices say too little.
func BenchmarkBreakerRatio(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		b.Run(strconv.Itoa(goroutines), func(b *testing.B) {
			a, peer := breakerPeers[0].make(b), breakerPeers[1].make(b)
			var ratios []float64
			for range b.N {
				x := timeSlice(b, goroutines, a)
				y := timeSlice(b, goroutines, peer)
				y += timeSlice(b, goroutines, peer)
				x += timeSlice(b, goroutines, a)
				ratios = append(ratios, float64(x)/float64(y))
			}
			ratio := bootstrap.Median(ratios)
			b.ReportMetric(ratio.Mid, "x-gobreaker")
			b.ReportMetric(ratio.High, "x-gobreaker-upper")
			b.ReportMetric(float64(len(ratios)), "slices")
		})
	}
}

// timeSlice runs 128,000 operations.
func timeSlice(tb testing.TB, goroutines int, op func(testing.TB)) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range 128_000 / goroutines {
				op(tb)
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}
