package main

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/require"
)

// A job is run by starting this program again: here, the test's.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-job=") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestRoundsGoForwardsAndThenBackwards(t *testing.T) {
	var order strings.Builder
	member := func(name string) team {
		return team{func() { order.WriteString(name) }}
	}
	now, settled := time.Duration(0), 0
	p := plan{
		rounds: 2, slice: 1, clock: func() time.Duration { now += 10; return now },
		settle: func(int) { settled++; order.WriteString("|") },
	}
	c := p.interleaved([]team{member("a"), member("b"), member("c")})
	var slicesOf strings.Builder
	for s := range strings.SplitSeq(strings.TrimSuffix(order.String(), "|"), "|") {
		slicesOf.WriteByte(s[0])
	}
	if want := "abc" + "abccba" + "abccba"; slicesOf.String() != want { // each is sized first
		t.Errorf("order %s, want %s", slicesOf.String(), want)
	}
	if settled != 15 || len(c.times) != 3 || len(c.times[0]) != 2 || c.ops[0] < 2 {
		t.Errorf("settled %d times, %v", settled, c)
	}
}

func TestARatioIsOfTheTimesAboveTheBareOne(t *testing.T) {
	c := contest{times: [][]float64{{30, 30}, {50, 50}, {10, 10}}}
	if got := c.ratio(1, 2).Mid; got != 0.5 {
		t.Errorf("ratio %v, want 0.5", got)
	}
	if got := c.ratio(1, -1).Mid; got != 0.6 {
		t.Errorf("ratio %v, want 0.6", got)
	}
}

func TestTheShareOfFailuresIsTheSameAfterEachReset(t *testing.T) {
	var f failures
	count := func() (n int) {
		f.reset(30)
		for range 10_000 {
			if f.next() {
				n++
			}
		}
		return n
	}
	first := count()
	if second := count(); first != second || first < 2_800 || first > 3_200 {
		t.Errorf("%d of 10,000 failed, and then %d", first, second)
	}
}

// One hiccup while a slice is sized must not leave it a few calls long.
func TestAHiccupSizesNoSlice(t *testing.T) {
	runs := 0
	slow := team{func() {
		if runs++; runs == 1 {
			for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
			}
		}
	}}
	if n := slow.size(10 * time.Millisecond); n < 1000 {
		t.Errorf("%d calls in 10 ms", n)
	}
}

// Parked connections that died are errors of http.Transport and of clients
// that spend their retries on them: golang/go#22158 and its kin.
func TestADeadPoolIsNoErrorOfPlimsoll(t *testing.T) {
	for _, c := range []poisonedCase{{"HTTP/1", "PUT", 1}, {"HTTP/1", "PUT", 16}, {"HTTP/2", "GET", 1}, {"HTTP/2", "PUT", 16}} {
		rows, samples := c.measure()
		for i, p := range rows {
			t.Logf("%s: %d errors of %d calls: %s", c.name(), p.Errors, p.Calls, p.Name)
			if strings.HasPrefix(p.Name, "plimsoll") && p.Errors != 0 {
				t.Errorf("%s: %d errors", p.Name, p.Errors)
			}
			if p.Name == "base alone" && p.Errors == 0 {
				t.Error("http.Transport met no dead connection: the server kills none")
			}
			if len(samples[i].Times) != poisonedCalls/c.parked() {
				t.Errorf("%d samples", len(samples[i].Times))
			}
		}
	}
}

// A contestant that never closes the body of an attempt that failed must not
// take the others' file descriptors, and it is told that it did.
func TestWhatAContestantLeavesOpenIsClosedAfterItsSliceAndTold(t *testing.T) {
	w := newWorld("HTTP/1")
	defer w.close()
	careless := contestant{"careless", true, func(g ground) entry {
		return through(func(req *http.Request) (*http.Response, error) {
			for {
				resp, err := g.base.RoundTrip(req)
				if err != nil || resp.StatusCode == http.StatusOK {
					return resp, err
				}
			}
		}, g)
	}}
	c := cell{"HTTP/1", 30, 2}
	e := enter(careless, w)
	r := c.count(e)
	if r.Conns < counted/4 || r.LeftOpen <= 0 || r.LeftOpen > r.Conns || r.Errors != 0 {
		t.Errorf("%d connections, %d left open, %d errors of %d calls", r.Conns, r.LeftOpen, r.Errors, counted)
	}
	allClosed(t, e)
	work := teamOf(2, func() op {
		send := e.member("GET", nil)
		return func() { send() }
	})
	for range 3 {
		work.run(50, wallClock)
		if e.close(); e.open() < 10 {
			t.Errorf("%d connections are open after a slice: nothing was left open", e.open())
		}
		e.settle()
		allClosed(t, e)
	}
	tidy := enter(contestants()[0], w)
	if r := c.count(tidy); r.LeftOpen != 0 || r.Conns == 0 {
		t.Errorf("http.Transport: %d connections, %d left open", r.Conns, r.LeftOpen)
	}
	for _, e := range []*entrant{e, tidy} {
		e.scope.leave()
		e.close()
	}
}

// allClosed waits until e has no connection open but idle ones, whose number
// http.Transport alone decides: a dial that another call's connection made
// needless adds one. It closes them.
func allClosed(t *testing.T, e *entrant) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; e.quiet(betweenSlices) {
		if e.close(); e.open() == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d connections are still open, and not idle", e.open())
		}
	}
}

