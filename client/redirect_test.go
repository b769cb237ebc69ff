package client

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// chain is a Base that redirects along its steps and keeps the requests. The
// last step answers with 200.
type chain struct {
	steps  []string // Location of each answer
	status int
	seen   []*http.Request
}

func (c *chain) RoundTrip(req *http.Request) (*http.Response, error) {
	c.seen = append(c.seen, req)
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}
	if req.Body != nil {
		req.Body.Close()
	}
	if n := len(c.seen); n <= len(c.steps) {
		resp.StatusCode = c.status
		resp.Header.Set("Location", c.steps[n-1])
	}
	return resp, nil
}

// credentialed is a request with every kind of credential that a caller sets.
func credentialed(t *testing.T, method, target string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, target, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer hunter2")
	req.Header.Set("Proxy-Authorization", "Basic hunter2")
	req.Header.Set("Proxy-Authenticate", "Basic hunter2")
	req.Header.Set("Www-Authenticate", "Basic hunter2")
	req.Header.Set("Cookie", "session=hunter2")
	req.Header.Set("Cookie2", "session=hunter2")
	req.Header.Set("X-Request-Id", "7")
	return req
}

// carries counts the credentials of credentialed that req has.
func carries(req *http.Request) (n int) {
	for _, values := range req.Header {
		n += strings.Count(strings.Join(values, ","), "hunter2")
	}
	return n
}

// net/http lets Authorization and Cookie follow to other ports of the same
// host, to its subdomains and from https to http; the same holds for
// Proxy-Authorization (golang/go#79792).
func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	const all = 6
	for _, row := range []struct {
		from  string
		steps []string
		keeps []bool // of each step's request
	}{
		{"http://a.test/", []string{"/2"}, []bool{true}},
		{"http://a.test/", []string{"http://a.test:80/2"}, []bool{true}},
		{"https://a.test/", []string{"https://a.test:443/2", "/3"}, []bool{true, true}},
		{"http://a.test/", []string{"http://b.test/"}, []bool{false}},
		{"http://a.test/", []string{"//b.test/"}, []bool{false}},
		{"http://a.test/", []string{"http://a.test:8080/"}, []bool{false}},
		{"http://a.test/", []string{"http://sub.a.test/"}, []bool{false}},
		{"http://sub.a.test/", []string{"http://a.test/"}, []bool{false}},
		{"https://a.test/", []string{"http://a.test/"}, []bool{false}},
		{"http://a.test/", []string{"https://a.test/"}, []bool{false}},
		{"http://127.0.0.1:8080/", []string{"http://127.0.0.1:8081/"}, []bool{false}},
		{"http://[::1]:8080/", []string{"http://[::1]:8080/2", "http://[::1]/3"}, []bool{true, false}},
		{"http://a.test/", []string{"http://b.test/", "http://a.test/3"}, []bool{false, false}},
		{"http://a.test/", []string{"/2", "http://b.test/", "http://b.test/4"}, []bool{true, false, false}},
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				base := &chain{steps: row.steps, status: status}
				c := newClient(t, Config{Base: base, NoTelemetry: true})
				resp, err := c.Do(credentialed(t, method, row.from))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if len(base.seen) != len(row.steps)+1 || carries(base.seen[0]) != all {
					t.Fatalf("%s %d: %d requests", row.from, status, len(base.seen))
				}
				for i, req := range base.seen[1:] {
					want := 0
					if row.keeps[i] {
						want = all
					}
					if n := carries(req); n != want {
						t.Errorf("%s from %s with %d to %v, step %d: %d credentials, want %d", method, row.from, status, row.steps, i+1, n, want)
					}
					if req.Header.Get("X-Request-Id") != "7" {
						t.Errorf("step %d lost another field", i+1)
					}
				}
			}
		}
	}
}

