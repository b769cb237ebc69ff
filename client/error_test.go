package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

func TestAnErrorOfOneAttemptIsReturnedUntouched(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		cause := &url.Error{Op: "Get", URL: "http://origin.test", Err: errBoom}
		r := newRig(t, Config{Base: roundTripper(func(*http.Request) (*http.Response, error) { return nil, cause })}, statuses("200"))
		req, _ := http.NewRequest(http.MethodGet, r.url, nil)
		_, err := r.client.Transport.RoundTrip(req)
		if err != error(cause) {
			t.Errorf("error %#v, want that of the attempt", err)
		}
		if report, ok := ReportOfError(err); ok {
			t.Errorf("report %+v", report)
		}
	})
}

// slowly is a network error that is a timeout.
type slowly struct{ error }

func (slowly) Timeout() bool   { return true }
func (s slowly) Unwrap() error { return s.error }

func TestAnErrorAfterARetryCarriesTheReportAndItsCause(t *testing.T) {
	for _, row := range []struct {
		name    string
		err     error
		timeout bool
		skip    events.SkipReason
		says    string
	}{
		{"plain", errBoom, false, "", "client: errBoom (attempts 2)"}, // not one that another try can mend
		{"timeout", slowly{errBoom}, true, events.SkipAttempts, "client: errBoom (attempts 2, no retry: attempts)"},
	} {
		inBubble(t, func(t *testing.T) {
			calls := 0
			r := newRig(t, Config{Retry: RetryPolicy{MaxRetries: 1, MaxDelay: 1}, Base: roundTripper(func(*http.Request) (*http.Response, error) {
				if calls++; calls == 1 {
					return &http.Response{StatusCode: 503}, nil
				}
				return nil, row.err
			})}, statuses("200"))
			_, _, err := r.get()
			outer, ok := errors.AsType[*url.Error](err)
			if !ok || outer.Timeout() != row.timeout || os.IsTimeout(outer) != row.timeout {
				t.Errorf("%s: error %#v", row.name, err)
			}
			mine, ok := errors.AsType[*Error](err)
			if !ok || mine.Attempts != 2 || mine.Skipped != row.skip || mine.Partition != partition || mine.Capacity != 500 || mine.Tokens != 490 || mine.Generation != 1 {
				t.Fatalf("%s: error %+v", row.name, mine)
			}
			if report, ok := ReportOfError(err); !ok || report != mine.Report || !errors.Is(err, errBoom) || mine.Timeout() != row.timeout {
				t.Errorf("%s: report %+v", row.name, report)
			}
			if mine.Error() != row.says {
				t.Errorf("%s: %q, want %q", row.name, mine, row.says)
			}
		})
	}
}

func TestAnErrorSaysWhatTheBudgetHeldWhereThatIsTheReason(t *testing.T) {
	e := &Error{Report: Report{Attempts: 1, Recoveries: 2, Skipped: events.SkipBucket, Tokens: 3, Capacity: 500}, Err: io.ErrUnexpectedEOF}
	if want := "client: unexpected EOF (attempts 1, recoveries 2, no retry: bucket, 3 of 500 tokens)"; e.Error() != want {
		t.Errorf("%q, want %q", e, want)
	}
}

func TestTheBodyIsClosedBeforeAFallbackAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := breakers(t, 1)
		open(t, b)
		body := &closeCounter{Reader: strings.NewReader("x")}
		r := newRig(t, Config{Breaker: b, BreakerFallback: func(*http.Request, *breaker.RejectedError) (*http.Response, error) {
			if n := body.closed.Load(); n != 1 {
				t.Errorf("the body was closed %d times", n)
			}
			return &http.Response{StatusCode: 200}, nil
		}}, statuses("500"))
		if resp, _, err := r.do(context.Background(), http.MethodPost, body); err != nil || resp.StatusCode != 200 {
			t.Errorf("got %v, %v", resp, err)
		}
		if n := body.closed.Load(); n != 1 {
			t.Errorf("afterwards the body was closed %d times", n)
		}
		balanced(t, r)
	})
}

func TestAnErrorOfAFallbackIsTheCallers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := breakers(t, 1)
		open(t, b)
		left := &closeCounter{Reader: strings.NewReader("x")}
		var answer *http.Response
		var cause error
		r := newRig(t, Config{Breaker: b, BreakerFallback: func(*http.Request, *breaker.RejectedError) (*http.Response, error) {
			return answer, cause
		}}, statuses("500"))
		answer, cause = &http.Response{StatusCode: 200, Body: left}, errBoom
		if resp, _, err := r.get(); resp != nil || !errors.Is(err, errBoom) || left.closed.Load() != 1 {
			t.Errorf("both: got %v, %v, the body was closed %d times", resp, err, left.closed.Load())
		}
		answer, cause = nil, nil
		_, _, err := r.get()
		if rejected, ok := errors.AsType[*breaker.RejectedError](err); !ok || rejected.Key != partition || !strings.Contains(err.Error(), "Config.BreakerFallback") {
			t.Errorf("neither: error %v", err)
		}
		balanced(t, r)
	})
}
