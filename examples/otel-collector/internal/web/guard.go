package web

import (
	"net/http"
	"slices"
)

// policy is the Content-Security-Policy of everything that is served.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard lets requests through that are meant for one of hosts, and what may
// change something only from a page of this server.
func guard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !slices.Contains(hosts, r.Host) {
			http.Error(w, "this server answers at its own address only", http.StatusMisdirectedRequest)
			return
		}
		if foreign(r) {
			http.Error(w, "other sites may link here, and no more", http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !sameOrigin(r) {
			http.Error(w, "controls are taken from this server's own page only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign reports whether another site's page makes a browser send r, other than
// by a link: it could not read the answer, but queries are work.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // no browser; this page; typed in
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// sameOrigin reports whether r comes from a page that this server served. A
// browser sends Origin with every POST, and no page can forge it.
func sameOrigin(r *http.Request) bool {
	return r.Header.Get("Origin") == "http://"+r.Host
}
