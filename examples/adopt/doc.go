// Command adopt shows how a service that has an *http.Client of its own takes
// plimsoll: prices.go is the service as it was and does not change; the five
// lines that are new, but for the import, are between the marks in main.go.
//
//	go run .                              # asks a server of its own that fails at times
//	go run . https://prices.example/v1    # asks that one
//
// The client remains, and what was set on it goes on to hold: its transport's
// limits, its timeout, its jar and its redirect policy. So credentials follow
// redirects as before, as net/http lets them: to other ports, to subdomains and
// from https to http. To keep them to their origin, as a client of client.New
// does, set client.CheckRedirect where the client has no CheckRedirect, and call
// it from the one that it has, as the last thing: return
// client.CheckRedirect(req, via).
//
// What is new: retries
// from a budget, recovery of dead connections, Retry-After, and spans and
// metrics through the global OpenTelemetry providers, which cost next to
// nothing where none are set.
package main
