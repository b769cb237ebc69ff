// Package chaos puts a client in front of servers that do everything at once
// that internal/faultserver can do, and holds what came of it against a model of
// what may happen. It holds tests alone.
//
// # A round
//
// A seed decides about a round: the client's configuration, and for each call
// method, body, how the caller reads, when it gives up, which policy it brings,
// what the server answers to each arrival of it, and what is done to the
// connections, the configuration and the client meanwhile. Four servers (HTTP/1.1,
// TLS, HTTP/2, HTTP/2 without TLS) and two clients that share a retry budget and
// a breaker take part, and a few dozen callers at once. Rounds of odd seeds run
// in memory in virtual time, so that waits of seconds and minutes cost nothing;
// those of even seeds over loopback.
//
// A seed fixes the plan, not the order in which goroutines run. Most failures
// come again within a few runs of their seed:
//
//	go test -race -run TestChaos ./internal/chaos -seed=7 -calls=5000 -count=5
//
// # The model
//
// The client may retry and recover as it likes, within this:
//
//   - A request that is not idempotent reaches a server once; again only if the
//     server has said that it did not process it, or RetryIf has asked for it.
//     On HTTP/1.1 its first byte is written to one socket at most.
//   - No request reaches a server more often than attempts and recoveries say.
//   - Per generation, pool and origin the client never has more sockets than
//     MaxConnsPerHost, dials included; where a round has one generation, neither
//     has the server.
//   - What the caller reads is the answer to its request, whole, or ends in an
//     error. A request body arrives whole or not at all.
//   - Each request body is closed once.
//   - Each call gives one CallDone, each attempt one AttemptDone, and the numbers
//     in them are those of the other events. The outcome is what the caller saw.
//   - Tokens: what was reserved is settled; the level is what charges and
//     refills make of it. Nothing is reserved and no probe is held at the end.
//   - A call that nobody canceled is not canceled. A panic of a callback reaches
//     its caller unchanged. A call whose caller gave up returns at once.
//   - No error text and no event shows a credential.
//   - At the end no request, waiter, dial, socket or goroutine is left.
//
// A model that is blind passes everything. So a second test breaks each of these
// promises on purpose and fails if that goes unnoticed; and after 50,000 calls
// every fault and every kind of event must have come up.
//
// # How long
//
// Within go test ./... a few small rounds run. -seeds and -calls make more of
// them, -seed takes one alone, -soak=10m goes on for that long (make
// soak) and prints figures, -long adds what takes minutes to the tests of memory.
// 20 seeds of 5,000 calls take some eight minutes:
//
//	go test -race -timeout 0 -run TestChaos ./internal/chaos -seeds=20 -calls=5000
//
// # The table of faults
//
// The faults are one table, faults(). docs/faults.md is written from it: each
// fault alone, on each protocol, and what the caller gets. A test fails if the
// page is not what the table gives.
package chaos

//go:generate go test -count=1 -run ^TestTheFaultsPageIsCurrent$ . -update
