package client

import (
	"crypto/tls"
	"net/http"
	"testing"
)

// net/http appends to NextProtos when it sets HTTP/2 up, which a Clone does.
func TestTheALPNListOfTheTransportGivenIsNotAppendedTo(t *testing.T) {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	list := make([]string, 1, 2)
	list[0] = "h2"
	c, err := New(Config{
		NoTelemetry: true,
		Transport:   &http.Transport{Protocols: &protocols, TLSClientConfig: &tls.Config{NextProtos: list}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if behind := list[:2][1]; behind != "" {
		t.Errorf("%q was written behind the end of NextProtos", behind)
	}
}
