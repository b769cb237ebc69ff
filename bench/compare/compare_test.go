package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestRoundsGoForwardsAndThenBackwards(t *testing.T) {
	var order strings.Builder
	member := func(name string) team {
		return team{func() { order.WriteString(name) }}
	}
	now, settled := time.Duration(0), 0
	p := plan{
		rounds: 2, slice: 1, clock: func() time.Duration { now += 10; return now },
		settle: func() { settled++; order.WriteString("|") },
	}
	c := p.interleaved([]team{member("a"), member("b"), member("c")})
	var slicesOf strings.Builder
	_, measured, _ := strings.Cut(order.String(), "|")
	for s := range strings.SplitSeq(strings.TrimSuffix(measured, "|"), "|") {
		slicesOf.WriteByte(s[0])
	}
	if want := "bccbaabccba"; slicesOf.String() != want { // the first slice stands behind what was sized
		t.Errorf("order %s, want %s", slicesOf.String(), want)
	}
	if settled != 12 || len(c) != 3 || len(c[0]) != 2 {
		t.Errorf("settled %d times, %v", settled, c)
	}
}

func TestTheIntervalHoldsTheMedian(t *testing.T) {
	samples := []float64{9, 1, 5, 3, 7, 4, 6, 2, 8}
	i := bootstrap(samples)
	if i.mid != 5 || i.low > i.mid || i.high < i.mid || i.low < 1 || i.high > 9 || i.low == i.high {
		t.Errorf("%+v", i)
	}
	if again := bootstrap(samples); again != i {
		t.Errorf("%+v, and then %+v", i, again)
	}
}

func TestARatioIsOfTheTimesAboveTheBareOne(t *testing.T) {
	c := contest{{30, 30}, {50, 50}, {10, 10}}
	if got := c.ratio(1, 2).mid; got != 0.5 {
		t.Errorf("ratio %v, want 0.5", got)
	}
	if got := c.ratio(1, -1).mid; got != 0.6 {
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

// Parked connections that died are errors of http.Transport and of clients
// that spend their retries on them: golang/go#22158 and its kin.
func TestADeadPoolIsNoErrorOfPlimsoll(t *testing.T) {
	for _, c := range [][2]string{{"HTTP/1", "PUT"}, {"HTTP/2", "GET"}} {
		for _, p := range poisonedPool(c[0], c[1]) {
			t.Logf("%s %s: %d errors of %d calls: %s", c[0], c[1], p.errors, p.calls, p.name)
			if strings.HasPrefix(p.name, "plimsoll") && p.errors != 0 {
				t.Errorf("%s: %d errors", p.name, p.errors)
			}
			if p.name == "base alone" && p.errors == 0 {
				t.Error("http.Transport met no dead connection: the server kills none")
			}
		}
	}
}

func TestTheTableHoldsEveryContestant(t *testing.T) {
	w := memory()
	c := cell{w, 30, 2}
	r := &results{targets: [][]target{{{"a target", "×", 1, interval{0.5, 0.75, 1.25}}}}, poisoned: map[string][]poisoned{}}
	for _, p := range poisonedCases {
		r.poisoned[key(p)] = []poisoned{{name: "base alone", calls: 1, errors: 1}}
	}
	r.cells = []cellResult{{c, c.measure(plan{rounds: 8, slice: time.Microsecond, clock: wallClock})}}
	var table, raw bytes.Buffer
	r.write(&table)
	r.writeRaw(&raw)
	for _, who := range contestants() {
		if !who.wire && !strings.Contains(table.String(), "| "+who.name+" |") {
			t.Errorf("the table has no row of %s", who.name)
		}
	}
	if !strings.Contains(table.String(), "| a target | ≤ 1.00× | 0.75× (1.25) | **no** |") {
		t.Error("the upper end of an interval past its bound is not reported")
	}
	if lines := strings.Count(raw.String(), "ns/op"); lines != 8*len(r.cells[0].rows) {
		t.Errorf("%d raw samples", lines)
	}
	for _, row := range r.cells[0].rows {
		if row.name == "base alone" && (row.requests != counted || row.errors < counted/4 || row.errors > counted*2/5) {
			t.Errorf("alone: %d requests, %d errors of %d calls", row.requests, row.errors, counted)
		}
		if row.name == "plimsoll, no telemetry" && row.errors > counted/50 {
			t.Errorf("plimsoll: %d errors of %d calls with retries", row.errors, counted)
		}
	}
}
