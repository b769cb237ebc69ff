package chaos

import "flag"

var (
	seedFlag   = flag.Uint64("seed", 0, "run this seed alone; 0: as many as -seeds says")
	seedsFlag  = flag.Int("seeds", 4, "how many seeds to run, from 1")
	callsFlag  = flag.Int("calls", 150, "calls per seed")
	soakFlag   = flag.Duration("soak", 0, "how long TestSoak goes on; 0: not at all")
	longFlag   = flag.Bool("long", false, "let the tests of memory take minutes")
	vulnFlag   = flag.Bool("vuln", false, "ask the vulnerability database")
	updateFlag = flag.Bool("update", false, "write docs/faults.md")
)
