package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
)

// getOptions are the flags of plimsoll get.
type getOptions struct {
	times         int
	connections   bool
	json          bool
	timeout       time.Duration
	stream        bool
	ca, cert, key string
}

func runGet(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o getOptions
	fs := flags("get", "[flags] URL", stderr)
	fs.IntVar(&o.times, "n", 1, "send the request `N` times, one after the other, on one client")
	fs.BoolVar(&o.connections, "v", false, "show connection events too")
	fs.BoolVar(&o.json, "json", false, "write the timeline as one JSON object a line")
	fs.DurationVar(&o.timeout, "timeout", 30*time.Second, "time limit of one request, retries and body included; 0 for none")
	fs.BoolVar(&o.stream, "stream", false, "read the answer as Server-Sent Events and go on after a lost connection; -timeout does not bound it")
	fs.StringVar(&o.ca, "cacert", "", "`FILE` with the certificates (PEM) of the authorities to trust")
	fs.StringVar(&o.cert, "cert", "", "`FILE` with the client certificate (PEM); needs -key")
	fs.StringVar(&o.key, "key", "", "`FILE` with the client certificate's private key (PEM); needs -cert")
	if err := parse(fs, args, 1, 1); err != nil {
		return err
	}
	u, err := targetURL(fs.Arg(0))
	if err != nil {
		return err
	}
	switch {
	case o.times < 1 || o.times > 100_000:
		return usagef("-n is %d: use 1 to 100000", o.times)
	case o.stream && o.times != 1:
		return usagef("-n is %d and -stream is given: a stream is one request", o.times)
	case o.timeout < 0:
		return usagef("-timeout is %v: use 0 for none, or a positive duration", o.timeout)
	case (o.cert == "") != (o.key == ""):
		return usagef("-cert is %q and -key is %q: give both", o.cert, o.key)
	}
	material, err := client.LoadTLSMaterial(o.ca, o.cert, o.key)
	if err != nil {
		return usagef("%v", err)
	}
	timeline := newTimeline(stderr, o.json, o.connections)
	c, err := client.New(client.Config{Name: "get", Timeout: o.timeout, Hooks: timeline.hooks(), NoTelemetry: true, Stream: client.StreamConfig{Resume: true}})
	if err != nil {
		return err
	}
	defer c.Close()
	if o.ca != "" || o.cert != "" {
		if err := c.Reload(material); err != nil {
			return usagef("%v", err)
		}
	}
	if o.stream {
		return getStream(ctx, c, u, stdout, stderr)
	}
	failed := false
	for range o.times {
		ok, err := getOnce(ctx, c, u, stdout, stderr)
		if err != nil {
			return err
		}
		failed = failed || !ok
	}
	if failed {
		return errSaidEverything
	}
	return nil
}

// targetURL checks what was typed. Its error shows neither userinfo nor query.
func targetURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which may hold a password
		}
		return nil, usagef("the URL is malformed: %v", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, usagef("the URL has scheme %q: use http or https, as in https://example.com/", u.Scheme)
	case u.Hostname() == "":
		return nil, usagef("the URL has no host: use one as in https://example.com/")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, usagef("the URL has port %s: use 1 to 65535", port)
		}
	}
	return u, nil
}

// getOnce sends one request and copies the answer to stdout. It returns false
// where the request failed, and an error where stdout cannot be written.
func getOnce(ctx context.Context, c *client.Client, u *url.URL, stdout, stderr io.Writer) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false, usagef("the request cannot be made: %v", err)
	}
	resp, err := c.Do(req)
	if err != nil {
		fmt.Fprintf(stderr, "plimsoll get: %v\n", err)
		return false, nil
	}
	defer resp.Body.Close()
	body := &readErrors{r: resp.Body}
	if _, err := io.Copy(stdout, body); err != nil {
		if body.err == nil {
			return false, fmt.Errorf("writing the response: %w", err)
		}
		fmt.Fprintf(stderr, "plimsoll get: reading the response: %v\n", body.err)
		return false, nil
	}
	return resp.StatusCode < 400, nil
}

// readErrors tells a failed read from a failed write behind io.Copy.
type readErrors struct {
	r   io.Reader
	err error
}

func (e *readErrors) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && err != io.EOF {
		e.err = err
	}
	return n, err
}

// isTerminal reports whether w is a terminal, where lines may be redrawn.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0 && f.Name() != os.DevNull
}
