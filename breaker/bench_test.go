package breaker

import (
	"context"
	"fmt"
	"strconv"
	"testing"
)

func benchBreaker(b *testing.B) *Breaker {
	b.Helper()
	br, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	return br
}

func BenchmarkAdmitSuccess(b *testing.B) {
	br := benchBreaker(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		p, err := br.Admit(ctx, "https://api.example:443")
		if err != nil {
			b.Fatal(err)
		}
		p.Success()
	}
}

// The goroutines are given to the scheduler as GOMAXPROCS times so many.
func BenchmarkAdmitSuccessParallel(b *testing.B) {
	for _, goroutines := range []int{8, 64} {
		b.Run(strconv.Itoa(goroutines), func(b *testing.B) {
			br := benchBreaker(b)
			ctx := context.Background()
			b.ReportAllocs()
			b.SetParallelism(goroutines / 2)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					p, err := br.Admit(ctx, "https://api.example:443")
					if err != nil {
						b.Error(err)
						return
					}
					p.Success()
				}
			})
		})
	}
}

func BenchmarkRejection(b *testing.B) {
	br := benchBreaker(b)
	ctx := context.Background()
	for range 5 {
		p, err := br.Admit(ctx, "k")
		if err != nil {
			b.Fatal(err)
		}
		p.Failure()
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := br.Admit(ctx, "k"); err == nil {
			b.Fatal("admitted")
		}
	}
}

// One key in ten fails every fifth time; the mutex is taken there.
func BenchmarkNoisyKey(b *testing.B) {
	br := benchBreaker(b)
	ctx := context.Background()
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		p, err := br.Admit(ctx, "k")
		if err != nil {
			b.Fatal(err)
		}
		if i++; i%5 == 0 {
			p.Failure()
		} else {
			p.Success()
		}
	}
}

func BenchmarkManyKeys(b *testing.B) {
	br := benchBreaker(b)
	ctx := context.Background()
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = fmt.Sprintf("https://host-%d.example:443", i)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		p, err := br.Admit(ctx, keys[i&1023])
		if err != nil {
			b.Fatal(err)
		}
		p.Success()
		i++
	}
}
