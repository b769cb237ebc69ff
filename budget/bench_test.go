package budget

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// filled returns a bucket with partitions partitions, all but the first of
// them busy, and a handle on the first.
func filled(b *testing.B, partitions int) (*Bucket, *Partition) {
	bucket := small(b, partitions)
	p := bucket.Partition("healthy")
	for i := 1; i < partitions; i++ {
		take(b, bucket.Partition(fmt.Sprint("https://host-", i)), fmt.Sprint("https://host-", i)).Settle(Partial)
	}
	return bucket, p
}

func BenchmarkReplenishHealthy(b *testing.B) {
	for _, partitions := range []int{1, 4096} {
		b.Run(fmt.Sprintf("%d partitions", partitions), func(b *testing.B) {
			_, p := filled(b, partitions)
			b.ReportAllocs()
			for b.Loop() {
				p.Replenish()
			}
		})
		b.Run(fmt.Sprintf("%d partitions, 64 goroutines", partitions), func(b *testing.B) {
			_, p := filled(b, partitions)
			in64Goroutines(b, func() { p.Replenish() })
		})
	}
	b.Run("no partition of its own", func(b *testing.B) {
		bucket, _ := filled(b, 16)
		take(b, bucket.Partition("healthy"), "healthy")
		p := bucket.Partition("one more")
		b.ReportAllocs()
		for b.Loop() {
			p.Replenish()
		}
	})
	b.Run("dropped", func(b *testing.B) {
		bucket := small(b, 1)
		p := bucket.Partition("a")
		bucket.Partition("b")
		b.ReportAllocs()
		for b.Loop() {
			p.Replenish()
		}
	})
	b.Run("by key, 4096 partitions", func(b *testing.B) {
		bucket, _ := filled(b, 4096)
		b.ReportAllocs()
		for b.Loop() {
			bucket.Replenish("healthy")
		}
	})
}

// BenchmarkReplenishBesideABusyNeighbor has one goroutine write another
// partition without pause; the healthy one must not feel it.
func BenchmarkReplenishBesideABusyNeighbor(b *testing.B) {
	bucket := small(b, 2)
	p, busy := bucket.Partition("healthy"), bucket.Partition("busy")
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !stop.Load() {
			if r, err := busy.Reserve(Transient); err == nil {
				r.Cancel()
			}
		}
	}()
	for b.Loop() {
		p.Replenish()
	}
	stop.Store(true)
	<-stopped
}

func BenchmarkReserveAndSettle(b *testing.B) {
	pay := func(p *Partition) {
		r, err := p.Reserve(Transient)
		if err == nil {
			r.Settle(Refund)
		}
	}
	b.Run("serial", func(b *testing.B) {
		p := small(b, 1).Partition("a")
		b.ReportAllocs()
		for b.Loop() {
			pay(p)
		}
	})
	b.Run("64 goroutines", func(b *testing.B) {
		p := small(b, 1).Partition("a")
		in64Goroutines(b, func() { pay(p) })
	})
}

func BenchmarkLevels4096(b *testing.B) {
	bucket, _ := filled(b, 4096)
	b.ReportAllocs()
	for b.Loop() {
		for range bucket.Levels() {
		}
	}
}

func BenchmarkClockAllows(b *testing.B) {
	start := time.Now()
	c := StartClockAt(start, time.Minute, time.Time{})
	b.ReportAllocs()
	for b.Loop() {
		c.AllowsAt(start, time.Second)
	}
}

func BenchmarkThrottlesUntil(b *testing.B) {
	b.Run("empty", func(b *testing.B) {
		th := NewThrottles(0)
		b.ReportAllocs()
		for b.Loop() {
			th.Until("https://example.com:443")
		}
	})
	b.Run("4096 live", func(b *testing.B) {
		th, now := NewThrottles(0), time.Now()
		for i := range 4096 {
			th.RecordAt(now, fmt.Sprint(i), now.Add(time.Hour+time.Duration(i)))
		}
		b.ReportAllocs()
		for b.Loop() {
			th.UntilAt(now, "17")
		}
	})
}

// in64Goroutines runs f b.N times in 64 goroutines.
func in64Goroutines(b *testing.B, f func()) {
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f()
		}
	})
}
