package client

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// issued is a certificate with its key, PEM encoded.
type issued struct {
	cert, key []byte
	pair      tls.Certificate
	leaf      *x509.Certificate
}

// issue makes a certificate for name, signed by parent or by itself.
func issue(t testing.TB, name string, parent *issued) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"example.com"}, IsCA: parent == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer, signerKey := template, any(key)
	if parent != nil {
		signer, signerKey = parent.leaf, parent.pair.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signerKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	out := &issued{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}
	if out.pair, err = tls.X509KeyPair(out.cert, out.key); err != nil {
		t.Fatal(err)
	}
	out.leaf = out.pair.Leaf
	return out
}

// mutualServer answers with the name of the client certificate.
func mutualServer(t testing.TB, ca *issued, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(ca.leaf)
	s := httptest.NewUnstartedServer(handler)
	s.Config.ErrorLog = quiet // handshakes that a reload gave up
	s.TLS = &tls.Config{Certificates: []tls.Certificate{issue(t, "server", ca).pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestFiftyReloadsDuringTwoThousandCallsFailNoneAndMixNone(t *testing.T) {
	ca := issue(t, "authority", nil)
	s := mutualServer(t, ca, func(w http.ResponseWriter, r *http.Request) {
		// The body takes its time, so that calls overlap reloads.
		name := r.TLS.PeerCertificates[0].Subject.CommonName
		io.WriteString(w, name)
		w.(http.Flusher).Flush()
		io.WriteString(w, " "+name)
	})
	const reloads, calls, workers = 50, 2000, 16
	rec := eventstest.NewRecorder()
	c := newClient(t, Config{
		NoTelemetry: true, Hooks: &events.Hooks{Reloaded: rec.Hooks().Reloaded}, Retry: RetryPolicy{MaxRetries: -1},
		Transport: &http.Transport{MaxIdleConnsPerHost: workers, TLSClientConfig: &tls.Config{ServerName: "example.com"}},
	})
	material := make([]TLSMaterial, reloads+1)
	for i := range material {
		client := issue(t, fmt.Sprintf("generation-%d", i+2), ca)
		material[i] = TLSMaterial{RootCAs: ca.cert, Cert: client.cert, Key: client.key}
	}
	if err := c.Reload(material[0]); err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for made.Add(1) <= calls {
				resp, err := c.Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				report, _ := ReportOf(resp)
				want := fmt.Sprintf("generation-%d generation-%d", report.Generation, report.Generation)
				if err != nil || string(body) != want {
					t.Errorf("body %q, %v; want %q", body, err, want)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for _, m := range material[1:] {
			before := made.Load()
			if err := c.Reload(m); err != nil {
				t.Error(err)
			}
			for made.Load() < min(before+calls/reloads-5, calls) { // spread over the calls
				<-time.After(time.Millisecond)
			}
		}
	})
	wg.Wait()
	if n := eventstest.Count[events.Reloaded](rec); n != reloads+1 {
		t.Errorf("%d Reloaded events, want %d", n, reloads+1)
	}
	if got := c.Stats().Generation; got != reloads+2 {
		t.Errorf("generation %d, want %d", got, reloads+2)
	}
}

func TestABrokenReloadChangesNothingAndSaysWhichPart(t *testing.T) {
	ca := issue(t, "authority", nil)
	first, second := issue(t, "first", ca), issue(t, "second", ca)
	s := mutualServer(t, ca, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	})
	c := newClient(t, Config{NoTelemetry: true, Transport: &http.Transport{TLSClientConfig: &tls.Config{ServerName: "example.com"}}})
	get := func() string {
		t.Helper()
		resp, err := c.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	good := TLSMaterial{RootCAs: ca.cert, Cert: first.cert, Key: first.key}
	if err := c.Reload(good); err != nil {
		t.Fatal(err)
	}
	if got := get(); got != "first" {
		t.Fatalf("served %q", got)
	}
	junk := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	for _, row := range []struct {
		part string
		m    TLSMaterial
	}{
		{"TLSMaterial is empty", TLSMaterial{}},
		{"RootCAs", TLSMaterial{RootCAs: []byte("nothing")}},
		{"RootCAs", TLSMaterial{RootCAs: second.key}},
		{"RootCAs: certificate 2", TLSMaterial{RootCAs: slices.Concat(ca.cert, junk)}},
		{"RootCAs: certificate 1", TLSMaterial{RootCAs: slices.Concat(junk, ca.cert)}},
		{"RootCAs begins 2 PEM blocks of which 1", TLSMaterial{RootCAs: slices.Concat(ca.cert, ca.cert[:len(ca.cert)/2])}},
		{"Cert: certificate 2", TLSMaterial{Cert: slices.Concat(second.cert, junk), Key: second.key}},
		{"Cert", TLSMaterial{Cert: []byte("nothing"), Key: second.key}},
		{"Cert", TLSMaterial{Cert: junk, Key: second.key}},
		{"Key", TLSMaterial{Cert: second.cert, Key: []byte("nothing")}},
		{"Key", TLSMaterial{Cert: second.cert, Key: first.key}},
		{"Key", TLSMaterial{Cert: second.cert}}, // not the current key's
	} {
		err := c.Reload(row.m)
		if err == nil || !strings.Contains(err.Error(), row.part) {
			t.Errorf("%s: error %v", row.part, err)
		}
		if err != nil && (strings.Contains(err.Error(), "PRIVATE") || strings.Contains(err.Error(), "nothing")) {
			t.Errorf("%s: the error shows the material: %v", row.part, err)
		}
	}
	if got := get(); got != "first" {
		t.Errorf("served %q after broken reloads", got)
	}
	if got := c.Stats().Generation; got != 2 {
		t.Errorf("generation %d, want 2", got)
	}
	if err := c.Reload(TLSMaterial{RootCAs: slices.Concat([]byte("# the authority\n"), ca.cert, second.key)}); err != nil {
		t.Fatal(err) // text and other blocks do no harm
	}
	if got := get(); got != "first" {
		t.Errorf("served %q: nil must keep the current certificate", got)
	}
}

func TestAReloadClosesIdleConnectionsAtOnceAndOthersAfterTheirCalls(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			<-time.After(time.Second)
		}))
		var bodies []io.ReadCloser
		for range 2 {
			resp, err := r.client.Get(r.url)
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, resp.Body)
		}
		end := func(body io.ReadCloser) {
			_, _ = io.Copy(io.Discard, body)
			body.Close()
			synctest.Wait()
		}
		closed := func() int { return eventstest.Count[events.ConnClosed](r.rec) }
		end(bodies[0])
		if n := closed(); n != 0 {
			t.Fatalf("%d connections closed before the reload", n)
		}
		if err := r.client.Reload(TLSMaterial{RootCAs: issue(t, "authority", nil).cert}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := closed(); n != 1 {
			t.Errorf("%d connections closed at the reload, want the idle one", n)
		}
		end(bodies[1])
		if n := closed(); n != 2 {
			t.Errorf("%d connections closed after the last call, want both", n)
		}
		if n := len(r.client.transport.generations()); n != 1 {
			t.Errorf("%d generations are kept", n)
		}
	})
}

