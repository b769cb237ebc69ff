package client

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-http/plimsoll/budget"
)

// target is what calls to one origin and partition share. The registry keeps
// it while calls run on it and may drop it afterwards.
type target struct {
	origin    string            // normalised scheme://host:port
	partition string            // lower-cased; the origin unless Config.Partition says otherwise
	tokens    *budget.Partition // nil without a budget
	scheme    string            // as in the request's URL
	host      string            // as in the request's URL
	active    atomic.Int64      // calls between CallStarted and CallDone
	dropped   atomic.Bool       // no longer in the registry; once true, active must not grow
}

// registry finds the target of a request. It is bounded: past maxTargets,
// targets without calls are dropped.
type registry struct {
	bucket *budget.Bucket // nil without a budget
	last   atomic.Pointer[target]

	mu      sync.RWMutex
	origins map[originKey]*target // guarded by mu; the targets whose partition is the origin
	others  map[targetKey]*target // guarded by mu; all other targets
}

type originKey struct{ scheme, host string }

type targetKey struct {
	originKey
	partition string
}

// maxTargets bounds a registry. It is the default number of partitions of a
// budget.
const maxTargets = 4096

func newRegistry(bucket *budget.Bucket) *registry {
	return &registry{bucket: bucket, origins: map[originKey]*target{}, others: map[targetKey]*target{}}
}

// enter returns the request's target with its count of active calls raised, or
// nil if its host is none: what belongs to another part of a URL may be a
// secret, and a target is in events, metrics and Stats. partition is what
// Config.Partition returned, or "".
func (r *registry) enter(req *http.Request, partition string) *target {
	scheme, host := req.URL.Scheme, req.URL.Host
	if t := r.last.Load(); t != nil && partition == "" && t.scheme == scheme && t.host == host {
		t.active.Add(1)
		if !t.dropped.Load() {
			return t
		}
		t.active.Add(-1)
	}
	o := originKey{scheme, host}
	partition = strings.ToLower(partition)
	r.mu.RLock()
	t := r.find(o, partition)
	if t != nil {
		t.active.Add(1)
	}
	r.mu.RUnlock()
	switch {
	case t != nil:
	case strings.ContainsAny(host, "@?#"):
		return nil
	default:
		t = r.add(o, partition)
	}
	if partition == "" {
		r.last.Store(t)
	}
	return t
}

// find needs mu.
func (r *registry) find(o originKey, partition string) *target {
	if partition == "" {
		return r.origins[o]
	}
	return r.others[targetKey{o, partition}]
}

func (r *registry) add(o originKey, partition string) *target {
	t := &target{origin: originOf(o.scheme, o.host), scheme: strings.Clone(o.scheme), host: strings.Clone(o.host)}
	o = originKey{t.scheme, t.host}
	t.partition = t.origin
	if partition != "" {
		t.partition = strings.Clone(partition)
	}
	if r.bucket != nil {
		t.tokens = r.bucket.Partition(t.partition)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if won := r.find(o, partition); won != nil {
		won.active.Add(1)
		return won
	}
	r.makeRoomLocked()
	t.active.Add(1)
	if partition == "" {
		r.origins[o] = t
	} else {
		r.others[targetKey{o, t.partition}] = t
	}
	return t
}

// makeRoomLocked drops targets without calls until there is room, an eighth of
// the bound at a time so that its cost is shared by many calls. If every target
// has calls, the registry grows: it holds no more than there are calls.
func (r *registry) makeRoomLocked() {
	if len(r.origins)+len(r.others) < maxTargets {
		return
	}
	room := maxTargets / 8
	for k, t := range r.origins {
		if room > 0 && t.drop() {
			delete(r.origins, k)
			room--
		}
	}
	for k, t := range r.others {
		if room > 0 && t.drop() {
			delete(r.others, k)
			room--
		}
	}
}

// drop marks the target as dropped if it has no calls. A call that raises the
// count at the same time sees the mark and looks the target up again.
func (t *target) drop() bool {
	if t.active.Load() != 0 {
		return false
	}
	t.dropped.Store(true)
	if t.active.Load() != 0 {
		t.dropped.Store(false)
		return false
	}
	return true
}

// all returns the targets at this moment.
func (r *registry) all() []*target {
	r.mu.RLock()
	defer r.mu.RUnlock()
	ts := make([]*target, 0, len(r.origins)+len(r.others))
	for _, t := range r.origins {
		ts = append(ts, t)
	}
	for _, t := range r.others {
		ts = append(ts, t)
	}
	return ts
}

// active sums the running calls.
func (r *registry) active() (n int64) {
	for _, t := range r.all() {
		n += t.active.Load()
	}
	return n
}

// originOf normalises to scheme://host:port: lower case, port always given.
func originOf(scheme, hostport string) string {
	scheme = strings.ToLower(scheme)
	host, port := hostport, ""
	if h, p, err := net.SplitHostPort(hostport); err == nil {
		host, port = h, p
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
		host = strings.TrimSuffix(host, ":")
	}
	if port == "" {
		switch scheme {
		case "https", "wss":
			port = "443"
		default:
			port = "80"
		}
	}
	return scheme + "://" + net.JoinHostPort(strings.ToLower(host), port)
}
