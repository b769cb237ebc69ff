package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"

	"github.com/plimsoll-http/plimsoll/client"
)

func main() {
	base := ""
	if len(os.Args) > 1 {
		base = os.Args[1]
	}
	if err := run(context.Background(), base, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "adopt:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, base string, out io.Writer) error {
	if base == "" {
		server := failing()
		defer server.Close()
		base = server.URL
	}
	own := ownClient()

	// plimsoll: from here
	transport, err := client.NewTransport(client.Config{Name: "prices", Transport: own.Transport.(*http.Transport)})
	if err != nil {
		return err
	}
	own.Transport = transport
	// plimsoll: to here

	prices := &Prices{HTTP: own, Base: base}
	for _, item := range []string{"anchor", "rope", "lamp", "sail"} {
		price, err := prices.Of(ctx, item)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %.2f €\n", price.Item, price.Euros)
	}
	for origin, level := range transport.Stats().Budget {
		fmt.Fprintf(out, "%s: %d of %d tokens left\n", origin, level.Tokens, level.Capacity)
	}
	return transport.Close()
}

// failing is a server whose every second answer is 503.
func failing() *httptest.Server {
	var asked atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if n%2 == 1 {
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"item":%q,"euros":%d.5}`, r.FormValue("item"), n)
	}))
}
