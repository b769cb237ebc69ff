package chaos

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	fs "github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// hosts are the origins of a round.
var hosts = [...]origin{
	{"h1.test", fs.H1, "http://h1.test"},
	{"tls.test", fs.TLS, "https://tls.test"},
	{"h2.test", fs.H2, "https://h2.test"},
	{"h2c.test", fs.H2C, "http://h2c.test"},
}

type origin struct {
	name  string
	proto fs.Protocol
	url   string
}

// authority issues every certificate, so that a client outlives the servers of a
// round.
var authority = fs.NewCA()

// fleet is the servers of a round.
type fleet struct {
	w       *world
	servers [len(hosts)]*fs.Server
}

func newFleet(w *world) (*fleet, error) {
	f := &fleet{w: w}
	for i, h := range hosts {
		s, err := fs.New(fs.Config{
			Protocol: h.proto, Memory: w.memory, CA: authority,
			Settings:   fs.Settings{MaxConcurrentStreams: w.streams},
			Choose:     func(r fs.Request) fs.Script { return f.answer(i, r) },
			ChooseConn: func(c fs.Conn) fs.Script { return f.welcome(i, c) },
		})
		if err != nil {
			f.close()
			return nil, err
		}
		f.servers[i] = s
	}
	return f, nil
}

// close closes the servers and notes what scripts could not do.
func (f *fleet) close() {
	for _, s := range f.servers {
		if s == nil {
			continue
		}
		s.Close()
		if err := s.Err(); err != nil {
			f.w.breach("%v", err)
		}
	}
}

// pathOf is the path of one hop of a call, and locate reads it.
func pathOf(n, hop int) string { return fmt.Sprintf("/c/%d/%d", n, hop) }

func (w *world) locate(path string) (*state, int) {
	parts := strings.Split(path, "/")
	if len(parts) != 4 || parts[1] != "c" {
		return nil, 0
	}
	n, err := strconv.Atoi(parts[2])
	hop, err2 := strconv.Atoi(parts[3])
	if err != nil || err2 != nil || n < 0 || n >= len(w.states) {
		return nil, 0
	}
	return w.states[n], hop
}

// answer picks the script of a request by its call, its hop and how often it has
// come before.
func (f *fleet) answer(host int, req fs.Request) fs.Script {
	st, hop := f.w.locate(req.Path)
	if st == nil {
		f.w.breach("%s got a request for %q, which nobody sent", hosts[host].name, req.Path)
		return fs.Script{}
	}
	st.mu.Lock()
	n := len(st.arrivals[hop])
	st.mu.Unlock()
	r := f.w.rng(2, uint64(st.n)<<20|uint64(hop)<<16|uint64(n))
	rep := f.reply(st, hop, host, req)
	chance := f.w.faulty
	if st.storm {
		chance = 90
	}
	script, a := inOrder(rep), arrival{host: host, conn: req.Conn, stream: req.Stream, method: req.Method, fault: inOrderName}
	if r.IntN(100) < chance {
		fault := f.w.draw(r.IntN, hosts[host].proto, func(f *fault) bool { return f.request != nil })
		script, a.refused, a.fault = fault.request(rep), fault.refused, fault.name
	}
	f.w.tally.fault(a.fault)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.arrivals[hop] = append(st.arrivals[hop], a)
	return script
}

// welcome picks the script of a connection.
func (f *fleet) welcome(host int, c fs.Conn) fs.Script {
	r := f.w.rng(3, uint64(host)<<32|uint64(c.Number))
	switch n := r.IntN(1000); {
	case n < 15:
		fault := f.w.draw(r.IntN, hosts[host].proto, func(f *fault) bool { return f.conn != nil })
		f.w.tally.fault(fault.name)
		return fault.conn(&reply{proto: hosts[host].proto, unit: f.w.unit})
	case n < 40:
		f.w.tally.fault(cutReading)
		return fs.Do(fs.KillAfterRead{Bytes: 1 + r.Int64N(20_000), How: fs.How(r.IntN(3))})
	case n < 65:
		f.w.tally.fault(cutWriting)
		return fs.Do(fs.KillAfterWritten{Bytes: 1 + r.Int64N(60_000), How: fs.How(r.IntN(3))})
	case n < 80:
		return fs.Do(fs.Delay{For: f.w.unit})
	}
	return fs.Script{}
}

// draw picks a fault that is possible on p, by weight.
func (w *world) draw(intn func(int) int, p fs.Protocol, want func(*fault) bool) *fault {
	var o odds[*fault]
	total := 0
	for i := range w.faults {
		if x := &w.faults[i]; x.weight > 0 && want(x) && x.possible(p) && w.allows(x, p) {
			o = append(o, struct {
				weight int
				value  *fault
			}{x.weight, x})
			total += x.weight
		}
	}
	n := intn(total)
	for _, x := range o {
		if n < x.weight {
			return x.value
		}
		n -= x.weight
	}
	panic("unreachable")
}

