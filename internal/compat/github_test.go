package compat_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-github/v93/github"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// newGitHub returns go-github over r's client.
func newGitHub(t testing.TB, r *rig) *github.Client {
	t.Helper()
	base := r.URL("/")
	gh, err := github.NewClient(github.WithHTTPClient(r.client.Client), github.WithURLs(&base, &base), github.WithAuthToken("not-a-secret"))
	if err != nil {
		t.Fatal(err)
	}
	return gh
}

const hulls = 7 // repositories of the fake organisation

// githubAPI lists hulls repositories in pages, and makes issues.
var githubAPI = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-RateLimit-Limit", "5000")
	w.Header().Set("X-RateLimit-Remaining", "4999")
	switch {
	case r.Header.Get("Authorization") != "Bearer not-a-secret":
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"message":"Requires authentication"}`)
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"number":42}`)
	default:
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		page = max(page, 1)
		if page*size < hulls {
			w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?per_page=%d&page=%d>; rel="next"`, r.Host, r.URL.Path, size, page+1))
		}
		io.WriteString(w, "[")
		for i := (page - 1) * size; i < min(page*size, hulls); i++ {
			if i > (page-1)*size {
				io.WriteString(w, ",")
			}
			fmt.Fprintf(w, `{"name":"hull-%d"}`, i)
		}
		io.WriteString(w, "]")
	}
})

// The two answers by which GitHub asks a caller to slow down.
func secondaryLimit(status int, retryAfter string) faultserver.Script {
	h := http.Header{"Content-Type": {"application/json"}}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	return faultserver.RespondWith(status, h,
		`{"message":"You have exceeded a secondary rate limit","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`)
}

func primaryLimit(status int) faultserver.Script {
	reset := strconv.FormatInt(time.Now().Add(20*time.Minute).Unix(), 10)
	return faultserver.RespondWith(status, http.Header{
		"Content-Type": {"application/json"}, "X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {reset},
	}, `{"message":"API rate limit exceeded"}`)
}

func TestGitHubPagesComeWholeThroughFailuresBetweenThem(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.H2C} {
		t.Run(p.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, faultserver.Config{Protocol: p, Memory: true, Handler: githubAPI}, client.Config{})
				gh := newGitHub(t, r)
				r.Next(
					faultserver.Do(), // the first page
					faultserver.Respond(502, "<html>unicorn</html>"),
					faultserver.KillAfterReading(faultserver.FIN),
					secondaryLimit(429, "40"),
				)
				started, seen := time.Now(), 0
				for repo, err := range gh.Repositories.ListByOrgIter(t.Context(), "fleet", &github.RepositoryListByOrgOptions{ListOptions: github.ListOptions{PerPage: 3}}) {
					if err != nil {
						t.Fatal(err)
					}
					if want := fmt.Sprint("hull-", seen); repo.GetName() != want {
						t.Errorf("repository %d is %q, want %q", seen, repo.GetName(), want)
					}
					seen++
				}
				if took := time.Since(started); seen != hulls || took < 40*time.Second {
					t.Errorf("%d repositories after %v; want %d after the 40s that the server asked for", seen, took, hulls)
				}
				if n := r.saw(""); n != 6 {
					t.Errorf("the server saw %d requests, want 3 pages and 3 failures", n)
				}
			})
		})
	}
}

// What a 429 told one caller keeps the others away too.
func TestGitHubCallersWaitForWhatAnotherWasTold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, faultserver.Config{Memory: true, Handler: githubAPI}, client.Config{})
		gh := newGitHub(t, r)
		r.Next(secondaryLimit(429, "30"))
		started := time.Now()
		first := make(chan error, 1)
		go func() {
			_, _, err := gh.Repositories.ListByOrg(t.Context(), "fleet", nil)
			first <- err
		}()
		if err := r.rec.WaitFor(t.Context(), func() bool { return eventstest.Count[events.ThrottleRecorded](r.rec) == 1 }); err != nil {
			t.Fatal(err)
		}
		if _, _, err := gh.Repositories.ListByOrg(t.Context(), "fleet", nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(started); took < 30*time.Second {
			t.Errorf("the second caller was answered after %v, the server asked for 30s", took)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
		if n := r.saw(""); n != 3 {
			t.Errorf("the server saw %d requests, want the refused one and two more", n)
		}
	})
}

