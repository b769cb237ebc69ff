package client

import (
	"math"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRetryAfterIsReadAsTheStandardSays(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		value, date string
		want        time.Duration
		ok          bool
	}{
		{"", "", 0, false},
		{"0", "", 0, true},
		{"120", "", 2 * time.Minute, true},
		{" 7\t", "", 7 * time.Second, true},
		{"007", "", 7 * time.Second, true},
		{"-1", "", 0, false},
		{"+1", "", 0, false},
		{"1.5", "", 0, false},
		{"1e3", "", 0, false},
		{"0x10", "", 0, false},
		{"soon", "", 0, false},
		{"1, 2", "", 0, false},
		{"٣", "", 0, false},
		{"9223372036", "", 9223372036 * time.Second, true},
		{"9223372037", "", math.MaxInt64, true},
		{"9223372036854775807", "", math.MaxInt64, true},
		{"9223372036854775808", "", math.MaxInt64, true},
		{"99999999999999999999999999", "", math.MaxInt64, true},
		{"1743686408", "", 1743686408 * time.Second, true},
		{"Sun, 01 Mar 2026 12:00:30 GMT", "", 30 * time.Second, true},  // IMF-fixdate
		{"Sunday, 01-Mar-26 12:00:30 GMT", "", 30 * time.Second, true}, // RFC 850
		{"Sun Mar  1 12:00:30 2026", "", 30 * time.Second, true},       // asctime
		{"Sun, 01 Mar 2026 11:59:00 GMT", "", 0, true},
		{"Thu, 01 Jan 1970 00:00:00 GMT", "", 0, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "", math.MaxInt64, true},
		{"Sun, 32 Mar 2026 12:00:30 GMT", "", 0, false},
		// The server's clock is an hour ahead, and an hour behind.
		{"Sun, 01 Mar 2026 13:00:30 GMT", "Sun, 01 Mar 2026 13:00:00 GMT", 30 * time.Second, true},
		{"Sun, 01 Mar 2026 11:00:30 GMT", "Sun, 01 Mar 2026 11:00:00 GMT", 30 * time.Second, true},
		{"Sun, 01 Mar 2026 12:00:30 GMT", "junk", 30 * time.Second, true},
	} {
		got, ok := parseRetryAfter(row.value, row.date, now)
		if got != row.want || ok != row.ok {
			t.Errorf("Retry-After %q with Date %q: %v %v, want %v %v", row.value, row.date, got, ok, row.want, row.ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "120", "-1", "9223372036854775807", "1743686408", "Sun, 01 Mar 2026 12:00:30 GMT", "Sunday, 01-Mar-26 12:00:30 GMT", "Sun Mar  1 12:00:30 2026", "junk", " 1"} {
		f.Add(s, "Sun, 01 Mar 2026 12:00:00 GMT", int64(0))
		f.Add(s, "", int64(1)<<40)
	}
	f.Fuzz(func(t *testing.T, value, date string, offset int64) {
		now := time.Unix(offset%(1<<40), 0)
		got, ok := parseRetryAfter(value, date, now)
		if got < 0 {
			t.Errorf("negative: %v", got)
		}
		if !ok && got != 0 {
			t.Errorf("%v without being valid", got)
		}
		if want, valid := whatRetryAfterSays(value, date, now); got != want || ok != valid {
			t.Errorf("%q with Date %q: %v %v, want %v %v", value, date, got, ok, want, valid)
		}
		if again, _ := parseRetryAfter(" "+value+"\t", date, now); again != got {
			t.Errorf("white space changed %v to %v", got, again)
		}
	})
}

// whatRetryAfterSays reads the same header in another way.
func whatRetryAfterSays(value, date string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if regexp.MustCompile(`^[0-9]+$`).MatchString(value) {
		n, _ := new(big.Int).SetString(value, 10)
		n.Mul(n, big.NewInt(int64(time.Second)))
		if !n.IsInt64() {
			return math.MaxInt64, true
		}
		return time.Duration(n.Int64()), true
	}
	for _, layout := range []string{http.TimeFormat, "Monday, 02-Jan-06 15:04:05 MST", time.ANSIC} {
		until, err := time.Parse(layout, value)
		if err != nil {
			continue
		}
		if sent, err := http.ParseTime(date); err == nil {
			now = sent
		}
		if !until.After(now) {
			return 0, true
		}
		return until.Sub(now), true
	}
	return 0, false
}
