package main

import (
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
)

// Bounds of the waits of plimsoll get, beside --timeout.
const (
	longestAsked = 60 * time.Second // the longest Retry-After that is waited for
	longestWaits = 2 * time.Minute  // from the start of a request to its last retry
)

// refused says that an answer is a failure, and what can be done. Where nothing
// can be done and the summary says the rest, it is silent.
func (s *session) refused(answer int, report client.Report, status int) {
	text := fmt.Sprintf("status %d after %s", answer, quantity(report.Attempts, "attempt"))
	_, file := s.out.(*download)
	if file {
		text += "; " + printable(s.o.output) + " is left as it was, --fail=false writes the body all the same"
	}
	what := hint(s.o, status, s.skipped(report))
	if what != "" && !s.o.quiet {
		text += "; " + what
	}
	if file || what != "" || s.o.quiet || s.o.json {
		complain(s.std.err, "%s", text)
	}
}

// skipped is the retry that report says was not made, with its numbers.
func (s *session) skipped(report client.Report) events.RetrySkipped {
	skip := s.recorder.skipped()
	if skip.Reason != report.Skipped { // of another call of the request
		return events.RetrySkipped{Reason: report.Skipped}
	}
	return skip
}

// hint says what can be done about a failure, or "".
func hint(o *getOptions, status int, skip events.RetrySkipped) string {
	switch {
	case status == exitCertificate && o.ca == "":
		return "--cacert FILE trusts another authority; --insecure checks nothing"
	case status == exitTimeout && o.timeout > 0 && !o.stream:
		return "--timeout is " + o.timeout.String()
	case o.http2 && (status == exitTransfer || status == exitTLS):
		return "--http2 speaks nothing else, and perhaps the server does not speak it: leave --http2 out"
	}
	switch skip.Reason {
	case events.SkipBucket:
		return "the retry budget does not hold the cost of a retry; --budget N makes it larger"
	case events.SkipDeadline:
		return unfit(o, skip)
	case events.SkipMethod:
		return o.method + " may have had an effect; -H 'Idempotency-Key: UNIQUE' allows retries"
	case events.SkipAttempts:
		return "--retry N allows more"
	case events.SkipBreaker:
		return "the breaker opened; --breaker 0 is none"
	}
	return ""
}

// unfit says which bound a wait did not fit. The time limit and the bound of
// all waits begin together, so the shorter one decides.
func unfit(o *getOptions, skip events.RetrySkipped) string {
	left := max(0, skip.Remaining).Round(time.Millisecond)
	switch delay := skip.Delay.Round(time.Millisecond); {
	case delay == 0:
		return "no time is left for a retry"
	case skip.Delay > longestAsked && !o.stream: // a stream may ask for long waits by other means
		return fmt.Sprintf("the server asks for %v; more than %.0f s is not waited for", delay.Round(time.Second), longestAsked.Seconds())
	case o.timeout > 0 && o.timeout <= longestWaits && !o.stream:
		return fmt.Sprintf("the next attempt is due in %v and --timeout leaves %v; a longer --timeout allows it", delay, left)
	case skip.Delay > longestAsked:
		return fmt.Sprintf("the next attempt is due in %v; a Retry-After above %.0f s is not waited for, and %v are left of the %v for all waits", delay, longestAsked.Seconds(), left, longestWaits)
	default:
		return fmt.Sprintf("the next attempt is due in %v and %v are left of the %v for all waits", delay, left, longestWaits)
	}
}

// quantity is n with the word for what is counted, in the plural unless n is 1.
func quantity[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
