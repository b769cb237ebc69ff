package compat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// tokens gives a new token at each call.
type tokens struct{ given atomic.Int64 }

func (s *tokens) Token() (*oauth2.Token, error) {
	return &oauth2.Token{AccessToken: fmt.Sprint("t", s.given.Add(1)), TokenType: "Bearer"}, nil
}

// authorizations lists the Authorization of each request that the server saw.
func authorizations(s *faultserver.Server) string {
	var all []string
	for _, req := range s.Requests() {
		all = append(all, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
	}
	return strings.Join(all, " ")
}

// An oauth2.Transport around plimsoll authorizes a call once; each retry and
// recovery inside carries the same token, and the body whole.
func TestOAuth2AroundPlimsollAuthorizesEachAttempt(t *testing.T) {
	r := newRig(t, faultserver.Config{}, client.Config{})
	source := &tokens{}
	authorized := &http.Client{Transport: &oauth2.Transport{Source: source, Base: r.client.Transport}}

	put := func() *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(bounded(t), http.MethodPut, r.URL("/berth"), strings.NewReader("cargo"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := authorized.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if body := read(t, resp); body != "cargo" {
			t.Errorf("the answer is %q, want the body that was sent", body)
		}
		return resp
	}
	r.Next(faultserver.Respond(503, "busy"))
	if report, ok := client.ReportOf(put()); !ok || report.Attempts != 2 {
		t.Errorf("the report through oauth2 is %+v, %v; want 2 attempts", report, ok)
	}
	r.Next(faultserver.KillAfterReading(faultserver.FIN))
	if report, ok := client.ReportOf(put()); !ok || report.Attempts != 1 || report.Recoveries != 1 {
		t.Errorf("the report through oauth2 is %+v, %v; want one attempt and one recovery", report, ok)
	}
	if got := authorizations(r.Server); got != "t1 t1 t2 t2" {
		t.Errorf("the requests came with %s, want t1 t1 t2 t2", got)
	}
	r.nothingHeld(t)
}

// Plimsoll around an oauth2.Transport asks the source before each attempt, so
// that a token that expired meanwhile is renewed. The pool at the bottom keeps
// the recovery, and its connection events go to the hooks that the pool was
// given.
func TestPlimsollAroundOAuth2AsksForATokenPerAttempt(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	rec := eventstest.NewRecorder()
	bottom, err := pool.New(pool.Config{Base: s.ClientTransport(), Hooks: rec.Hooks()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bottom.Close() })
	source := &tokens{}
	c, err := client.New(client.Config{Base: &oauth2.Transport{Source: source, Base: bottom}, Hooks: rec.Hooks(), NoTelemetry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })

	s.Next(faultserver.Respond(503, "busy"), faultserver.Script{}, faultserver.KillAfterReading(faultserver.FIN))
	for i, want := range []client.Report{{Attempts: 2}, {Attempts: 1, Recoveries: 1}} {
		resp, err := c.Do(get(t, bounded(t), s.URL()))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if report, ok := client.ReportOf(resp); !ok || report.Attempts != want.Attempts || report.Recoveries != want.Recoveries {
			t.Errorf("call %d: %+v, %v; want %d attempts, %d recoveries", i+1, report, ok, want.Attempts, want.Recoveries)
		}
	}
	if got := authorizations(s); got != "t1 t2 t3 t3" {
		t.Errorf("the requests came with %s, want t1 t2 t3 t3", got)
	}
	if n := eventstest.Count[events.ConnRecovered](rec); n != 1 {
		t.Errorf("%d recoveries in the events, want 1", n)
	}
}

// A source that cannot give a token is an error of the attempt, and the
// request's body is closed.
func TestATokenSourceThatFailsIsNoRetry(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	locked := errors.New("the vault is locked")
	var asked, closed atomic.Int64
	source := sourceFunc(func() (*oauth2.Token, error) { asked.Add(1); return nil, locked })
	c, err := client.New(client.Config{Base: &oauth2.Transport{Source: source, Base: s.ClientTransport()}, NoTelemetry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	req, err := http.NewRequestWithContext(bounded(t), http.MethodPut, s.URL(), closeCounter{strings.NewReader("cargo"), &closed})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(req); !errors.Is(err, locked) || asked.Load() != 1 || closed.Load() != 1 || saw(s, "") != 0 {
		t.Errorf("%v after %d tokens, body closed %d times, %d requests; want the source's error after 1, once, none", err, asked.Load(), closed.Load(), saw(s, ""))
	}
}

type sourceFunc func() (*oauth2.Token, error)

func (f sourceFunc) Token() (*oauth2.Token, error) { return f() }

type closeCounter struct {
	io.Reader
	closed *atomic.Int64
}

func (c closeCounter) Close() error { c.closed.Add(1); return nil }

// Tokens themselves can be fetched through plimsoll. That is a POST without a
// key, so by default a failure is the caller's; doc.go recommends a policy for
// the context, since a token more does no harm.
func TestTokensFetchedThroughPlimsoll(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy *client.RetryPolicy
		want   int // requests for a token that the server saw
	}{
		{"default", nil, 1},
		{"recommended", &client.RetryPolicy{RetryNonIdempotent: true}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, faultserver.Config{Memory: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/token" {
						io.WriteString(w, r.Header.Get("Authorization"))
						return
					}
					if r.FormValue("grant_type") != "client_credentials" {
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, `{"access_token":"issued","token_type":"bearer","expires_in":3600}`)
				})}, client.Config{})
				r.Next(faultserver.Respond(503, "busy"))
				ctx := t.Context()
				if tt.policy != nil {
					ctx = client.WithRetry(ctx, *tt.policy)
				}
				ctx = context.WithValue(ctx, oauth2.HTTPClient, r.client.Client)
				config := clientcredentials.Config{ClientID: "id", ClientSecret: "secret", TokenURL: r.URL("/token"), AuthStyle: oauth2.AuthStyleInHeader}
				resp, err := config.Client(ctx).Do(get(t, ctx, r.URL("/manifest")))
				posts := r.saw(http.MethodPost)
				var refused *oauth2.RetrieveError
				switch {
				case posts != tt.want:
					t.Errorf("the server saw %d requests for a token, want %d", posts, tt.want)
				case tt.policy == nil:
					if !errors.As(err, &refused) || refused.Response.StatusCode != 503 || string(refused.Body) != "busy" {
						t.Errorf("the caller got %v, want *oauth2.RetrieveError with the 503 and its body", err)
					}
				case err != nil:
					t.Error(err)
				default:
					if got := read(t, resp); got != "Bearer issued" {
						t.Errorf("the request came with %q, want the issued token", got)
					}
				}
			})
		})
	}
}
