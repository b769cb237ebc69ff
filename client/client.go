package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client is an *http.Client with a [Transport]. Pass c.Client where an
// *http.Client is wanted. Jar, CheckRedirect and Timeout are the embedded
// client's: set them there, before the first request. CheckRedirect is preset
// with [CheckRedirect]. Its Transport may be wrapped by others; the methods of
// Client itself always use the client's own.
//
// Do, Get, Head, Post and PostForm are those of http.Client, except that the
// *url.Error they return shows no query, which may hold a secret.
type Client struct {
	*http.Client
	transport *Transport
}

// New returns a Client for cfg. The error names the field and its value. Close
// the client when it is no longer needed.
func New(cfg Config) (*Client, error) {
	t, err := NewTransport(cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{Client: &http.Client{Transport: t, Timeout: cfg.Timeout, Jar: cfg.Jar, CheckRedirect: CheckRedirect}, transport: t}
	t.owner = c.Client
	return c, nil
}

// Do is http.Client.Do; the *url.Error that it may return shows no query.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.Client.Do(req)
	return resp, withoutQuery(err)
}

// Get is http.Client.Get; the *url.Error that it may return shows no query.
func (c *Client) Get(url string) (*http.Response, error) {
	resp, err := c.Client.Get(url)
	return resp, withoutQuery(err)
}

// Head is http.Client.Head; the *url.Error that it may return shows no query.
func (c *Client) Head(url string) (*http.Response, error) {
	resp, err := c.Client.Head(url)
	return resp, withoutQuery(err)
}

// Post is http.Client.Post; the *url.Error that it may return shows no query.
func (c *Client) Post(url, contentType string, body io.Reader) (*http.Response, error) {
	resp, err := c.Client.Post(url, contentType, body)
	return resp, withoutQuery(err)
}

// PostForm is http.Client.PostForm; the *url.Error that it may return shows no query.
func (c *Client) PostForm(url string, data url.Values) (*http.Response, error) {
	resp, err := c.Client.PostForm(url, data)
	return resp, withoutQuery(err)
}

// withoutQuery takes userinfo, query and fragment out of the URL of a
// *url.Error.
func withoutQuery(err error) error {
	var e *url.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Err != nil && strings.HasPrefix(e.Err.Error(), textLocation) {
		e.Err = errLocation
	}
	u, parseErr := url.Parse(e.URL)
	if parseErr != nil {
		// Not a URL after all (http.Client puts in what it was given), so
		// nothing in it can be told from a secret; the parse error inside
		// quotes it too.
		if e.Op == "parse" {
			return &url.Error{Op: e.Op, URL: "(malformed)", Err: e.Err}
		}
		e.URL = "(malformed)"
		return err
	}
	if u.User != nil {
		u.User = url.User("REDACTED")
	}
	if u.RawQuery != "" {
		u.RawQuery = "REDACTED"
	}
	if u.Opaque != "" {
		u.Opaque = "REDACTED"
	}
	u.Fragment, u.RawFragment = "", ""
	e.URL = strings.TrimSuffix(u.String(), "#")
	return err
}

// CloseIdleConnections closes the connections that serve no request.
func (c *Client) CloseIdleConnections() { c.transport.CloseIdleConnections() }

// SetRetries switches retries on or off at run time; see
// [Transport.SetRetries].
func (c *Client) SetRetries(enabled bool) { c.transport.SetRetries(enabled) }

// Stats returns a snapshot; see [Transport.Stats].
func (c *Client) Stats() Stats { return c.transport.Stats() }

// DebugHandler serves the client's state; see [Transport.DebugHandler].
func (c *Client) DebugHandler() http.Handler { return c.transport.DebugHandler() }

// Reload swaps TLS material; see [Transport.Reload].
func (c *Client) Reload(m TLSMaterial) error { return c.transport.Reload(m) }

// Shutdown drains and closes the client; see [Transport.Shutdown].
func (c *Client) Shutdown(ctx context.Context) error { return c.transport.Shutdown(ctx) }

// Close closes the client at once; see [Transport.Close].
func (c *Client) Close() error { return c.transport.Close() }
