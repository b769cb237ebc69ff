package client_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/pool"
)

// When the authority's certificate has been rotated, Reload takes the new files
// in without a restart. What runs finishes on the old connections.
func ExampleClient_Reload() {
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0)
	upstream.StartTLS()
	defer upstream.Close()
	dir, err := os.MkdirTemp("", "rotation")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	caFile := filepath.Join(dir, "ca.pem")

	c, err := client.New(client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	get := func() {
		resp, err := c.Get(upstream.URL)
		if err != nil {
			fmt.Println("error class:", pool.ClassOf(err))
			return
		}
		resp.Body.Close()
		fmt.Println(resp.Status, "in generation", c.Stats().Generation)
	}

	get() // nobody knows the new authority yet
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})
	if err := os.WriteFile(caFile, authority, 0o600); err != nil { // the rotation
		fmt.Println(err)
		return
	}

	// On a signal, or when a watcher says that the file has changed:
	material, err := client.LoadTLSMaterial(caFile, "", "") // no client certificate
	if err == nil {
		err = c.Reload(material)
	}
	if err != nil {
		fmt.Println("the old material stays:", err)
		return
	}
	get()
	// Output:
	// error class: tls_handshake
	// 200 OK in generation 2
}

// The files are named by the error; what is in them is not.
func ExampleLoadTLSMaterial() {
	_, err := client.LoadTLSMaterial("no/such/ca.pem", "", "")
	fmt.Println(errors.Is(err, fs.ErrNotExist), err)
	// Output: true client: CA file: open no/such/ca.pem: no such file or directory
}
