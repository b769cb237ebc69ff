package pool

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// validate refuses what cannot be sent, before a connection is taken for it: a
// client connection would notice too late, and one that breaks in the middle
// of a header looks dead.
func validate(req *http.Request) error {
	if req.URL == nil {
		return errors.New("pool: nil Request.URL")
	}
	if req.Header == nil {
		return errors.New("pool: nil Request.Header")
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return fmt.Errorf("pool: want http or https: unsupported protocol scheme %q", req.URL.Scheme)
	}
	if err := validateFields("header", req.Header); err != nil {
		return err
	}
	if err := validateFields("trailer", req.Trailer); err != nil {
		return err
	}
	if req.Method != "" && !isToken(req.Method) {
		return fmt.Errorf("pool: invalid method %q", req.Method)
	}
	if req.URL.Host == "" {
		return errors.New("pool: no Host in request URL")
	}
	return nil
}

// validateHost refuses a host that holds another part of a URL, as no host does
// that was parsed. It may be a secret, and the host is in events, spans and
// error texts. Hosts that splitPlain takes need no such look.
func validateHost(host string) error {
	if i := strings.IndexAny(host, "@?#"); i >= 0 {
		return fmt.Errorf("pool: Request.URL.Host holds %q: credentials belong into URL.User, a query into URL.RawQuery, a fragment into URL.Fragment", host[i])
	}
	return nil
}

func validateFields(what string, h http.Header) error {
	for name, values := range h {
		if !isToken(name) {
			return fmt.Errorf("pool: invalid %s field name %q", what, name)
		}
		for _, v := range values {
			if !isFieldValue(v) {
				// Without the value, which may be a secret.
				return fmt.Errorf("pool: invalid %s field value for %q", what, name)
			}
		}
	}
	return nil
}

// tokenChars are the characters of a token (RFC 9110, section 5.6.2).
var tokenChars = func() (ok [256]bool) {
	for c := '0'; c <= '9'; c++ {
		ok[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		ok[c], ok[c-'a'+'A'] = true, true
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		ok[c] = true
	}
	return ok
}()

func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		if !tokenChars[s[i]] {
			return false
		}
	}
	return s != ""
}

// isFieldValue reports whether s holds no control character but tab (RFC 9110,
// section 5.5).
func isFieldValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
