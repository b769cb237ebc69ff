package compat_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/google/go-github/v93/github"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// stopAtLimit is the RetryIf that doc.go recommends for GitHub.
func stopAtLimit(_ context.Context, try client.Try) client.Verdict {
	if try.Response != nil && try.Response.Header.Get("X-RateLimit-Remaining") == "0" {
		return client.Stop
	}
	return client.Default
}

// With retries in the SDK and below it, one call multiplies them. One layer
// must not retry; which one is the user's choice, the requests are not.
func TestStackedRetriesMultiplyUntilOneLayerIsOff(t *testing.T) {
	off := client.RetryPolicy{MaxRetries: -1}
	for _, tt := range []struct {
		name     string
		sdk      func() aws.Retryer
		ours     client.RetryPolicy
		perCall  *client.RetryPolicy // through the context
		requests int
		level    int // of the budget after the call
	}{
		{"both on", func() aws.Retryer { return retry.NewStandard() }, client.RetryPolicy{}, nil, 15, 500 - 3*4*5},
		{"recommended: the SDK's off", func() aws.Retryer { return aws.NopRetryer{} }, client.RetryPolicy{}, nil, 5, 500 - 4*5},
		{"plimsoll's off", func() aws.Retryer { return retry.NewStandard() }, off, nil, 3, 500},
		{"plimsoll's off for the call", func() aws.Retryer { return retry.NewStandard() }, client.RetryPolicy{}, &off, 3, 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, faultserver.Config{Memory: true}, client.Config{Retry: tt.ours})
				r.NextN(100, faultserver.RespondWith(503, http.Header{"Content-Type": {"application/xml"}}, "<Error><Code>ServiceUnavailable</Code></Error>"))
				ctx := t.Context()
				if tt.perCall != nil {
					ctx = client.WithRetry(ctx, *tt.perCall)
				}
				started := time.Now()
				_, err := object(ctx, newS3(r.URL(), replayable{r.client, 1 << 20}, tt.sdk()), "k")
				if err == nil {
					t.Fatal("a server that is down gave an object")
				}
				t.Logf("requests that the server saw for one GetObject: %d, in %v; budget %d of 500", r.saw(""), time.Since(started), r.level())
				if r.saw("") != tt.requests || r.level() != tt.level {
					t.Errorf("%d requests and level %d, want %d and %d", r.saw(""), r.level(), tt.requests, tt.level)
				}
			})
		})
	}
}

// With plimsoll's retries off, dead connections are recovered all the same, so
// the SDK's retryer has nothing to do for them.
func TestRecoveryGoesOnWithPlimsollsRetriesOff(t *testing.T) {
	r := newRig(t, faultserver.Config{Handler: storage()}, client.Config{Retry: client.RetryPolicy{MaxRetries: -1}})
	c := newS3(r.URL(), replayable{r.client, 1 << 20}, aws.NopRetryer{})
	seed(t, c)
	r.Next(faultserver.KillAfterReading(faultserver.RST))
	if got, err := object(bounded(t), c, "seed"); err != nil || string(got) != "ballast" {
		t.Errorf("the object is %q, %v; want it through the recovery", got, err)
	}
	r.nothingHeld(t)
}

// With plimsoll's retries off, the SDK's retryer must take its errors for what
// they are.
func TestTheSDKsRetryerUnderstandsPlimsollsErrors(t *testing.T) {
	hang := faultserver.Do(faultserver.Hang{})
	for _, tt := range []struct {
		name     string
		cfg      client.Config
		fault    faultserver.Script
		requests int
	}{
		{"reset", client.Config{}, faultserver.KillAfterReading(faultserver.RST), 3},
		{"end", client.Config{}, faultserver.KillAfterReading(faultserver.FIN), 3},
		{"no HTTP", client.Config{}, faultserver.BadStatusLine(faultserver.FIN), 3},
		{"attempt timeout", client.Config{AttemptTimeout: time.Second}, hang, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				tt.cfg.Retry.MaxRetries = -1
				r := newRig(t, faultserver.Config{Memory: true}, tt.cfg)
				r.NextN(10, tt.fault)
				_, err := object(t.Context(), newS3(r.URL(), r.client, retry.NewStandard()), "k")
				if err == nil || r.saw("") != tt.requests {
					t.Errorf("%v after %d requests, want an error after %d", err, r.saw(""), tt.requests)
				}
			})
		})
	}
}

