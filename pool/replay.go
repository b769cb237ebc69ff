package pool

import "net/http"

// Idempotent reports whether sending req twice has the effect of sending it
// once: its method is GET, HEAD, OPTIONS, TRACE, PUT, DELETE (RFC 9110,
// section 9.2.2) or QUERY, or it carries a non-empty Idempotency-Key or
// X-Idempotency-Key, or retryNonIdempotent says that every method counts.
func Idempotent(req *http.Request, retryNonIdempotent bool) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		http.MethodPut, http.MethodDelete, "QUERY":
		return true
	}
	return retryNonIdempotent || hasValue(req.Header, "Idempotency-Key") || hasValue(req.Header, "X-Idempotency-Key")
}

// hasValue also accepts the key with an empty list, which marks a request as
// idempotent without sending the header (see http.Transport).
func hasValue(h http.Header, key string) bool {
	vs, ok := h[key]
	if ok && len(vs) == 0 {
		return true
	}
	for _, v := range vs {
		if v != "" {
			return true
		}
	}
	return false
}

// Replayable reports whether req's body can be sent again: there is none, or
// GetBody gives it anew.
func Replayable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}
