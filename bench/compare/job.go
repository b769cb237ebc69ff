package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// job is what is measured in a process of its own: the heap that one contest
// has grown changes how often garbage is collected in the next, and thereby
// who wins it.
type job struct {
	name    string // words with slashes between them
	measure func(targets plan) findings
	keep    func(*results, findings)
}

// findings are what a job has measured; the process that runs it hands them to
// the one that writes the tables.
type findings struct {
	Targets  []target
	Poisoned []poisoned
	Part     partResult
	Origins  originCost
	Routines goroutineCost
	Idle     [2]float64 // bytes per idle connection: pool, http.Transport
	Rows     []row
	Samples  []series
}

// jobs are all jobs in their order; those of the targets so many times.
func jobs(runs int) []job {
	js := []job{{"million", func(plan) findings { million(); return findings{} }, func(*results, findings) {}}}
	for run := range runs {
		for _, g := range targetGroups() {
			js = append(js, job{"targets/" + g.name, func(p plan) (f findings) {
				f.Targets, f.Samples = g.measure(p)
				return f
			}, func(r *results, f findings) {
				if len(r.targets) <= run {
					r.targets = append(r.targets, nil)
				}
				r.targets[run] = append(r.targets[run], f.Targets...)
			}})
		}
	}
	for _, c := range poisonedCases() {
		js = append(js, job{"poisoned/" + c.name(), func(plan) (f findings) {
			f.Poisoned, f.Samples = c.measure()
			return f
		}, func(r *results, f findings) { r.poisoned[c] = f.Poisoned }})
	}
	for i, part := range parts() {
		for _, goroutines := range concurrency {
			js = append(js, job{fmt.Sprintf("parts/%d/%d", i+1, goroutines), func(plan) (f findings) {
				f.Part, f.Samples = part.measure(gridPlan, goroutines)
				return f
			}, func(r *results, f findings) { r.parts = append(r.parts, f.Part) }})
		}
	}
	js = append(js, scaleJobs()...)
	for _, c := range cells() {
		js = append(js, job{"calls/" + c.name(), func(plan) (f findings) {
			f.Rows, f.Samples = c.measure(gridPlan)
			return f
		}, func(r *results, f findings) { r.cells = append(r.cells, cellResult{c, f.Rows}) }})
	}
	return js
}

func scaleJobs() (js []job) {
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		js = append(js, job{fmt.Sprintf("scale/origins/%d", n), func(plan) (f findings) {
			f.Origins, f.Samples = perOrigin(scalePlan, n)
			return f
		}, func(r *results, f findings) { r.origins = append(r.origins, f.Origins) }})
	}
	for _, n := range []int{1, 2, 8, 64, 512} {
		js = append(js, job{fmt.Sprintf("scale/goroutines/%d", n), func(plan) (f findings) {
			f.Routines, f.Samples = perGoroutine(scalePlan, n)
			return f
		}, func(r *results, f findings) { r.routines = append(r.routines, f.Routines) }})
	}
	return append(js, job{"scale/idle", func(plan) findings {
		return findings{Idle: [2]float64{poolConnection(1000), transportConnection(1000)}}
	}, func(r *results, f findings) { r.idle = f.Idle }})
}

// chosen reports whether the job is of what only names: all, all but the
// million calls, or those whose names begin with these words.
func (j job) chosen(only string) bool {
	switch only {
	case "":
		return true
	case "tables":
		return j.name != "million"
	}
	return j.name == only || strings.HasPrefix(j.name, only+"/")
}

// run runs the job in a process of its own. A process that does not end by
// itself is told to show where it hangs.
func (j job) run(args []string, longest time.Duration) (findings, error) {
	var f findings
	program, err := os.Executable()
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append([]string{"-job=" + j.name}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	cmd.Cancel = func() error {
		fmt.Fprintf(os.Stderr, "compare: %s has not ended within %v\n", j.name, longest)
		return cmd.Process.Signal(syscall.SIGQUIT)
	}
	cmd.WaitDelay = 5 * time.Second
	if err = cmd.Run(); err == nil {
		err = gob.NewDecoder(&out).Decode(&f)
	}
	if err != nil {
		err = fmt.Errorf("compare: %s: %w", j.name, err)
	}
	return f, err
}

// serve is run on the side of the job's process.
func (j job) serve(p plan, w io.Writer) error { return gob.NewEncoder(w).Encode(j.measure(p)) }
