package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/story"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// Origins of the upstreams.
const (
	Orders = "http://orders.shop"
	Search = "http://search.shop"
	Feed   = "http://feed.shop"
)

// Config describes a Stage.
type Config struct {
	// Telemetry is where the clients report to.
	Telemetry otelbridge.Config
	// Store is where the breaker's gates live; nil: in this process.
	Store breaker.Store
	// OrdersAddr is an orders service to call instead of the Stage's own,
	// as host:port; "": the own one. Its ills are its own, so Cause fails.
	OrdersAddr string
	// Seed makes the upstreams' failures repeatable.
	Seed uint64
}

// Stage is the client, its load and its upstreams. It is safe for concurrent
// use.
type Stage struct {
	cfg     Config
	orders  *story.Upstream // nil with OrdersAddr
	search  *story.Upstream
	feed    *feed
	hosts   map[string]string // what the dialer maps, by host:port
	current atomic.Pointer[client.Client]
	load    []*story.Load

	retiring sync.WaitGroup // clients that finish their calls

	mu         sync.Mutex
	accounting Accounting    // guarded by mu
	trouble    Trouble       // guarded by mu
	since      time.Time     // of the trouble; guarded by mu
	closed     bool          // guarded by mu
	changed    chan struct{} // holds a value after Cause, until Run has seen it
}

// State is what a Stage is doing.
type State struct {
	Accounting Accounting `json:"accounting"`
	Trouble    Trouble    `json:"trouble"`
	Since      time.Time  `json:"since"` // when the trouble began
}

// New starts the upstreams and makes a client with settled accounting. There is
// no load before Run.
func New(cfg Config) (*Stage, error) {
	s := &Stage{cfg: cfg, trouble: Healthy, since: time.Now(), changed: make(chan struct{}, 1)}
	var err error
	if s.search, err = story.ListenUpstream("search", cfg.Seed+1); err != nil {
		return nil, err
	}
	if s.feed, err = listenFeed(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	orders := cfg.OrdersAddr
	if orders == "" {
		if s.orders, err = story.ListenUpstream("orders", cfg.Seed); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		orders = addr(s.orders.URL())
	}
	s.hosts = map[string]string{
		"orders.shop:80": orders,
		"search.shop:80": addr(s.search.URL()),
		"feed.shop:80":   s.feed.listener.Addr().String(),
	}
	if err := s.Account(Settled); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	through := &http.Client{Transport: transportOf{s}}
	s.load = []*story.Load{
		{Client: through, URL: Orders, Every: ordersEvery},
		{Client: through, URL: Search, Every: searchEvery},
	}
	return s, nil
}

func addr(url string) string { return url[len("http://"):] }

// Account replaces the client by one that keeps its accounts in way a.
func (s *Stage) Account(a Accounting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("stage: closed")
	}
	if s.accounting == a {
		return nil
	}
	c, err := s.newClient(a)
	if err != nil {
		return err
	}
	s.accounting = a
	if old := s.current.Swap(c); old != nil {
		s.retiring.Go(func() { retire(old) })
	}
	return nil
}

// retire lets the calls of c finish, for a while.
func retire(c *client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = c.Shutdown(ctx) // what is left then is cut by Close
	_ = c.Close()
}

func (s *Stage) newClient(a Accounting) (*client.Client, error) {
	accounts, connections, err := a.profile()
	if err != nil {
		return nil, err
	}
	bucket, err := budget.New(accounts)
	if err != nil {
		return nil, err
	}
	gates, err := breaker.New(breaker.Config{Store: s.cfg.Store, FailureRate: 0.8, BucketWidth: 10 * time.Second, Cooldown: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxConnsPerHost = 16
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		to, ok := s.hosts[address]
		if !ok {
			return nil, fmt.Errorf("stage: %s is no upstream of the demonstration", address)
		}
		var d net.Dialer
		return d.DialContext(ctx, network, to)
	}
	return client.New(client.Config{
		Name: string(a), Transport: transport, Pool: connections,
		Budget: bucket, Breaker: gates, Telemetry: s.cfg.Telemetry,
	})
}

// Heals reports whether the ills of orders can be chosen here.
func (s *Stage) Heals() bool { return s.orders != nil }

// Cause gives orders an ill, or heals it. With Kill, what is parked dies at once.
func (s *Stage) Cause(t Trouble) error {
	ill, err := t.ill()
	if err != nil {
		return err
	}
	if s.orders == nil {
		return errors.New("stage: orders is a service of its own here: its ills cannot be chosen")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble, s.since = t, time.Now()
	if t == Kill {
		s.orders.KillParked()
	}
	s.orders.Set(ill)
	select {
	case s.changed <- struct{}{}:
	default: // Run has not seen the change before yet
	}
	return nil
}

// State returns what the Stage is doing.
func (s *Stage) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{Accounting: s.accounting, Trouble: s.trouble, Since: s.since}
}

// Stats returns the state of the client in use.
func (s *Stage) Stats() client.Stats { return s.current.Load().Stats() }

// Close ends the client and the upstreams, after Run has returned.
func (s *Stage) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	var err error
	if c := s.current.Load(); c != nil {
		err = c.Close()
	}
	if s.orders != nil {
		err = errors.Join(err, s.orders.Close())
	}
	if s.search != nil {
		err = errors.Join(err, s.search.Close())
	}
	if s.feed != nil {
		err = errors.Join(err, s.feed.close())
	}
	s.retiring.Wait()
	return err
}

// transportOf sends through the client that the stage has at the moment.
type transportOf struct{ stage *Stage }

func (t transportOf) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.stage.current.Load().Transport.RoundTrip(r)
}