// CheckRedirect is the embedded client's field, as that one documents it: a
// caller's own replaces this package's, which it can call.
func TestACallersOwnCheckRedirectIsAsked(t *testing.T) {
	base := &chain{steps: []string{"http://b.test/", "/3"}, status: 302}
	c := newClient(t, Config{Base: base, NoTelemetry: true})
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) == 2 {
			return http.ErrUseLastResponse
		}
		return CheckRedirect(req, via)
	}
	resp, err := c.Do(credentialed(t, http.MethodGet, "http://a.test/"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 302 || len(base.seen) != 2 || carries(base.seen[1]) != 0 {
		t.Errorf("status %d after %d requests, of which the last one has %d credentials", resp.StatusCode, len(base.seen), carries(base.seen[len(base.seen)-1]))
	}
}

func TestAJarsCookiesStayWithTheirHost(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &url.URL{Scheme: "http", Host: "a.test", Path: "/"}
	jar.SetCookies(a, []*http.Cookie{{Name: "session", Value: "hunter2"}})
	base := &chain{steps: []string{"http://b.test/", "http://a.test/3"}, status: 302}
	c := newClient(t, Config{Base: base, Jar: jar, NoTelemetry: true})
	resp, err := c.Get(a.String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for i, want := range []string{"session=hunter2", "", "session=hunter2"} {
		if got := base.seen[i].Header.Get("Cookie"); got != want {
			t.Errorf("request %d carries Cookie %q, want %q", i+1, got, want)
		}
	}
}

func TestTheRefererShowsOtherOriginsTheOriginAlone(t *testing.T) {
	for _, row := range []struct{ from, own, to, want string }{
		{from: "https://user:hunter2@a.test/p?token=x", to: "https://a.test/2", want: "https://a.test/p?token=x"},
		{from: "https://user:hunter2@a.test/p?token=x", to: "https://b.test/", want: "https://a.test/"},
		{from: "https://a.test:8443/p?token=x", to: "https://a.test/", want: "https://a.test:8443/"},
		{from: "http://a.test/p?token=x", to: "https://a.test/", want: "http://a.test/"},
		{from: "https://a.test/p?token=x", to: "http://a.test/", want: ""}, // net/http gives none
		{from: "https://a.test/p?token=x", own: "https://mine.test/page", to: "https://b.test/", want: "https://mine.test/page"},
	} {
		base := &chain{steps: []string{row.to}, status: 302}
		c := newClient(t, Config{Base: base, NoTelemetry: true})
		req, err := http.NewRequest(http.MethodGet, row.from, nil)
		if err != nil {
			t.Fatal(err)
		}
		if row.own != "" {
			req.Header.Set("Referer", row.own)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := base.seen[1].Header.Get("Referer"); got != row.want {
			t.Errorf("from %s to %s: Referer %q, want %q", row.from, row.to, got, row.want)
		}
	}
}

func TestAChainOfRedirectsEnds(t *testing.T) {
	base := &chain{status: 302}
	for i := range 100 {
		base.steps = append(base.steps, fmt.Sprintf("/%d", i))
	}
	c := newClient(t, Config{Base: base, NoTelemetry: true})
	_, err := c.Get("http://a.test/")
	if err == nil || !strings.Contains(err.Error(), "stopped after 10 redirects") {
		t.Errorf("error %v", err)
	}
	if len(base.seen) != 10 {
		t.Errorf("%d requests, want 10", len(base.seen))
	}
}

// A Location comes from the server, and its userinfo and query may be another
// user's.
func TestNothingShowsTheUserinfoOfALocation(t *testing.T) {
	for _, location := range []string{
		"http://user:hunter2@b.test/?token=hunter2#hunter2",
		"//user:hunter2@b.test/?token=hunter2",
		"http:user:hunter2@b.test/",
		"ftp://user:hunter2@b.test/",
		"http://user:hunter2@/",
		"http://user:hunter2@b.test:hunter2/",
		"http://user:hunter2@[::1",
		"http://user:hunter2@b.test/%zz",
		"http://user:hunter2@b test/",
		"mailto:hunter2@b.test",
		":hunter2",
	} {
		t.Run(location, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				srv := faultserver.Start(t, faultserver.Config{Memory: true, Choose: func(r faultserver.Request) faultserver.Script {
					if r.Host == "a.test" {
						return faultserver.RespondWith(302, http.Header{"Location": {location}}, "moved")
					}
					return faultserver.KillAfterReading(faultserver.RST)
				}})
				rec, spans := eventstest.NewRecorder(), tracetest.NewInMemoryExporter()
				cfg := Config{Transport: srv.ClientTransport(), Hooks: rec.Hooks()}
				cfg.Telemetry.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
				c := newClient(t, cfg)
				shown := map[string]string{}
				req, _ := http.NewRequest(http.MethodGet, "http://a.test/", nil)
				_, err := c.Do(req)
				shown["the error of Do"] = fmt.Sprintf("%v", err)
				_, err = c.Get("http://a.test/")
				shown["the error of Get"] = fmt.Sprintf("%v", err)
				_, err = c.Post("http://a.test/", "text/plain", strings.NewReader("x"))
				shown["the error of Post"] = fmt.Sprintf("%v", err)
				_, err = c.Stream(req)
				shown["the error of Stream"] = fmt.Sprintf("%v", err)
				for name, text := range shown {
					if text == "<nil>" {
						t.Errorf("%s is nil", name)
					}
				}
				for i, e := range rec.Timeline() {
					shown[fmt.Sprintf("event %d", i)] = fmt.Sprintf("%v %+v %#v", e, e, e)
				}
				for _, s := range spans.GetSpans() {
					shown["span "+s.Name] += fmt.Sprintf("%+v %+v %+v ", s.Attributes, s.Events, s.Status)
				}
				debug := httptest.NewRecorder()
				c.DebugHandler().ServeHTTP(debug, httptest.NewRequest(http.MethodGet, "/?format=json", nil))
				shown["the debug handler"] = debug.Body.String()
				for name, text := range shown {
					if strings.Contains(text, "hunter2") {
						t.Errorf("%s shows it: %s", name, text)
					}
				}
				if len(spans.GetSpans()) < 4 {
					t.Errorf("%d spans", len(spans.GetSpans()))
				}
			})
		})
	}
}

// The text is net/http's; if it changes, the Location would show again.
func TestTheTextAboutABadLocationIsNetHTTPs(t *testing.T) {
	hc := &http.Client{Transport: &chain{steps: []string{"http://[::1"}, status: 302}}
	_, err := hc.Get("http://a.test/")
	if err == nil || !strings.Contains(err.Error(), textLocation+`"http://[::1"`) {
		t.Errorf("net/http says %v", err)
	}
}
