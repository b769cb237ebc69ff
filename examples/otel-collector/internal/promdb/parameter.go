package promdb

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// timeOf reads a time: seconds since 1970, or RFC 3339.
func timeOf(r *http.Request, name string, absent time.Time) (time.Time, error) {
	s := r.FormValue(name)
	if s == "" {
		return absent, nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < math.MaxInt32*100.0 {
		whole, part := math.Modf(f)
		return time.Unix(int64(whole), int64(math.Round(part*1000))*int64(time.Millisecond)).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	return time.Time{}, requestError{fmt.Errorf("%s: %q is no time", name, s)}
}

// durationOf reads seconds, or a duration such as 15s.
func durationOf(r *http.Request, name string) (time.Duration, error) {
	s := r.FormValue(name)
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < math.MaxInt32 {
		return time.Duration(f * float64(time.Second)), nil
	}
	if d, err := model.ParseDuration(s); err == nil {
		return time.Duration(d), nil
	}
	return 0, requestError{fmt.Errorf("%s: %q is no duration", name, s)}
}
