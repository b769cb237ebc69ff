// Command compare measures plimsoll beside its peers, in one run: the same
// work, the same handler, on this machine. It writes docs/benchmarks.md and
// the raw samples, which benchstat reads, into bench/raw.txt.
//
// Times come from slices that alternate between all contestants, forwards and
// then backwards, so that a machine that changes its pace
// meanwhile slows all of them. A figure is the median over the rounds with a
// bootstrap 95 % interval; a ratio is formed in each round, of the times above
// those of the bare RoundTripper, and a bound applies to the upper end of its
// interval. Run it on a machine that does nothing else.
package main
