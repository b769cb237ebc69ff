package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	runs := flag.Int("runs", 3, "how often the targets are measured in a row")
	rounds := flag.Int("rounds", targetPlan.rounds, "rounds of each target")
	each := flag.Duration("slice", targetPlan.slice, "length of a slice of each target")
	only := flag.String("only", "", "measure a part and print it: targets, poisoned, parts, scale or calls, with more words and slashes for less (calls/TLS/30, targets/pool); tables: all but the million calls")
	group := flag.String("group", "", "the same as -only targets/...")
	table := flag.String("table", "../docs/benchmarks.md", "the table that is written")
	raw := flag.String("raw", "raw.txt", "the samples that are written")
	how := flag.String("clock", "wall", "what the ratios of serial calls are timed with: wall, or processor, on a machine that is busy")
	name := flag.String("job", "", "measure this one and write the findings for the process that started this one")
	flag.Parse()
	p := targetPlan
	p.rounds, p.slice = *rounds, *each
	what := "wall clock"
	if *how == "processor" {
		// failsafe-go works on goroutines of its own, and its time counts. The
		// batch processor of the SDK is one, too: no caller waits for it.
		p.clock, p.busy, what = processorClock, true, "processor time: of the process without telemetry, of the calling thread with it"
	}
	if *group != "" {
		*only = "targets/" + *group
	}
	all := jobs(*runs)
	switch i := slices.IndexFunc(all, func(j job) bool { return j.name == *name }); {
	case i >= 0:
		if p.busy {
			runtime.LockOSThread()
		}
		end(all[i].serve(p, os.Stdout))
		return
	case *name != "":
		end(fmt.Errorf("compare: -job %q: there is none of this name", *name))
	case *how != "wall" && *how != "processor":
		end(fmt.Errorf("compare: -clock %q: use wall or processor", *how))
	case p.rounds < 1 || p.slice < 1 || *runs < 1:
		end(fmt.Errorf("compare: -runs %d -rounds %d -slice %v: all must be positive", *runs, p.rounds, p.slice))
	}
	todo := slices.DeleteFunc(all, func(j job) bool { return !j.chosen(*only) })
	if len(todo) == 0 {
		end(fmt.Errorf("compare: -only %q: use targets, poisoned, parts, scale, calls, million or tables; the words that follow are those that the progress shows", *only))
	}
	r := &results{
		began: time.Now(), load: load(), poisoned: map[poisonedCase][]poisoned{},
		plan: fmt.Sprintf("%d rounds of slices of %v, %s", p.rounds, p.slice, what),
	}
	args := []string{fmt.Sprintf("-rounds=%d", p.rounds), fmt.Sprintf("-slice=%v", p.slice), "-clock=" + *how}
	end(r.measure(todo, args, 3*time.Minute+time.Duration(20*p.rounds)*p.slice))
	if *only != "" && *only != "tables" {
		r.writeMeasured(os.Stdout)
		return
	}
	var text, samples bytes.Buffer
	r.write(&text)
	r.writeRaw(&samples)
	end(os.WriteFile(*table, text.Bytes(), 0o644))  //nolint:gosec // a public document
	end(os.WriteFile(*raw, samples.Bytes(), 0o644)) //nolint:gosec // a public document
	fmt.Fprintf(os.Stderr, "%6.1fs  written: %s\n", time.Since(r.began).Seconds(), strings.Join([]string{*table, *raw}, ", "))
}

// measure runs jobs one after the other, each in a process of its own.
func (r *results) measure(jobs []job, args []string, longest time.Duration) error {
	for _, j := range jobs {
		fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(r.began).Seconds(), j.name)
		f, err := j.run(args, longest)
		if err != nil {
			return err
		}
		j.keep(r, f)
		r.samples = append(r.samples, f.Samples...)
	}
	return nil
}

// end ends the program if err says why.
func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
