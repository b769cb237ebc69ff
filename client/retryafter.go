package client

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// retryAfter reads Retry-After (RFC 9110, section 10.2.3) of a 429 or 503:
// seconds, or one of the three HTTP date forms. A date is measured against the
// response's own Date header where that is valid, so that a skewed clock on
// either side does not matter; else against now. Negative numbers and junk do
// not count; a date in the past is 0; a number too large for a Duration is the
// longest Duration.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	return parseRetryAfter(resp.Header.Get("Retry-After"), resp.Header.Get("Date"), time.Now())
}

func parseRetryAfter(value, date string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if value == "" {
		return 0, false
	}
	if seconds, ok := digits(value); ok {
		if seconds > math.MaxInt64/int64(time.Second) {
			return math.MaxInt64, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	base := now
	if d, err := http.ParseTime(date); err == nil {
		base = d
	}
	return max(0, until.Sub(base)), true
}

// digits reads a string of ASCII digits; what does not fit saturates.
func digits(s string) (int64, bool) {
	var n int64
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > (math.MaxInt64-9)/10 {
			n = math.MaxInt64
			continue
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// backoff draws the wait before retry n (1-based) with full jitter, see
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
func backoff(p *RetryPolicy, n int) time.Duration {
	ceiling := p.MaxDelay
	if shift := n - 1; shift < 62 && p.BaseDelay <= p.MaxDelay>>shift {
		ceiling = p.BaseDelay << shift
	}
	if ceiling == math.MaxInt64 {
		return time.Duration(rand.Int64())
	}
	return time.Duration(rand.Int64N(int64(ceiling) + 1))
}
