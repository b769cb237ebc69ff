package faultserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync/atomic"
	"time"
)

// CA is a certificate authority that lives in memory. Its certificates are
// valid from 1990 to 2100, so that they also are in a synctest bubble, whose
// clock starts in the year 2000. Its methods may be called from any goroutine.
type CA struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	pem    []byte
	serial atomic.Int64
}

// NewCA makes an authority with a fresh P-256 key.
func NewCA() *CA {
	ca := &CA{key: newKey()}
	t := ca.template("faultserver CA")
	t.IsCA = true
	t.BasicConstraintsValid = true
	t.KeyUsage = x509.KeyUsageCertSign
	der := must(x509.CreateCertificate(rand.Reader, t, t, &ca.key.PublicKey, ca.key))
	ca.cert = must(x509.ParseCertificate(der))
	ca.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return ca
}

// must is for what cannot fail but for lack of randomness, which crypto/rand
// itself turns into a crash.
func must[T any](v T, err error) T {
	if err != nil {
		panic("faultserver: making a certificate: " + err.Error())
	}
	return v
}

func newKey() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func (ca *CA) template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(ca.serial.Add(1)),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// PEM returns the authority's certificate in PEM.
func (ca *CA) PEM() []byte { return append([]byte(nil), ca.pem...) }

// Pool returns a new pool that holds the authority's certificate alone.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

// Issue returns a new certificate and its key in PEM. The names are DNS names
// or IP addresses; the first is the subject's common name. The certificate is
// good for servers and clients.
func (ca *CA) Issue(names ...string) (certPEM, keyPEM []byte) {
	name := ""
	if len(names) > 0 {
		name = names[0]
	}
	t := ca.template(name)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	key := newKey()
	der := must(x509.CreateCertificate(rand.Reader, t, ca.cert, &key.PublicKey, ca.key))
	keyDER := must(x509.MarshalPKCS8PrivateKey(key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// Certificate is Issue in the form of crypto/tls.
func (ca *CA) Certificate(names ...string) tls.Certificate {
	return must(tls.X509KeyPair(ca.Issue(names...)))
}

// serverTLS is a server's configuration: session tickets are off, so that a
// connection's bytes do not depend on those before it.
func (ca *CA) serverTLS(p Protocol) *tls.Config {
	protos := []string{"http/1.1"}
	if p == H2 {
		protos = []string{"h2", "http/1.1"}
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{ca.Certificate("127.0.0.1", "localhost", "mem.test", "*.test", "*.example.com")},
		NextProtos:             protos,
		SessionTicketsDisabled: true,
		ClientCAs:              ca.Pool(),
		MinVersion:             tls.VersionTLS12,
	}
}
