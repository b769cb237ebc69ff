package client

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/pool"
)

func TestBadConfigurationNamesTheFieldAndTheValue(t *testing.T) {
	retry := func(p RetryPolicy) Config { return Config{Retry: p} }
	stream := func(s StreamConfig) Config { return Config{Stream: s} }
	bucket, err := budget.New(budget.Default())
	if err != nil {
		t.Fatal(err)
	}
	fallback := func(*http.Request, *breaker.RejectedError) (*http.Response, error) { return nil, nil }
	for _, row := range []struct {
		field string
		value string
		cfg   Config
	}{
		{"Config.Name", "65 bytes", Config{Name: strings.Repeat("x", 65)}},
		{"Config.Name", `a\nb`, Config{Name: "a\nb"}},
		{"Config.Name", `\xff`, Config{Name: "a\xff"}},
		{"Config.Base", "*http.Transport", Config{Base: &http.Transport{}, Transport: &http.Transport{}}},
		{"Config.Pool", "*http.Transport", Config{Base: &http.Transport{}, Pool: pool.Config{Recoveries: 1}}},
		{"Config.Pool.Base", "*http.Transport", Config{Pool: pool.Config{Base: &http.Transport{}}}},
		{"Config.Pool.Hooks", "*events.Hooks", Config{Pool: pool.Config{Hooks: &events.Hooks{}}}},
		{"Config.Pool.OnPanic", "func", Config{Pool: pool.Config{OnPanic: func(any) {}}}},
		{"MaxConnWait", "5ns", Config{Pool: pool.Config{MaxConnWait: 5}}},
		{"Config.Timeout", "-1s", Config{Timeout: -time.Second}},
		{"Config.NoBudget", "true", Config{NoBudget: true, Budget: bucket}},
		{"Config.BreakerFallback", "set", Config{BreakerFallback: fallback}},
		{"Config.Classify", "set", Config{Classify: func(*http.Response, error) breaker.Outcome { return breaker.Success }}},
		{"Config.RetryAfterCeiling", "-1ns", Config{RetryAfterCeiling: -1}},
		{"Config.AttemptTimeout", "-1m0s", Config{AttemptTimeout: -time.Minute}},
		{"Config.BodyIdleTimeout", "-1ms", Config{BodyIdleTimeout: -time.Millisecond}},
		{"Config.MaxResponseBytes", "-5", Config{MaxResponseBytes: -5}},
		{"Config.Retry.MaxRetries", "1001", retry(RetryPolicy{MaxRetries: 1001})},
		{"Config.Retry.MaxRetries", strconv.Itoa(math.MaxInt), retry(RetryPolicy{MaxRetries: math.MaxInt})},
		{"Config.Retry.BaseDelay", "-1s", retry(RetryPolicy{BaseDelay: -time.Second})},
		{"Config.Retry.MaxDelay", "-1s", retry(RetryPolicy{MaxDelay: -time.Second})},
		{"Config.Retry.MaxDelay", "1s", retry(RetryPolicy{BaseDelay: 2 * time.Second, MaxDelay: time.Second})},
		{"Config.Retry.Overrun", "2", retry(RetryPolicy{Overrun: 2})},
		{"Config.Retry.Overrun", "-1", retry(RetryPolicy{Overrun: -1})},
		{"Config.Stream.ConnectTimeout", "-1s", stream(StreamConfig{ConnectTimeout: -time.Second})},
		{"Config.Stream.HeaderTimeout", "-1s", stream(StreamConfig{HeaderTimeout: -time.Second})},
		{"Config.Stream.ReadIdleTimeout", "-1s", stream(StreamConfig{ReadIdleTimeout: -time.Second})},
		{"Config.Stream.TotalBytes", "-1", stream(StreamConfig{TotalBytes: -1})},
		{"Config.Stream.LineBytes", "-1", stream(StreamConfig{LineBytes: -1})},
		{"Config.Stream.EventBytes", "-1", stream(StreamConfig{EventBytes: -1})},
		{"MaxOrigins", "-1", Config{Telemetry: otelbridge.Config{MaxOrigins: -1}}},
	} {
		t.Run(row.field+" "+row.value, func(t *testing.T) {
			c, err := New(row.cfg)
			if err == nil {
				c.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), row.field) || !strings.Contains(err.Error(), row.value) {
				t.Errorf("error %q does not name %s and %s", err, row.field, row.value)
			}
		})
	}
}

func TestZeroAndNegativeValuesThatMeanSomethingAreAccepted(t *testing.T) {
	for name, cfg := range map[string]Config{
		"zero":                       {},
		"no retries":                 {Retry: RetryPolicy{MaxRetries: -1}},
		"no total retry time":        {MaxTotalRetryDuration: -1},
		"no recovery":                {Pool: pool.Config{Recoveries: -1}},
		"base delay above the stock": {Retry: RetryPolicy{BaseDelay: time.Minute}},
		"max delay below the stock":  {Retry: RetryPolicy{MaxDelay: time.Millisecond}},
		"no budget":                  {NoBudget: true},
		"no telemetry":               {NoTelemetry: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Errorf("closing again: %v", err)
			}
		})
	}
}

func TestAnInvalidPolicyInTheContextNamesTheField(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, statuses("200"))
		_, _, err := r.do(WithRetry(context.Background(), RetryPolicy{BaseDelay: -time.Second}), http.MethodGet, nil)
		if err == nil || !strings.Contains(err.Error(), "WithRetry: RetryPolicy.BaseDelay is -1s") {
			t.Errorf("error %v", err)
		}
		if len(r.requests()) != 0 {
			t.Error("it was sent all the same")
		}
		balanced(t, r)
	})
}

func TestTheTransportGivenIsNotChanged(t *testing.T) {
	given := &http.Transport{MaxConnsPerHost: 3, DisableCompression: true}
	c, err := New(Config{Transport: given})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if given.MaxConnsPerHost != 3 || given.TLSNextProto != nil || given.DialContext != nil || given.TLSClientConfig != nil || given.ForceAttemptHTTP2 {
		t.Errorf("the transport was changed: %+v", given)
	}
}