func TestReloadIsRefusedByNameWhereItCannotWork(t *testing.T) {
	m := TLSMaterial{RootCAs: issue(t, "authority", nil).cert}
	for field, cfg := range map[string]Config{
		"Config.Base":          {Base: http.DefaultTransport},
		"DialTLSContext":       {Transport: &http.Transport{DialTLSContext: (&tls.Dialer{}).DialContext}},
		"GetClientCertificate": {Transport: &http.Transport{TLSClientConfig: &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return nil, errBoom }}}},
	} {
		cfg.NoTelemetry = true
		c := newClient(t, cfg)
		if err := c.Reload(m); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
	c := newClient(t, Config{NoTelemetry: true})
	c.Close()
	if err := c.Reload(m); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: error %v", err)
	}
}

func TestLoadTLSMaterialNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := issue(t, "authority", nil)
	m, err := LoadTLSMaterial(file("ca.pem", ca.cert), file("cert.pem", ca.cert), file("key.pem", ca.key))
	if err != nil || !bytes.Equal(m.RootCAs, ca.cert) || !bytes.Equal(m.Key, ca.key) {
		t.Errorf("%v", err)
	}
	if m, err := LoadTLSMaterial("", "", ""); err != nil || m.RootCAs != nil || m.Cert != nil || m.Key != nil {
		t.Errorf("nothing asked: %+v, %v", m, err)
	}
	for _, name := range []string{filepath.Join(dir, "absent.pem"), file("empty.pem", nil)} {
		if _, err := LoadTLSMaterial("", name, ""); err == nil || !strings.Contains(err.Error(), filepath.Base(name)) || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