// An SDK's retryer takes an open breaker for one more connection error and asks
// again; the server is spared all the same.
func TestAnOpenBreakerSparesTheServerWhateverTheSDKDoes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		gate, err := breaker.New(breaker.Config{ConsecutiveFailures: 2})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, faultserver.Config{Memory: true}, client.Config{Breaker: gate})
		r.NextN(100, faultserver.Respond(503, "down"))
		c := newS3(r.URL(), r.client, retry.NewStandard())
		for range 3 {
			if _, err := object(t.Context(), c, "k"); err == nil {
				t.Fatal("a server that is down gave an object")
			}
		}
		_, err = object(t.Context(), c, "k")
		var rejected *breaker.RejectedError
		if !errors.As(err, &rejected) || r.saw("") != 2 {
			t.Errorf("%v after %d requests, want *breaker.RejectedError through the SDK after the 2 that opened it", err, r.saw(""))
		}
	})
}

// The budget is the origin's: where the SDK's retryer cannot be switched off, an
// empty budget leaves it its own attempts, one request each.
func TestAnEmptyBudgetLeavesTheSDKItsOwnAttempts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		small := budget.Default()
		small.Capacity = 10 // one retry, of which the failure keeps 5
		bucket, err := budget.New(small)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, faultserver.Config{Memory: true}, client.Config{Budget: bucket})
		r.NextN(100, faultserver.Respond(503, "down"))
		if _, err := object(t.Context(), newS3(r.URL(), r.client, retry.NewStandard()), "k"); err == nil {
			t.Fatal("a server that is down gave an object")
		}
		if r.saw("") != 4 || r.level() != 5 {
			t.Errorf("%d requests and level %d, want the SDK's 3 and one retry, and 5", r.saw(""), r.level())
		}
	})
}

// A caller who cancels during a Retry-After ends all layers at once.
func TestCancelingAStackedCallEndsItAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, faultserver.Config{Memory: true}, client.Config{})
		r.NextN(10, faultserver.RespondWith(503, http.Header{"Retry-After": {"50"}}, "down"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		started := time.Now()
		go func() {
			<-time.After(10 * time.Second)
			cancel()
		}()
		_, err := object(ctx, newS3(r.URL(), r.client, retry.NewStandard()), "k")
		if took := time.Since(started); !errors.Is(err, context.Canceled) || took != 10*time.Second || r.saw("") != 1 {
			t.Errorf("%v after %v and %d requests, want context.Canceled after 10s and 1", err, took, r.saw(""))
		}
	})
}

// go-github can sleep until its primary limit is over and then send once more.
// That is a layer of its own; with stopAtLimit only it retries.
func TestGitHubsOwnWaitGetsOneRequestThrough(t *testing.T) {
	for _, tt := range []struct {
		name string
		ours client.RetryPolicy
		want int
	}{
		{"both on", client.RetryPolicy{}, 6},
		{"recommended", client.RetryPolicy{RetryIf: stopAtLimit}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, faultserver.Config{Memory: true, Handler: githubAPI}, client.Config{Retry: tt.ours})
				limited := time.Now().Add(20 * time.Minute)
				refuse := primaryLimit(429)
				r.NextN(tt.want-1, refuse)
				ctx := context.WithValue(t.Context(), github.SleepUntilPrimaryRateLimitResetWhenRateLimited, true)
				repos, _, err := newGitHub(t, r).Repositories.ListByOrg(ctx, "fleet", &github.RepositoryListByOrgOptions{ListOptions: github.ListOptions{PerPage: 100}})
				var limit *github.RateLimitError
				if errors.As(err, &limit) || len(repos) != hulls || time.Now().Before(limited) {
					t.Errorf("%d repositories, %v, %v before the reset", len(repos), err, time.Until(limited))
				}
				t.Logf("requests that the server saw for one list: %d", r.saw(""))
				if r.saw("") != tt.want {
					t.Errorf("%d requests, want %d", r.saw(""), tt.want)
				}
			})
		})
	}
}
