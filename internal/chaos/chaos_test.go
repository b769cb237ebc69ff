package chaos

import (
	"io"
	"log"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) //nolint:forbidigo // net/http logs what servers send unasked, and has no other way to be quiet about it
	os.Exit(m.Run())
}

// Thousands of calls, each with a seeded fault, method, body, cancellation and
// more around it, leave nothing behind and break no promise.
func TestChaos(t *testing.T) {
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = nil
		for i := range *seedsFlag {
			seeds = append(seeds, uint64(i)+1)
		}
	}
	var total tally
	for _, seed := range seeds {
		w := newWorld(seed, *callsFlag)
		round(t, w, nil)
		w.report(t)
		total.merge(&w.tally)
		t.Logf("seed %d: %v", seed, &w.tally)
	}
	t.Logf("all: %v", &total)
	for _, name := range total.missing() {
		t.Errorf("%d calls, and nothing of this has happened: %s", total.count("calls"), name)
	}
}
