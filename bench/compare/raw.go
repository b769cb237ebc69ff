package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
)

// series are the samples of one contestant in one contest.
type series struct {
	Name          string // of the benchmark, without its first word
	Unit          string
	Ops           int // operations in a round
	Times         []float64
	Bytes, Allocs float64 // per operation; none are written where both are 0
}

// label is text as a value in a benchmark's name.
func label(text string) string {
	return strings.NewReplacer(" ", "_", ",", "", "/", "").Replace(text)
}

// benchmark is a benchmark's name of pairs of key and value.
func benchmark(group string, pairs ...any) string {
	var name strings.Builder
	name.WriteString(group)
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&name, "/%s=%s", pairs[i], label(fmt.Sprint(pairs[i+1])))
	}
	return name.String()
}

// series returns the samples of the teams, whose names these are.
func (c contest) series(name string, clients ...string) []series {
	samples := make([]series, len(clients))
	for i, who := range clients {
		samples[i] = series{Name: name + benchmark("", "client", who), Unit: "ns/op", Ops: c.ops[i], Times: c.times[i]}
	}
	return samples
}

// writeRaw writes all samples as benchmark results. Each is the mean of a few
// consecutive rounds: benchstat wants six samples or more and no hundred.
func (r *results) writeRaw(w io.Writer) {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: github.com/plimsoll-http/plimsoll/bench/compare\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, processor())
	const samples = 8
	for _, s := range r.samples {
		n := min(samples, len(s.Times))
		for i := range n {
			from, to := i*len(s.Times)/n, (i+1)*len(s.Times)/n
			sum := 0.0
			for _, t := range s.Times[from:to] {
				sum += t
			}
			fmt.Fprintf(w, "Benchmark%s-%d\t%d\t%.5g %s", s.Name, runtime.GOMAXPROCS(0), s.Ops*(to-from), sum/float64(to-from), s.Unit)
			if s.Bytes+s.Allocs > 0 {
				fmt.Fprintf(w, "\t%.0f B/op\t%.0f allocs/op", s.Bytes, s.Allocs)
			}
			fmt.Fprintln(w)
		}
	}
}
