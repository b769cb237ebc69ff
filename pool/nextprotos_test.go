package pool

import (
	"crypto/tls"
	"net/http"
	"testing"
)

// net/http appends to NextProtos when it sets HTTP/2 up. Where the base's list
// has room behind its end, two pools over clones of one base wrote to the same
// place.
func TestABaseAndItsPoolsShareNoALPNList(t *testing.T) {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	list := make([]string, 1, 2)
	list[0] = "h2"
	base := &http.Transport{Protocols: &protocols, TLSClientConfig: &tls.Config{NextProtos: list}}
	p, err := New(Config{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.privateBase(variant{}).Clone() // sets HTTP/2 up
	if behind := list[:2][1]; behind != "" {
		t.Errorf("%q was written behind the end of the base's NextProtos", behind)
	}
}
