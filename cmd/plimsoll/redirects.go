package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/plimsoll-http/plimsoll/client"
)

// mostRedirects is what client.CheckRedirect follows: a chain has at most ten
// requests.
const mostRedirects = 9

// tooManyRedirectsError ends a chain of redirects.
type tooManyRedirectsError struct{ limit int }

func (e *tooManyRedirectsError) Error() string {
	return fmt.Sprintf("stopped after %s (--max-redirs)", quantity(e.limit, "redirect"))
}

// redirect decides about a redirect, as http.Client.CheckRedirect. Beyond what
// client.CheckRedirect does, fields of --header that may hold a secret stay
// with the origin that they were meant for.
func (o *getOptions) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case o.redirects == 0:
		return http.ErrUseLastResponse
	case len(via) > o.redirects:
		return &tooManyRedirectsError{o.redirects}
	}
	if err := client.CheckRedirect(req, via); err != nil {
		return err
	}
	home := origin(via[0].URL)
	if origin(req.URL) != home || slices.ContainsFunc(via, func(v *http.Request) bool { return origin(v.URL) != home }) {
		for name := range o.header.fields {
			if !isPlain(name) {
				req.Header.Del(name)
			}
		}
	}
	return nil
}

// origin is scheme, host and port (RFC 6454).
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
