package events

import (
	"fmt"
	"net/http"
	"time"
)

// CallStarted is the begin of one RoundTrip, before any wait.
type CallStarted struct {
	Meta
	Method string // of the request; "GET" where it names none
	URL    URL    // of the caller's request; formats without its secrets
	Route  string // url.template, as given by client.WithRoute; often ""
	Resend int    // sends of this logical request before this call: the attempts and recoveries of earlier hops of a redirect chain, one more for the redirect itself
}

// CallDone is the end of one RoundTrip: at its return for errors, responses
// without a body, HEAD and 101; else at the body's EOF, first read error or
// Close, whichever comes first. Exactly one follows each [CallStarted].
type CallDone struct {
	Meta
	Method     string        // as in CallStarted
	Outcome    Outcome       // as the caller sees it; one of Outcomes
	Attempts   int           // attempts that were sent
	Recoveries int           // resends inside the pool, over all attempts
	Skipped    SkipReason    // why the last wanted retry was not armed
	Status     int           // status of the response that the caller got; 0 for an error
	Class      ErrorClass    // class of the error that the caller got, of the body's read error included
	Duration   time.Duration // from CallStarted, waits and the reading of the body included
}

// AttemptStarted is one send that the retry loop decided on. Hooks may add to
// Header; the caller's own request is not affected.
type AttemptStarted struct {
	Meta
	Attempt int         // 1-based
	Resend  int         // sends of this logical request before this one (http.request.resend_count)
	Method  string      // of the request; "GET" where it names none
	URL     URL         // of the attempt; formats without its secrets
	Route   string      // url.template, as given by client.WithRoute; often ""
	Header  http.Header `json:"-"` // the attempt's own header, for propagation; holds the caller's credentials
}

// String formats the event without its header's values.
func (e AttemptStarted) String() string {
	return fmt.Sprintf("AttemptStarted{Client:%q Origin:%q Partition:%q Call:%d Attempt:%d Resend:%d Method:%q URL:%q Route:%q}",
		e.Client, e.Origin, e.Partition, e.Call, e.Attempt, e.Resend, e.Method, e.URL.String(), e.Route)
}

// GoString formats as [AttemptStarted.String] does, so that %#v shows no
// header value.
func (e AttemptStarted) GoString() string { return e.String() }

// AttemptDone is the end of an attempt: its response headers, or its error.
type AttemptDone struct {
	Meta
	Attempt    int           // 1-based
	Resend     int           // resend count with this attempt's recoveries included
	Status     int           // 0 where Class is set
	Class      ErrorClass    // of the error; "" with a response
	Reused     bool          // the connection that served it had served before
	Conn       uint64        // number of that connection; 0 if none
	Protocol   string        // "1.0", "1.1", "2" (network.protocol.version); "" if unknown
	Recoveries int           // resends inside this attempt because reused connections were dead
	Duration   time.Duration // to the headers
}

// RetryArmed says that the wait is over and the next attempt launches.
type RetryArmed struct {
	Meta
	Attempt int           // the attempt that failed
	Next    int           // the attempt that launches: Attempt + 1
	Waited  time.Duration // the delay that was waited for
	Cause   RetryCause    // what the retry answers; one of RetryCauses
	Cost    int           // tokens reserved; 0 without a budget
	Level   int           // the partition's level after the reservation
}

// RetrySkipped says that the effective policy wanted a retry and none was
// armed. It comes at most once per call.
type RetrySkipped struct {
	Meta
	Reason    SkipReason    // one of SkipReasons
	Attempt   int           // the attempt that failed, from 1
	Status    int           // of the attempt's answer; 0 for an error
	Class     ErrorClass    // of the attempt's error; "" with a response
	Level     int           // the partition's level
	Needed    int           // tokens that a retry needed; for reason bucket more than Level
	Remaining time.Duration // time left for waiting
	Delay     time.Duration // the delay that did not fit; 0 where it did not decide
}

// BudgetReserved says that tokens were taken to arm a retry.
type BudgetReserved struct {
	Meta
	Reserved int // tokens taken
	Level    int // after
}

// BudgetSettled says what became of a reservation. Kept + Refunded equals
// Reserved; tokens that went back to a bucket which successes had filled
// meanwhile are counted as refunded and lost there.
type BudgetSettled struct {
	Meta
	Outcome  Settlement // one of Settlements
	Reserved int        // tokens that were held for the retry
	Kept     int        // tokens that the retry cost for good
	Refunded int        // tokens that went back
	Level    int        // after
}

// BudgetReplenished says that a call which needed no retry added tokens. It is
// not emitted when the bucket was full.
type BudgetReplenished struct {
	Meta
	Added int // tokens, at least 1
	Level int // after
}

// ThrottleRecorded says that a Retry-After is remembered for Key.
type ThrottleRecorded struct {
	Meta
	Key   string        // of the throttle: the partition
	Until time.Time     // when other calls may go again
	Delay time.Duration // how long the server asked to stay away
}

// ThrottleWaited says that a call waited for a remembered Retry-After.
type ThrottleWaited struct {
	Meta
	Key       string        // of the throttle: the partition
	Wait      time.Duration // how long it waited
	Truncated bool          // the wait was cut to the rest of the total retry time (Overrun Send)
}
