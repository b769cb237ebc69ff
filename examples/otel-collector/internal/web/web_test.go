package web

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/traces"
)

// actor is a stage that notes what was asked of it.
type actor struct {
	mu    sync.Mutex
	asked []string // guarded by mu
}

func (a *actor) ask(s string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if strings.Contains(s, "rain") {
		return errors.New("no rain here")
	}
	a.asked = append(a.asked, s)
	return nil
}

func (a *actor) Account(n stage.Accounting) error { return a.ask(string(n)) }
func (a *actor) Cause(n stage.Trouble) error      { return a.ask(string(n)) }
func (a *actor) Heals() bool                      { return true }
func (a *actor) State() stage.State {
	return stage.State{Accounting: stage.Settled, Trouble: stage.Healthy, Since: time.Now()}
}

func serve(t *testing.T) (*Server, *actor, []dashboards.File) {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	set, err := dashboards.New(dashboards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := set.DashboardFiles()
	if err != nil {
		t.Fatal(err)
	}
	a := &actor{}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "api "+r.URL.Path) })
	s, err := Serve(l, Config{Stage: a, Boards: files, API: api, Traces: traces.NewStore(), Interval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s.Ready()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, a, files
}

// send sends a request; header "Host" sets the Host.
func send(t *testing.T, method, url string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
		if k == "Host" {
			req.Host = v
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:80", "127.0.0.1", ""} {
		if l, err := Listen(address); err == nil {
			l.Close()
			t.Errorf("%q was listened on", address)
		} else if !strings.Contains(err.Error(), "web: ") {
			t.Error(err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "127.0.0.2:0"} {
		l, err := Listen(address)
		if err != nil {
			t.Error(err)
			continue
		}
		l.Close()
	}
}

// A name that an attacker points at 127.0.0.1 must not be answered.
func TestOtherHostHeadersAreRefused(t *testing.T) {
	s, _, _ := serve(t)
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200,
		"evil.example" + port: 421, "evil.example": 421, "127.0.0.1": 421, "localhost:1": 421, "127.0.0.1.evil.example" + port: 421,
		// Other names of this machine, which a browser would treat as other sites.
		"localhost." + port: 421, "LOCALHOST" + port: 421, "[::1]" + port: 421, "127.1" + port: 421, "2130706433" + port: 421, "0.0.0.0" + port: 421, "a.localhost" + port: 421,
	} {
		for _, path := range []string{"/api/state", "/d/plimsoll-overview", "/api/v1/rules"} {
			if resp, _ := send(t, "GET", s.URL+path, map[string]string{"Host": host}); resp.StatusCode != want {
				t.Errorf("host %q, %s: %d, want %d", host, path, resp.StatusCode, want)
			}
		}
	}
}

func TestControlsAreTakenByPostFromTheOwnOriginAlone(t *testing.T) {
	s, a, _ := serve(t)
	for _, row := range []struct {
		method, origin string
		want           int
	}{
		{"POST", s.URL, 200},
		{"POST", "", 403},
		{"POST", "null", 403},
		{"POST", "http://evil.example", 403},
		{"POST", strings.Replace(s.URL, "http", "https", 1), 403},
		{"POST", s.URL + ".evil.example", 403},
		{"POST", s.URL + "/", 403},
		{"POST", s.URL + " " + s.URL, 403},
		{"POST", strings.Replace(s.URL, "127.0.0.1", "localhost", 1), 403}, // another origin to a browser
		{"HEAD", s.URL, 405},
		{"OPTIONS", "http://evil.example", 403}, // no preflight is answered
		{"GET", s.URL, 405},
		{"PUT", s.URL, 405},
		{"DELETE", "http://evil.example", 403},
	} {
		header := map[string]string{}
		if row.origin != "" {
			header["Origin"] = row.origin
		}
		if resp, _ := send(t, row.method, s.URL+"/control/trouble/kill", header); resp.StatusCode != row.want {
			t.Errorf("%s with origin %q: %d, want %d", row.method, row.origin, resp.StatusCode, row.want)
		}
	}
	if len(a.asked) != 1 {
		t.Errorf("asked: %v", a.asked)
	}
	own := map[string]string{"Origin": s.URL}
	if _, body := send(t, "POST", s.URL+"/control/accounting/legacy", own); !strings.Contains(body, `"what":"legacy"`) {
		t.Error(body)
	}
	if resp, body := send(t, "POST", s.URL+"/control/trouble/rain", own); resp.StatusCode != 400 || !strings.Contains(body, "no rain here") {
		t.Error(resp.Status, body)
	}
}

// Another site's page can make a browser send a request, though not read the
// answer: it can link here and no more.
func TestOtherSitesMayLinkHereAlone(t *testing.T) {
	s, a, _ := serve(t)
	for _, row := range []struct {
		path, site, mode, dest string
		want                   int
	}{
		{"/api/v1/query", "same-origin", "cors", "empty", 200},
		{"/api/state", "none", "navigate", "document", 200},
		{"/d/plimsoll-overview", "cross-site", "navigate", "document", 200},
		{"/api/v1/query", "cross-site", "no-cors", "image", 403},
		{"/api/v1/query", "same-site", "cors", "empty", 403},
		{"/d/plimsoll-overview", "cross-site", "navigate", "iframe", 403},
		{"/page/app.js", "cross-site", "no-cors", "script", 403},
	} {
		header := map[string]string{"Sec-Fetch-Site": row.site, "Sec-Fetch-Mode": row.mode, "Sec-Fetch-Dest": row.dest}
		if resp, _ := send(t, "GET", s.URL+row.path, header); resp.StatusCode != row.want {
			t.Errorf("%+v: %d", row, resp.StatusCode)
		}
	}
	form := map[string]string{"Origin": "null", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	if resp, _ := send(t, "POST", s.URL+"/control/trouble/kill", form); resp.StatusCode != 403 || len(a.asked) != 0 {
		t.Errorf("a form on another site: %s, %v", resp.Status, a.asked)
	}
}

// A long query keeps a core busy for minutes before it is understood.
func TestAQueryThatIsTooLongIsRefused(t *testing.T) {
	s, _, _ := serve(t)
	for n, want := range map[int]int{8 << 10: 200, 32 << 10: 431} {
		if resp, _ := send(t, "GET", s.URL+"/api/v1/query?query="+strings.Repeat("1", n), nil); resp.StatusCode != want {
			t.Errorf("%d bytes: %s", n, resp.Status)
		}
	}
}

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	s, _, _ := serve(t)
	for _, path := range []string{"/", "/d/plimsoll-retry-budget", "/page/app.js", "/page/vendor/uplot/uPlot.iife.min.js", "/api/state", "/api/v1/query", "/nowhere"} {
		resp, _ := send(t, "GET", s.URL+path, nil)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := resp.Header.Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
		t.Error(policy)
	}
}

func TestDashboardsAreServedByteForByte(t *testing.T) {
	s, _, files := serve(t)
	n := 0
	for _, f := range files {
		uid, ok := strings.CutSuffix(f.Name, ".json")
		if !ok {
			continue
		}
		n++
		if _, body := send(t, "GET", s.URL+"/api/dashboards/"+uid, nil); body != string(f.Data) {
			t.Errorf("%s differs", uid)
		}
		if resp, body := send(t, "GET", s.URL+"/d/"+uid, nil); resp.StatusCode != 200 || !strings.Contains(body, `id="panels"`) {
			t.Errorf("%s: %s", uid, resp.Status)
		}
	}
	if _, body := send(t, "GET", s.URL+"/api/dashboards", nil); n != 5 || strings.Count(body, `"uid"`) != n {
		t.Errorf("%d dashboards, %s", n, body)
	}
	for _, path := range []string{"/d/nothing", "/api/dashboards/nothing", "/page/nothing.js", "/page/%2e%2e/server.go", "/page/..%2fserver.go", "/page/%2e%2e%2f%2e%2e%2fetc/passwd", "/d/..%2f..%2fetc%2fpasswd", "/api/dashboards/%00"} {
		if resp, _ := send(t, "GET", s.URL+path, nil); resp.StatusCode != 404 {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	if resp, _ := send(t, "GET", s.URL+"/", nil); resp.StatusCode != 302 || resp.Header.Get("Location") != "/d/plimsoll-retry-budget" {
		t.Error(resp.Status, resp.Header)
	}
	if _, body := send(t, "GET", s.URL+"/api/v1/query_range", nil); body != "api /api/v1/query_range" {
		t.Error(body)
	}
}

// What the policy forbids must not be in the page: it would only be seen in the
// browser's console.
func TestThePageLoadsNothingFromElsewhereAndHoldsNoInlineCode(t *testing.T) {
	page, err := embedded.ReadFile("page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`(?i)<script(?:[^>]*)>[^<]`, `(?i)\son[a-z]+=`, `(?i)\sstyle=`, `(?i)<style`, `(?:src|href)="(?:https?:)?//`} {
		if m := regexp.MustCompile(bad).Find(page); m != nil {
			t.Errorf("the page has %s", m)
		}
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="/(page/[^"]+)"`).FindAllSubmatch(page, -1) {
		if _, err := embedded.ReadFile(string(m[1])); err != nil {
			t.Error(err)
		}
	}
	if license, err := embedded.ReadFile("page/vendor/uplot/LICENSE"); err != nil || !strings.Contains(string(license), "MIT") {
		t.Error(err, string(license))
	}
}

// What lies in the vendor folder is what its README names.
func TestThePlotterIsTheOneFromItsPackage(t *testing.T) {
	readme, err := embedded.ReadFile("page/vendor/uplot/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sums := regexp.MustCompile(`(?m)^([0-9a-f]{64})  (\S+)$`).FindAllStringSubmatch(string(readme), -1)
	if len(sums) != 2 {
		t.Errorf("%d sums", len(sums))
	}
	for _, m := range sums {
		file, err := embedded.ReadFile("page/vendor/uplot/" + m[2])
		if got := fmt.Sprintf("%x", sha256.Sum256(file)); err != nil || got != m[1] {
			t.Errorf("%s: %v, %s", m[2], err, got)
		}
	}
}

func TestTheServerSaysWhenItIsReadyAndWhatWasDone(t *testing.T) {
	s, a, _ := serve(t)
	s.mu.Lock()
	s.ready = false // as it was before serve said otherwise
	s.mu.Unlock()
	if resp, body := send(t, "POST", s.URL+"/control/trouble/kill", map[string]string{"Origin": s.URL}); resp.StatusCode != 409 || len(a.asked) != 0 {
		t.Errorf("while the past is made: %s, %s, %v", resp.Status, body, a.asked)
	}
	if _, body := send(t, "GET", s.URL+"/api/state", nil); !strings.Contains(body, `"ready":false`) || !strings.Contains(body, `"changes":[]`) {
		t.Error(body)
	}
	s.Ready()
	for range 2 * mostChanges {
		s.Note("something")
	}
	_, body := send(t, "GET", s.URL+"/api/state", nil)
	if !strings.Contains(body, `"ready":true`) || strings.Count(body, "something") != mostChanges {
		t.Error(body)
	}
	if _, body := send(t, "GET", s.URL+"/api/traces", nil); strings.TrimSpace(body) != "[]" {
		t.Error(body)
	}
}
