package chaos

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	fs "github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// plan is what the seed says about one call.
type plan struct {
	n      int // 0-based
	id     string
	host   int // index in hosts
	method string
	keyed  bool // it carries an Idempotency-Key
	body   bodyKind
	size   int // of the request's body
	answer int // size of the response's body
	shape  shape
	via    via
	read   reading
	stop   stopping
	after  time.Duration // when the caller gives up
	policy policy
	short  bool // a short total retry time
	expect bool // Expect: 100-continue
	first  action
	storm  bool // its origin is in trouble
}

type bodyKind int

const (
	noBody bodyKind = iota
	inMemory
	replayable // GetBody, each body's closes counted
	oneShot    // no GetBody
	endless    // no GetBody, no length
	failing    // its Read fails half-way
	broken     // GetBody returns an error
	explosive  // GetBody panics
)

// shape is how the answer in order looks.
type shape int

const (
	sized shape = iota
	chunked
	gzipped
	trailed
	empty
	redirected // to another origin
)

type via int

const (
	viaDo via = iota
	viaRoundTrip
	viaStream
)

// reading is what the caller does with the response's body.
type reading int

const (
	readAll reading = iota
	readBits
	readHalf // and close
	readNothing
)

// stopping is how the caller gives up.
type stopping int

const (
	never stopping = iota
	before
	cancels
	withCause
	deadline
	requestCancel // http.Request.Cancel
	whileReading
)

// policy is what the caller asks of the retry loop.
type policy int

const (
	clients policy = iota // the client's own
	noRetries
	retryAll // RetryIf says Retry, whatever the method
	stopAll
	peeks
	panics
	sends // Overrun: Send
)

// action is what is done besides, before the call.
type action int

const (
	nothing action = iota
	parkedFault
	killAll
	goAway
	closeIdle
	reload
	badReload
	retriesOff
	look // Stats and the debug handler
	closeClient
)

// odds are values with their weights.
type odds[T any] []struct {
	weight int
	value  T
}

func (o odds[T]) draw(r *rand.Rand) T {
	total := 0
	for _, x := range o {
		total += x.weight
	}
	n := r.IntN(total)
	for _, x := range o {
		if n < x.weight {
			return x.value
		}
		n -= x.weight
	}
	panic("unreachable")
}

var (
	methodOdds = odds[string]{
		{30, http.MethodGet}, {6, http.MethodHead}, {14, http.MethodPut}, {6, http.MethodDelete}, {2, http.MethodOptions},
		{2, "QUERY"}, {30, http.MethodPost}, {6, http.MethodPatch},
	}
	bodyOdds = odds[bodyKind]{
		{30, noBody}, {20, inMemory}, {25, replayable}, {10, oneShot}, {8, endless}, {3, failing}, {3, broken}, {1, explosive},
	}
	shapeOdds   = odds[shape]{{40, sized}, {20, chunked}, {10, gzipped}, {5, trailed}, {10, empty}, {8, redirected}}
	viaOdds     = odds[via]{{60, viaDo}, {30, viaRoundTrip}, {3, viaStream}}
	readOdds    = odds[reading]{{70, readAll}, {8, readBits}, {10, readHalf}, {8, readNothing}}
	stopOdds    = odds[stopping]{{70, never}, {2, before}, {8, cancels}, {3, withCause}, {8, deadline}, {4, requestCancel}, {5, whileReading}}
	policyOdds  = odds[policy]{{80, clients}, {5, noRetries}, {4, retryAll}, {2, stopAll}, {3, peeks}, {1, panics}, {3, sends}}
	actionOdds  = odds[action]{{960, nothing}, {70, parkedFault}, {3, killAll}, {8, goAway}, {10, closeIdle}, {6, reload}, {2, badReload}, {2, retriesOff}, {4, look}}
	sizeOdds    = odds[int]{{20, 0}, {40, 100}, {20, 3000}, {20, 30_000}}
	bigSizeOdds = odds[int]{{20, 0}, {40, 100}, {20, 30_000}, {20, 300_000}}
)

// plan makes the plan of call n.
func (w *world) plan(n int) *plan {
	r := w.rng(1, uint64(n))
	p := &plan{
		n: n, id: strconv.Itoa(n), host: r.IntN(len(hosts)), method: methodOdds.draw(r),
		body: bodyOdds.draw(r), shape: shapeOdds.draw(r), via: viaOdds.draw(r), read: readOdds.draw(r),
		stop: stopOdds.draw(r), policy: policyOdds.draw(r), first: actionOdds.draw(r),
		size: w.sizes.draw(r), answer: w.sizes.draw(r),
		keyed: r.IntN(6) == 0, short: r.IntN(30) == 0, expect: r.IntN(12) == 0,
		after: time.Duration(r.Int64N(int64(6 * w.unit))),
	}
	if r.IntN(4) == 0 {
		p.after /= 100 // while it dials or sends
	}
	// Every origin is in trouble for a tenth of the round.
	p.storm = w.storms && n*10/w.calls == (p.host*3+2)%10
	switch p.method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		p.body = noBody
	}
	if p.body == noBody {
		p.expect = false
	} else {
		p.size++
	}
	if p.via == viaStream && !w.listens {
		p.via = viaDo
	}
	if p.via == viaStream {
		p.method, p.body, p.expect, p.policy, p.shape = http.MethodGet, noBody, false, clients, sized
	}
	if p.shape == redirected && (p.via != viaDo || hosts[p.host].proto == fs.H2C) {
		p.shape = sized // only http.Client follows; one client has a single origin
	}
	if p.shape == redirected && p.body > replayable {
		p.body = replayable // http.Client would not follow
	}
	if p.via != viaRoundTrip && p.stop == requestCancel {
		p.stop = cancels
	}
	switch {
	case n == w.closing:
		p.first = closeClient
	case !w.reloads && (p.first == reload || p.first == badReload), !w.switches && p.first == retriesOff:
		p.first = nothing
	}
	return p
}

// idempotent reports whether the call may be sent twice.
func (p *plan) idempotent(method string) bool {
	return p.keyed || method != http.MethodPost && method != http.MethodPatch
}

// content is the body that belongs to key: n bytes that no other body shares.
func content(key string, n int) []byte {
	h := uint32(2166136261)
	for _, c := range []byte(key) {
		h = (h ^ uint32(c)) * 16777619
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((uint32(i)*31 + h) % 251)
	}
	return b
}
