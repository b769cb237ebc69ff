// Package breakertest checks stores of package breaker, and programs that use
// one.
//
// [Run] and [RunVirtual] are the conformance suite that every [breaker.Store]
// has to pass. Each of its cases explains the rule that was broken. A store
// that lives in this process and takes its time from package time runs in
// virtual time:
//
//	func TestConformance(t *testing.T) {
//		breakertest.RunVirtual(t, func(*testing.T) breaker.Store { return mystore.New() })
//	}
//
// Any other store says how to make time pass for it. If that is a real clock,
// the cases that need one that stands still are skipped; see [Harness].
//
// [Watch] finds admissions that a program forgot to settle.
package breakertest