// A 403 is no HTTP-level retry, with Retry-After or without: go-github's own
// error types must come through with all that they read from the response.
func TestGitHubErrorTypesComeThrough(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, faultserver.Config{Memory: true, Handler: githubAPI}, client.Config{})

		r.Next(primaryLimit(403))
		gh := newGitHub(t, r)
		_, _, err := gh.Repositories.ListByOrg(t.Context(), "fleet", nil)
		var limit *github.RateLimitError
		if !errors.As(err, &limit) || limit.Message != "API rate limit exceeded" || limit.Rate.Limit != 5000 || r.saw("") != 1 {
			t.Errorf("403 at the limit gives %v after %d requests, want *RateLimitError after 1", err, r.saw(""))
		}
		if _, _, err = gh.Repositories.ListByOrg(t.Context(), "fleet", nil); !errors.As(err, &limit) || r.saw("") != 1 {
			t.Errorf("until the limit's reset %v came and %d requests went out, want *RateLimitError and none more", err, r.saw("")-1)
		}

		r.Next(secondaryLimit(403, "30"))
		_, _, err = newGitHub(t, r).Repositories.ListByOrg(t.Context(), "fleet", nil)
		var abuse *github.AbuseRateLimitError
		if !errors.As(err, &abuse) || abuse.GetRetryAfter() != 30*time.Second || r.saw("") != 2 {
			t.Errorf("403 with Retry-After gives %v after %d requests, want *AbuseRateLimitError of 30s after 1", err, r.saw("")-1)
		}

		r.Next(secondaryLimit(429, "3600")) // longer than anybody waits
		_, _, err = newGitHub(t, r).Repositories.ListByOrg(t.Context(), "fleet", nil)
		if !errors.As(err, &abuse) || abuse.GetRetryAfter() != time.Hour || r.saw("") != 3 {
			t.Errorf("429 for an hour gives %v after %d requests, want *AbuseRateLimitError of 1h after 1", err, r.saw("")-2)
		}
		if skips := eventstest.All[events.RetrySkipped](r.rec); len(skips) != 1 || skips[0].Reason != events.SkipDeadline {
			t.Errorf("skipped retries: %v; want one, for %q", skips, events.SkipDeadline)
		}
		r.rec.ExpectNothing(t, eventstest.Type[events.RetryArmed]())
	})
}

// Making an issue is a POST: one failure is one request, and the caller's.
func TestAGitHubIssueIsNotMadeTwice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, faultserver.Config{Memory: true, Handler: githubAPI}, client.Config{})
		gh := newGitHub(t, r)
		r.Next(faultserver.Respond(502, "{}"))
		_, resp, err := gh.Issues.Create(t.Context(), "fleet", "hull-1", github.CreateIssueRequest{Title: "leak"})
		if err == nil || r.saw(http.MethodPost) != 1 {
			t.Fatalf("the server saw the POST %d times, the caller %v; want once, and an error", r.saw(http.MethodPost), err)
		}
		if report, ok := client.ReportOf(resp.Response); !ok || report.Skipped != events.SkipMethod {
			t.Errorf("the report through go-github is %+v, %v; want skip reason %q", report, ok, events.SkipMethod)
		}
		issue, _, err := gh.Issues.Create(t.Context(), "fleet", "hull-1", github.CreateIssueRequest{Title: "leak"})
		if err != nil || issue.GetNumber() != 42 {
			t.Errorf("Create gives %v, %v; want issue 42", issue, err)
		}
	})
}

// At the primary limit GitHub answers 429 without Retry-After for up to an
// hour. Retries only lengthen the ban, so doc.go recommends a RetryIf.
func TestAtGitHubsPrimaryLimitRetryIfSavesTheRequests(t *testing.T) {
	for _, tt := range []struct {
		name  string
		retry client.RetryPolicy
		want  int
	}{
		{"default", client.RetryPolicy{}, 5},
		{"recommended", client.RetryPolicy{RetryIf: stopAtLimit}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, faultserver.Config{Memory: true, Handler: githubAPI}, client.Config{Retry: tt.retry})
				r.NextN(10, primaryLimit(429))
				_, _, err := newGitHub(t, r).Repositories.ListByOrg(t.Context(), "fleet", nil)
				var limit *github.RateLimitError
				if !errors.As(err, &limit) || r.saw("") != tt.want {
					t.Errorf("%v after %d requests, want *RateLimitError after %d", err, r.saw(""), tt.want)
				}
			})
		})
	}
}