// allows reports whether the round has this fault on p.
func (w *world) allows(f *fault, p fs.Protocol) bool {
	switch {
	case f.group == unasked:
		return w.unasked
	case f.name == deaf && p.Multiplexed():
		// net/http holds a mutex while it writes to such a connection, and in a
		// bubble no time passes while somebody waits for a mutex.
		return !w.memory
	}
	return true
}

// reply is the answer in order to a hop of a call. X-Id says whose it is, X-Body
// how long its body is and that it is content(X-Id).
func (f *fleet) reply(st *state, hop, host int, req fs.Request) *reply {
	id := fmt.Sprint(st.id, "/", hop)
	data := content("answer "+id, st.plan.answer)
	rep := &reply{proto: hosts[host].proto, unit: f.w.unit, header: http.Header{"X-Id": {id}}, data: data}
	status, sent := http.StatusOK, data
	switch st.shape {
	case empty:
		status, sent = http.StatusNoContent, nil
	case gzipped:
		if strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") && req.Header.Get("Range") == "" && req.Method != http.MethodHead {
			rep.header.Set("Content-Encoding", "gzip")
			sent = zipped(data)
		}
	case redirected:
		if hop == 0 {
			status = []int{301, 302, 303, 307, 308}[st.n%5]
			rep.header.Set("Location", elsewhere(host, st.n).url+pathOf(st.n, 1)+"?token="+secret)
		}
	}
	if st.via == viaStream {
		status, data = streamed(st, req.Header.Get("Last-Event-ID"))
		sent = data
		rep.header.Set("Content-Type", "text/event-stream")
	}
	rep.header.Set("X-Body", strconv.Itoa(len(data)))
	if st.shape == empty {
		rep.header.Set("X-Body", "0")
	}
	rep.data = sent
	rep.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		f.checkRequest(st, hop, r, got)
		h := w.Header()
		maps.Copy(h, rep.header)
		if st.shape == trailed {
			h.Set("Trailer", "X-Sum")
		}
		if st.shape == sized && st.via != viaStream {
			h.Set("Content-Length", strconv.Itoa(len(sent)))
		}
		w.WriteHeader(status)
		if r.Method != http.MethodHead && status != http.StatusNoContent {
			for part := range bytesIn(sent, 1+len(sent)/3) {
				w.Write(part)
				if st.shape == chunked {
					w.(http.Flusher).Flush()
				}
			}
		}
		if st.shape == trailed {
			h.Set("X-Sum", id)
		}
	})
	return rep
}

// checkRequest compares a request that arrived whole with what was sent.
func (f *fleet) checkRequest(st *state, hop int, r *http.Request, got []byte) {
	switch {
	case r.Method != st.method && hop == 0:
		f.w.breach("call %d arrived as %s", st.n, r.Method)
	case r.Header.Get("X-Call") != st.id:
		f.w.breach("call %d arrived with the header of call %q", st.n, r.Header.Get("X-Call"))
	case len(got) == 0 && (hop > 0 || st.body == noBody):
	case st.body == failing:
		f.w.breach("call %d: a body that failed half-way arrived whole, %d bytes", st.n, len(got))
	case !bytes.Equal(got, content("request "+st.id, st.size)):
		f.w.breach("call %d: %d body bytes arrived of %d, or others", st.n, len(got), st.size)
	}
	if hop > 0 && (r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" || strings.Contains(r.Header.Get("Referer"), secret)) {
		f.w.breach("call %d: a credential was redirected to another origin", st.n)
	}
}

// elsewhere is another origin of the same client, which is the first.
func elsewhere(host, n int) origin { return hosts[(host+1+n%2)%3] }

func bytesIn(b []byte, n int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			k := min(n, len(b))
			if !yield(b[:k]) {
				return
			}
			b = b[k:]
		}
	}
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// eventsOfStream is how many events a stream has in all.
func eventsOfStream(st *state) int { return 1 + st.plan.answer%17 }

// streamed is the rest of a stream after the event last.
func streamed(st *state, last string) (status int, data []byte) {
	from, _ := strconv.Atoi(last)
	if from >= eventsOfStream(st) {
		return http.StatusNoContent, nil
	}
	var b bytes.Buffer
	for i := from + 1; i <= eventsOfStream(st); i++ {
		fmt.Fprintf(&b, ": keep-alive\nid: %d\ndata: event %d\n\n", i, i)
	}
	return http.StatusOK, b.Bytes()
}

// disturb does something to the parked connections of an origin.
func (f *fleet) disturb(host int, intn func(int) int) {
	fault := f.w.draw(intn, hosts[host].proto, func(x *fault) bool { return x.parked != nil })
	f.w.tally.fault(fault.name)
	fault.parked(f.servers[host])
}

// sockets returns how many connections the servers see as open.
func (f *fleet) sockets() (n int) {
	for _, s := range f.servers {
		n += s.Stats().Open
	}
	return n
}
