package events_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
)

func parse(t *testing.T, raw string) events.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return events.URLOf(u)
}

func TestAURLFormatsWithoutItsSecrets(t *testing.T) {
	for raw, want := range map[string]string{
		"https://api.test/v1/users":                       "https://api.test/v1/users",
		"https://api.test:8443/":                          "https://api.test:8443/",
		"https://user:hunter2@api.test/v1":                "https://REDACTED:REDACTED@api.test/v1",
		"https://hunter2@api.test/v1":                     "https://REDACTED:REDACTED@api.test/v1",
		"https://api.test/v1?token=hunter2":               "https://api.test/v1?REDACTED",
		"https://api.test/v1?hunter2":                     "https://api.test/v1?REDACTED",
		"https://api.test/v1#hunter2":                     "https://api.test/v1",
		"https://user:hunter2@api.test/v1?q=hunter2#hun2": "https://REDACTED:REDACTED@api.test/v1?REDACTED",
		"http:user:hunter2@api.test":                      "http:REDACTED",
		"https://api.test/a%2Fb":                          "https://api.test/a%2Fb",
		"http://[::1]:8080/x":                             "http://[::1]:8080/x",
	} {
		u := parse(t, raw)
		if got := u.String(); got != want {
			t.Errorf("%s formats as %s, want %s", raw, got, want)
		}
		if text, err := u.MarshalText(); err != nil || string(text) != want {
			t.Errorf("%s marshals as %s, %v; want %s", raw, text, err, want)
		}
		if got := fmt.Sprintf("%v %+v %s %#v", u, u, u, u); strings.Contains(got, "hunter2") {
			t.Errorf("%s shows a secret: %s", raw, got)
		}
	}
}

func TestAURLGivesHostAndSchemeWithoutUserinfo(t *testing.T) {
	u := parse(t, "https://user:hunter2@api.test:8443/v1")
	if u.Host() != "api.test:8443" || u.Scheme() != "https" {
		t.Errorf("Host %q, Scheme %q", u.Host(), u.Scheme())
	}
}

func TestTheZeroURLIsEmpty(t *testing.T) {
	for name, u := range map[string]events.URL{"zero": {}, "of nil": events.URLOf(nil)} {
		if u.String() != "" || u.Host() != "" || u.Scheme() != "" || u.GoString() != "" {
			t.Errorf("%s: String %q, Host %q, Scheme %q, GoString %q", name, u.String(), u.Host(), u.Scheme(), u.GoString())
		}
	}
}

// A password in the userinfo, a token in the query or a credential in a header
// must not reach a log through an event, however it is formatted
// (hashicorp/go-retryablehttp#31, #154).
func TestNoFormOfAnEventShowsASecret(t *testing.T) {
	u := parse(t, "https://user:hunter2@api.test/v1?token=hunter2#hunter2")
	attempt := events.AttemptStarted{
		Meta:    events.Meta{Client: "default", Origin: "https://api.test:443", Call: 1},
		Attempt: 2, Resend: 1, Method: "GET", URL: u, Route: "/v1",
		Header: http.Header{"Authorization": {"Bearer hunter2"}, "X-Hunter2": {"hunter2"}},
	}
	call := events.CallStarted{Meta: attempt.Meta, Method: "GET", URL: u, Route: "/v1"}

	forms := map[string]string{}
	for name, event := range map[string]any{
		"AttemptStarted": attempt, "*AttemptStarted": &attempt, "[]AttemptStarted": []events.AttemptStarted{attempt},
		"struct of AttemptStarted": struct{ E events.AttemptStarted }{attempt},
		"CallStarted":              call, "*CallStarted": &call, "[]CallStarted": []events.CallStarted{call},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			forms[name+" "+verb] = fmt.Sprintf(verb, event)
		}
		marshalled, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		forms[name+" as JSON"] = string(marshalled)
		var text, structured bytes.Buffer
		slog.New(slog.NewTextHandler(&text, nil)).Info("", "event", event)
		slog.New(slog.NewJSONHandler(&structured, nil)).Info("", "event", event)
		forms[name+" as slog text"], forms[name+" as slog JSON"] = text.String(), structured.String()
	}
	for form, got := range forms {
		// 68756e74657232 is what %x makes of the secret.
		for _, secret := range []string{"hunter2", "Hunter2", "Bearer", "68756e74657232", "Header"} {
			if strings.Contains(got, secret) {
				t.Errorf("%s shows %q: %s", form, secret, got)
			}
		}
		if !strings.Contains(got, "api.test/v1") && !strings.HasSuffix(form, "%x") {
			t.Errorf("%s lacks the URL: %s", form, got)
		}
	}
}

func TestAFormattedAttemptNamesItsFields(t *testing.T) {
	e := events.AttemptStarted{
		Meta:    events.Meta{Client: "billing", Origin: "https://api.test:443", Partition: "tenant", Call: 7},
		Attempt: 2, Resend: 3, Method: "PUT", URL: parse(t, "https://api.test/v1"), Route: "/{v}",
	}
	const want = `AttemptStarted{Client:"billing" Origin:"https://api.test:443" Partition:"tenant" Call:7 Attempt:2 Resend:3 Method:"PUT" URL:"https://api.test/v1" Route:"/{v}"}`
	if got := e.String(); got != want {
		t.Errorf("String returned %s, want %s", got, want)
	}
}
