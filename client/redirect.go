package client

import (
	"errors"
	"net/http"
)

// mostRedirects is net/http's own limit.
const mostRedirects = 10

// textLocation begins http.Client's error about a Location that it cannot parse,
// which quotes it whole.
const textLocation = "failed to parse Location header "

var errLocation = errors.New("client: the Location of the response is not a URL")

// credentials are the header fields that do not follow a redirect to another
// origin.
var credentials = [...]string{"Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "Proxy-Authenticate", "Www-Authenticate"}

// CheckRedirect is the CheckRedirect that [New] gives the embedded http.Client.
// It stops after 10 redirects, as net/http does, and keeps the caller's
// credentials to the origin (scheme, host and port) that they were meant for:
// once a chain has left the first request's origin, it carries no
// Authorization, Proxy-Authorization, Www-Authenticate, Proxy-Authenticate,
// Cookie or Cookie2 that the caller had set, also back at that origin. net/http by itself lets them go to
// other ports, to subdomains and from https to http. Cookies of a Jar go where
// the Jar says. Header fields of other names follow the redirect.
//
// At a step from one origin to another the Referer that net/http adds is cut to
// the origin, since a path or a query may hold a secret (Referrer Policy,
// "strict-origin-when-cross-origin"). One that the caller has set is left as it
// is.
//
// Whoever sets a CheckRedirect of their own can call this one from it.
func CheckRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= mostRedirects {
		return errors.New("client: stopped after 10 redirects")
	}
	if len(via) == 0 {
		return nil
	}
	first, last := via[0], via[len(via)-1]
	left := !sameOrigin(first, req)
	for _, v := range via[1:] {
		left = left || !sameOrigin(first, v)
	}
	if left {
		for _, name := range credentials {
			req.Header.Del(name)
		}
	}
	if !sameOrigin(last, req) && first.Header.Get("Referer") == "" && req.Header.Get("Referer") != "" {
		req.Header.Set("Referer", last.URL.Scheme+"://"+last.URL.Host+"/")
	}
	return nil
}

func sameOrigin(a, b *http.Request) bool {
	return originOf(a.URL.Scheme, a.URL.Host) == originOf(b.URL.Scheme, b.URL.Host)
}
