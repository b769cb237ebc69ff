// Command compare measures plimsoll beside its peers, in one run: the same
// work, the same handler, on this machine. It writes docs/benchmarks.md and
// the raw samples, which benchstat reads, into bench/raw.txt.
//
// Each contest is measured in a process of its own, which the command starts
// one after the other: the heap that one contest has grown changes how often
// garbage is collected in the next. Within a contest, times come from slices
// that alternate between all contestants, forwards and then backwards, so that
// a machine that changes its pace meanwhile slows all of them. A figure is the
// median over the rounds with a bootstrap 95 % interval; a ratio is formed in
// each round, of the times above those of the bare RoundTripper, and a bound
// applies to the upper end of its interval. Run it on a machine that does
// nothing else.
//
// A contestant that leaves connections open for nothing has them closed after
// its slice, by the end of the context of its calls, and the table says how
// many there were. A process that has no file descriptor left, and one that
// does not end, end the run with an error.
package main
