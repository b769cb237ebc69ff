package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/plimsoll-http/plimsoll/events"
)

// TLSMaterial is what [Client.Reload] swaps, PEM encoded. A nil part keeps the
// current one.
type TLSMaterial struct {
	// RootCAs are the certificates of the authorities that servers are verified
	// against. Zero: the current ones.
	RootCAs []byte
	// Cert is the client's certificate, followed by its chain. Zero: the current
	// one.
	Cert []byte
	// Key is the private key of Cert. Zero: the current one.
	Key []byte
}

// material is the PEM that the last reload left.
type material struct{ cert, key []byte } // guarded by Transport.closing

// LoadTLSMaterial reads TLSMaterial from files. An empty name leaves the part
// nil. The error names the file; it never holds what is in it.
func LoadTLSMaterial(caFile, certFile, keyFile string) (TLSMaterial, error) {
	var m TLSMaterial
	for _, part := range []struct {
		name string
		file string
		into *[]byte
	}{{"CA", caFile, &m.RootCAs}, {"certificate", certFile, &m.Cert}, {"key", keyFile, &m.Key}} {
		if part.file == "" {
			continue
		}
		data, err := os.ReadFile(part.file)
		if err != nil {
			return TLSMaterial{}, fmt.Errorf("client: %s file: %w", part.name, err)
		}
		if len(data) == 0 {
			return TLSMaterial{}, fmt.Errorf("client: %s file %s is empty: put PEM in it", part.name, part.file)
		}
		*part.into = data
	}
	return m, nil
}

// Reload builds new transports with m and swaps them in, together with the
// configuration, as one value; if anything about m is wrong, nothing changes
// and the error says which part. Calls and streams under way finish on the old
// transports, whose idle connections close at once. Reload is an error where
// Config.Base is set, or where Config.Transport has DialTLSContext or its TLS
// configuration GetClientCertificate, because m would not be used there.
func (t *Transport) Reload(m TLSMaterial) error {
	number, err := t.swap(m)
	if err != nil {
		return err
	}
	if h := t.hooks; h != nil && h.Reloaded != nil {
		h.Reloaded(context.Background(), events.Reloaded{Meta: events.Meta{Client: t.cfg.Name}, Generation: number})
	}
	return nil
}

func (t *Transport) swap(m TLSMaterial) (uint64, error) {
	t.closing.Lock()
	defer t.closing.Unlock()
	old := t.gen.Load()
	switch {
	case t.closed || old.retired.Load():
		return 0, ErrClosed
	case t.cfg.Base != nil:
		return 0, fmt.Errorf("client: Reload: Config.Base is set (%T): it has TLS settings of its own, change them there", t.cfg.Base)
	case t.template.DialTLSContext != nil || t.template.DialTLS != nil: //nolint:staticcheck // deprecated, still honoured by http.Transport
		return 0, errors.New("client: Reload: Config.Transport.DialTLSContext is set: it makes TLS connections by itself, change its settings there")
	case t.template.TLSClientConfig != nil && t.template.TLSClientConfig.GetClientCertificate != nil:
		return 0, errors.New("client: Reload: Config.Transport.TLSClientConfig.GetClientCertificate is set: rotate certificates there")
	case m.RootCAs == nil && m.Cert == nil && m.Key == nil:
		return 0, errors.New("client: Reload: TLSMaterial is empty: set RootCAs, or Cert and Key")
	}
	template, pair, err := t.reloadedLocked(m)
	if err != nil {
		return 0, err
	}
	next, err := newGeneration(old.number+1, &t.cfg, template)
	if err != nil {
		return 0, fmt.Errorf("client: Reload: %w", err)
	}
	t.template, t.material = template, pair
	t.gen.Store(next)
	old.retired.Store(true)
	t.old = append(t.old, old)
	old.closeIdle()
	go t.closeWhenDone(old)
	return next.number, nil
}

// closeWhenDone closes a retired generation after its last call.
func (t *Transport) closeWhenDone(g *generation) {
	_ = g.drain(context.Background()) // it has no deadline to miss
	g.close()
	t.closing.Lock()
	defer t.closing.Unlock()
	for i, o := range t.old {
		if o == g {
			t.old = append(t.old[:i:i], t.old[i+1:]...)
			return
		}
	}
}

// reloadedLocked makes the template and the key pair that m leads to.
func (t *Transport) reloadedLocked(m TLSMaterial) (*http.Transport, material, error) {
	cfg := &tls.Config{}
	if t.template.TLSClientConfig != nil {
		cfg = t.template.TLSClientConfig.Clone()
	}
	if m.RootCAs != nil {
		certs, err := certificates("RootCAs", m.RootCAs)
		if err != nil {
			return nil, material{}, err
		}
		cfg.RootCAs = x509.NewCertPool()
		for _, cert := range certs {
			cfg.RootCAs.AddCert(cert)
		}
	}
	pair := t.material
	if m.Cert != nil {
		pair.cert = m.Cert
	}
	if m.Key != nil {
		pair.key = m.Key
	}
	if m.Cert != nil || m.Key != nil {
		switch {
		case pair.cert == nil:
			return nil, material{}, errors.New("client: Reload: TLSMaterial.Key is set and there is no certificate for it: set Cert too")
		case pair.key == nil:
			return nil, material{}, errors.New("client: Reload: TLSMaterial.Cert is set and there is no key for it: set Key too")
		}
		if _, err := certificates("Cert", pair.cert); err != nil {
			return nil, material{}, err
		}
		cert, err := tls.X509KeyPair(pair.cert, pair.key)
		if err != nil {
			return nil, material{}, fmt.Errorf("client: Reload: TLSMaterial.Cert and Key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	next := t.template.Clone()
	next.TLSClientConfig = cfg
	return next, pair, nil
}

// certificates parses every certificate of a part of TLSMaterial. It takes
// neither a broken one among good ones nor a file that was cut short.
func certificates(part string, pemData []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	blocks := 0
	for rest := pemData; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		blocks++
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("client: Reload: TLSMaterial.%s: certificate %d: %w", part, len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if begun := bytes.Count(pemData, []byte("-----BEGIN ")); begun != blocks {
		return nil, fmt.Errorf("client: Reload: TLSMaterial.%s begins %d PEM blocks of which %d can be read: give all of it", part, begun, blocks)
	}
	if len(certs) == 0 {
		return nil, fmt.Errorf("client: Reload: TLSMaterial.%s holds no certificate: give PEM with at least one CERTIFICATE block", part)
	}
	return certs, nil
}
