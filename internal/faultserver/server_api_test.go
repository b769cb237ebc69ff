package faultserver

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

func TestNewNamesTheFieldThatIsWrong(t *testing.T) {
	for want, config := range map[string]Config{
		"faultserver: Protocol is Protocol(7); use H1, TLS, H2 or H2C":                   {Protocol: 7},
		"faultserver: Settings: InitialWindowSize is 2147483648, the most is 2147483647": {Settings: Settings{InitialWindowSize: 1 << 31}},
		"faultserver: Settings: MaxFrameSize is 16777216, use 16384 to 16777215":         {Settings: Settings{MaxFrameSize: 1 << 24}},
	} {
		if _, err := New(config); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestScriptsComeFromTheQueueThenFromChoose(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		config.Choose = func(r Request) Script {
			if r.Path == "/default" {
				return Script{}
			}
			return Respond(299, fmt.Sprint("chosen ", r.Seq, r.OnConn, r.Method, r.Header.Get("A")))
		}
		config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(298) })
		s := Start(t, config)
		tr := s.ClientTransport()
		s.Next(Respond(201, ""), Script{})
		s.NextN(2, RespondWith(202, http.Header{"A": {"b"}}, ""))
		for i, want := range []int{201, 298, 202, 202, 299} {
			if n, _ := s.Queued(); n != max(4-i, 0) {
				t.Errorf("%d scripts are queued before request %d", n, i+1)
			}
			resp, _, err := do(t, tr, "GET", s.URL(), nil)
			if err != nil || resp.StatusCode != want {
				t.Fatalf("request %d: %v %v, want %d", i+1, resp, err, want)
			}
			if want == 202 && resp.Header.Get("A") != "b" {
				t.Error("the header is lost")
			}
		}
		_, body, err := do(t, tr, "PUT", s.URL(), []byte("x"))
		if err != nil || string(body) != "chosen 6 6PUT" {
			t.Errorf("%q, %v", body, err)
		}
		if resp, _, err := do(t, tr, "GET", s.URL("/default"), nil); err != nil || resp.StatusCode != 298 {
			t.Errorf("%v, %v", resp, err)
		}
	})
}

func TestChooseConnSeesTheConnection(t *testing.T) {
	s := Start(t, Config{Memory: true, ChooseConn: func(c Conn) Script {
		if c.Number == 2 {
			return Do(Kill{RST})
		}
		return Script{}
	}})
	park(t, s)
	rawDial(t, s).expectEnd(RST)
	park(t, s)
}

// recorder stands in for a testing.T.
type recorder struct {
	cleanup func()
	said    []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = f }
func (r *recorder) Errorf(f string, args ...any) {
	r.said = append(r.said, "error "+fmt.Sprintf(f, args...))
}
func (r *recorder) Fatalf(f string, args ...any) {
	r.said = append(r.said, "fatal "+fmt.Sprintf(f, args...))
}

func TestStartFailsTheTestForImpossibleScriptsOfChoose(t *testing.T) {
	var r recorder
	s := Start(&r, Config{Choose: func(Request) Script { return RefuseStream() }, ChooseConn: func(c Conn) Script {
		if c.Number == 2 {
			return Do(Header{})
		}
		return Script{}
	}})
	for range 2 {
		if _, _, err := do(t, s.ClientTransport(), "POST", s.URL(), nil); err == nil {
			t.Error("a call under an impossible script succeeded")
		}
	}
	r.cleanup()
	want := "error faultserver: Steps[0] (faultserver.Reset): this needs HTTP/2, the server speaks H1\n" +
		"faultserver: Steps[0] (faultserver.Header): the step belongs into a request's script"
	if got := strings.Join(r.said, ";"); got != want {
		t.Errorf("the test was told %q, want %q", got, want)
	}
	if _, err := s.DialContext(waiting(t), "tcp", s.Addr()); err == nil {
		t.Error("the server still listens after the test")
	}
	r = recorder{}
	if s := Start(&r, Config{Protocol: 9}); s != nil || len(r.said) != 1 || !strings.HasPrefix(r.said[0], "fatal faultserver: Protocol") {
		t.Errorf("%v, %q", s, r.said)
	}
}

func TestAnHTTP2StepOnAnHTTP1ConnectionIsReported(t *testing.T) {
	for _, st := range []Step{Reset{}, GoAway{}, Settings{}} {
		s, err := New(Config{Protocol: H2C, Memory: true})
		if err != nil {
			t.Fatal(err)
		}
		s.Next(Do(st))
		c := rawDial(t, s)
		c.send(get)
		c.expectEnd(RST)
		want := fmt.Sprintf("faultserver: %T needs HTTP/2, the client of connection 1 speaks HTTP/1.1", st)
		if err := s.Err(); err == nil || err.Error() != want {
			t.Errorf("Err is %v, want %s", err, want)
		}
		s.Close()
	}
}

func TestASecondHeaderIsAnError(t *testing.T) {
	for _, p := range []Protocol{H1, H2C} {
		s := Start(t, Config{Protocol: p})
		s.Next(Do(Header{}, Header{}))
		if _, _, err := do(t, s.ClientTransport(), "POST", s.URL(), nil); err == nil {
			t.Errorf("%v: the call succeeded", p)
		}
	}
}

func TestTheAuthorityIssuesCertificatesForServersAndClients(t *testing.T) {
	ca := NewCA()
	certPEM, keyPEM := ca.Issue("a.test", "127.0.0.1")
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.test", "127.0.0.1"} {
		for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			_, err := cert.Leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: host, KeyUsages: []x509.ExtKeyUsage{use}})
			if err != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
	if _, err := cert.Leaf.Verify(x509.VerifyOptions{Roots: NewCA().Pool()}); err == nil {
		t.Error("another authority vouches for it")
	}
	if block, _ := pem.Decode(ca.PEM()); block == nil || block.Type != "CERTIFICATE" {
		t.Error("PEM gives no certificate")
	}
	other := ca.Certificate("b.test")
	if other.Leaf.SerialNumber.Cmp(cert.Leaf.SerialNumber) == 0 {
		t.Error("two certificates have one serial number")
	}
	plain := Start(t, Config{})
	if plain.CA() != nil || plain.ClientPool() != nil || plain.ClientTLS() != nil {
		t.Error("a server without TLS has an authority")
	}
	s := Start(t, Config{Protocol: TLS, CA: ca, ConfigureTLS: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }})
	if resp, _, err := do(t, s.ClientTransport(), "GET", s.URL(), nil); err != nil || resp.TLS.Version != tls.VersionTLS12 {
		t.Errorf("%v, %v", resp, err)
	}
	if s.CA() != ca {
		t.Error("the server has another authority than it was given")
	}
}

func TestProgramsThatUseAServerDoNotLinkTesting(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.Lines(string(out)) {
		switch dep = strings.TrimSpace(dep); {
		case dep == "testing", dep == "flag":
			t.Errorf("the package depends on %s", dep)
		case strings.Contains(strings.Split(dep, "/")[0], ".") && !strings.HasPrefix(dep, "golang.org/x/") &&
			!strings.Contains(dep, "/internal/faultserver"):
			t.Errorf("the package depends on %s", dep)
		}
	}
}
