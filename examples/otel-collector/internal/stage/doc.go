// Package stage is what the demonstration watches: an instrumented client with
// a steady load on three upstreams, and the ills that one of them can be given.
//
// The upstreams have names, http://orders.shop, http://search.shop and
// http://feed.shop, which the client's dialer maps to listeners on loopback.
// Only orders falls ill. The load stops and every goroutine has ended when Run
// returns; Close ends the upstreams and the client.
//
// A [Stage] has one client at a time. [Stage.Account] replaces it by one with
// another way of accounting, named after it, whose budgets are full; calls in
// flight finish on the old one.
package stage
