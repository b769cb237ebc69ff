package events

import (
	"context"
	"net/url"
)

// Meta is what every event carries.
type Meta struct {
	Client    string // the client's name; "default" unless configured, "" for a pool used alone
	Origin    string // normalised scheme://host:port
	Partition string // the key of budget, breaker and throttle; the origin unless configured; "" for a pool used alone
	Call      uint64 // the call's number in this process, from 1; 0 outside a call
}

// MetaKey is the context key under which a context may answer with a *Meta, or
// with a value that has a method Meta() Meta, which says on whose behalf
// something happens. Packages below the client ask for it when they emit an
// event.
type MetaKey struct{}

// MetaFrom returns the Meta that ctx answers with for [MetaKey], or the zero
// Meta.
func MetaFrom(ctx context.Context) Meta {
	switch m := ctx.Value(MetaKey{}).(type) {
	case *Meta:
		if m != nil {
			return *m
		}
	case interface{ Meta() Meta }:
		return m.Meta()
	}
	return Meta{}
}

// URL is a request's URL that formats without its secrets: no userinfo, no
// query, no fragment. The zero value formats as "".
type URL struct{ u *url.URL }

// URLOf wraps u, which must not change while the URL is in use.
func URLOf(u *url.URL) URL { return URL{u} }

// String returns scheme://host/path, with "REDACTED:REDACTED@" in place of
// userinfo and "?REDACTED" in place of a query (the form that the
// OpenTelemetry HTTP conventions give for url.full). It allocates.
func (u URL) String() string {
	if u.u == nil {
		return ""
	}
	out := url.URL{Scheme: u.u.Scheme, Opaque: u.u.Opaque, Host: u.u.Host, Path: u.u.Path, RawPath: u.u.RawPath}
	if out.Opaque != "" {
		// An opaque part may hold anything, userinfo included.
		out.Opaque = "REDACTED"
	}
	if u.u.User != nil {
		out.User = redactedUser
	}
	if u.u.RawQuery != "" {
		out.RawQuery = "REDACTED"
	}
	return out.String()
}

var redactedUser = url.UserPassword("REDACTED", "REDACTED")

// Host returns the URL's host[:port], without userinfo.
func (u URL) Host() string {
	if u.u == nil {
		return ""
	}
	return u.u.Host
}

// Scheme returns the URL's scheme.
func (u URL) Scheme() string {
	if u.u == nil {
		return ""
	}
	return u.u.Scheme
}

// MarshalText writes the URL as [URL.String] does.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// GoString formats the URL as [URL.String] does, so that %#v shows no secret.
func (u URL) GoString() string { return u.String() }