// http.Server waits for a file descriptor for ever, and the clients for the
// server.
func TestAProcessWithoutFileDescriptorsEndsWithAnError(t *testing.T) {
	sh := require.Tool(t, "sh") // it sets the limit
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), sh, "-c", `ulimit -n 48 && exec "$0" -job=calls/HTTP1/0/64`, self).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("compare: no file descriptor is left")) {
		t.Errorf("%v: %s", err, out[:min(len(out), 400)])
	}
}

func TestAJobIsMeasuredInAProcessOfItsOwn(t *testing.T) {
	var chosen []job
	for _, j := range jobs(1) {
		if slices.Contains([]string{"targets/client", "parts/3/1", "scale/origins/10"}, j.name) {
			chosen = append(chosen, j)
		}
	}
	r := &results{poisoned: map[poisonedCase][]poisoned{}}
	if err := r.measure(chosen, []string{"-rounds=2", "-slice=10us"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if len(r.targets) != 1 || len(r.targets[0]) != 3 || len(r.parts) != 1 || len(r.origins) != 1 || r.rounds() != 2 {
		t.Errorf("%d targets, %d parts, %d origins, %d rounds", len(r.targets), len(r.parts), len(r.origins), r.rounds())
	}
	if _, err := (job{name: "none"}).run(nil, time.Minute); err == nil {
		t.Error("a job that does not exist ended well")
	}
	if _, err := (job{name: "scale/idle"}).run(nil, time.Millisecond); err == nil {
		t.Error("a job that takes too long ended well")
	}
}

// Names choose a job in its process, and what is measured goes through gob.
func TestJobsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, j := range jobs(1) {
		if seen[j.name] || strings.ContainsAny(j.name, " ,") {
			t.Errorf("job %q", j.name)
		}
		seen[j.name] = true
	}
	for _, share := range []int{0, 1, 30} {
		for _, world := range worldNames {
			for _, g := range []int{1, 2, 16, 64} {
				if name := (cell{world, share, g}).name(); !seen["calls/"+name] {
					t.Errorf("no job measures %s", name)
				}
			}
		}
	}
	var b bytes.Buffer
	want := findings{Targets: []target{{"a", "×", 1, interval{1, 2, 3}}}, Rows: []row{{Name: "b", Time: interval{4, 5, 6}}}, Samples: []series{{Name: "c", Times: []float64{7}}}}
	if err := (job{measure: func(plan) findings { return want }}).serve(plan{}, &b); err != nil {
		t.Fatal(err)
	}
	var got findings
	if err := gob.NewDecoder(&b).Decode(&got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestTheTableHoldsEveryContestant(t *testing.T) {
	c := cell{"memory", 30, 2}
	r := &results{targets: [][]target{{{"a target", "×", 1, interval{0.5, 0.75, 1.25}}}}, poisoned: map[poisonedCase][]poisoned{}}
	for i, p := range poisonedCases() {
		for range contestants() {
			r.poisoned[p] = append(r.poisoned[p], poisoned{Name: "x", Calls: 1, Errors: i % len(concurrency)})
		}
	}
	rows, samples := c.measure(plan{rounds: 9, slice: time.Microsecond, clock: wallClock})
	r.cells, r.samples = []cellResult{{c, rows}}, samples
	var table, raw bytes.Buffer
	r.write(&table)
	r.writeRaw(&raw)
	_, calls, _ := strings.Cut(table.String(), "\n## Calls\n")
	for _, who := range contestants() {
		if !who.wire && !strings.Contains(calls, "| "+who.name+" |") {
			t.Errorf("the table has no row of %s", who.name)
		}
		if want := "| " + nameOn(who.name) + " |" + strings.Repeat(" 0 / 1 / 2 / 3 |", 6) + "\n"; !strings.Contains(table.String(), want) {
			t.Errorf("no row %s", want)
		}
	}
	if !strings.Contains(table.String(), "| a target | ≤ 1.00× | 0.75× (1.25) | **no** |") {
		t.Error("the upper end of an interval past its bound is not reported")
	}
	line := regexp.MustCompile(`^Benchmark[A-Z][a-z]*(/[a-z]+=[A-Za-z0-9_.-]+)+-\d+\t[1-9]\d*\t[0-9.e+]+ (cpu-)?ns/op(\t\d+ B/op\t\d+ allocs/op)?$`)
	lines := 0
	for l := range strings.Lines(raw.String()) {
		if strings.HasPrefix(l, "Benchmark") {
			if lines++; !line.MatchString(strings.TrimSuffix(l, "\n")) {
				t.Errorf("no benchmark result: %s", l)
			}
		}
	}
	if lines != 8*len(rows) {
		t.Errorf("%d raw samples", lines)
	}
	for _, row := range rows {
		if row.Name == "base alone" && (row.Requests != counted || row.Errors < counted/4 || row.Errors > counted*2/5) {
			t.Errorf("alone: %d requests, %d errors of %d calls", row.Requests, row.Errors, counted)
		}
		if row.Name == "plimsoll, no telemetry" && row.Errors > counted/50 {
			t.Errorf("plimsoll: %d errors of %d calls with retries", row.Errors, counted)
		}
	}
}
