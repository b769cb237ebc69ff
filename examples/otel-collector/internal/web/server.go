package web

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/traces"
)

//go:embed page
var embedded embed.FS

// Stage is what the controls act on.
type Stage interface {
	Account(stage.Accounting) error
	Cause(stage.Trouble) error
	Heals() bool
	State() stage.State
}

// Config describes a Server.
type Config struct {
	Stage  Stage
	Boards []dashboards.File // dashboards are those whose name ends in .json
	API    http.Handler      // Prometheus's API
	Traces *traces.Store     // nil: they go elsewhere
	// Interval is how often there is something new.
	Interval time.Duration
	// Now is the time that the metrics are about; nil: the clock's.
	Now func() time.Time
	// Settled is the time up to which Prometheus's answers do not change any
	// more: the panels end there. nil, or the zero time: now.
	Settled func(context.Context) time.Time
}

// Server is a running page.
type Server struct {
	URL string

	cfg    Config
	http   *http.Server
	served chan error
	boards []board

	mu    sync.Mutex
	log   []change // what was done, oldest first; guarded by mu
	ready bool     // guarded by mu
}

type board struct {
	UID   string `json:"uid"`
	Title string `json:"title"`
	data  []byte
}

// change is something that a person did.
type change struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// mostChanges is how many changes the page is told of.
const mostChanges = 50

// longestHeader is how many bytes a request may have, and so how long a query
// may be: parsing takes minutes for what a megabyte can hold.
const longestHeader = 16 << 10

// Serve serves the page on l until Close.
func Serve(l net.Listener, cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{URL: "http://" + l.Addr().String(), cfg: cfg, served: make(chan error, 1)}
	for _, f := range cfg.Boards {
		if !strings.HasSuffix(f.Name, ".json") {
			continue
		}
		b := board{data: f.Data}
		if err := json.Unmarshal(f.Data, &b); err != nil {
			l.Close()
			return nil, fmt.Errorf("web: dashboard %s: %w", f.Name, err)
		}
		s.boards = append(s.boards, b)
	}
	page, err := fs.Sub(embedded, "page")
	if err != nil {
		panic("web: the page is not embedded: " + err.Error())
	}
	s.http = &http.Server{
		Handler:           guard(hosts(l.Addr()), s.routes(page)),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: longestHeader,
	}
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// Close ends the server; requests under way have two seconds.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	if e := <-s.served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// Ready says that the past is told and the load runs.
func (s *Server) Ready() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
}

// Note puts a mark into the panels: something was done.
func (s *Server) Note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, change{s.cfg.Now(), what})
	if len(s.log) > mostChanges {
		s.log = s.log[1:]
	}
}

func (s *Server) routes(page fs.FS) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/d/plimsoll-retry-budget", http.StatusFound)
	})
	mux.HandleFunc("GET /d/{uid}", func(w http.ResponseWriter, r *http.Request) {
		if s.find(r.PathValue("uid")) == nil {
			http.NotFound(w, r)
			return
		}
		http.ServeFileFS(w, r, page, "index.html")
	})
	mux.Handle("GET /page/", http.StripPrefix("/page/", http.FileServerFS(page)))
	mux.Handle("GET /api/v1/", s.cfg.API)
	mux.HandleFunc("GET /api/dashboards", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.boards) })
	mux.HandleFunc("GET /api/dashboards/{uid}", s.board)
	mux.HandleFunc("GET /api/state", s.state)
	mux.HandleFunc("GET /api/traces", s.traces)
	mux.HandleFunc("POST /control/trouble/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.control(w, r, func(name string) error { return s.cfg.Stage.Cause(stage.Trouble(name)) })
	})
	mux.HandleFunc("POST /control/accounting/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.control(w, r, func(name string) error { return s.cfg.Stage.Account(stage.Accounting(name)) })
	})
	return mux
}

func (s *Server) find(uid string) *board {
	for i := range s.boards {
		if s.boards[i].UID == uid {
			return &s.boards[i]
		}
	}
	return nil
}

func (s *Server) board(w http.ResponseWriter, r *http.Request) {
	b := s.find(r.PathValue("uid"))
	if b == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.data) // the reader went away
}

func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	now := s.cfg.Now()
	settled := now
	if s.cfg.Settled != nil {
		if at := s.cfg.Settled(r.Context()); !at.IsZero() {
			settled = at
		}
	}
	s.mu.Lock()
	log, ready := append([]change{}, s.log...), s.ready
	s.mu.Unlock()
	answer(w, struct {
		stage.State
		Now      time.Time `json:"now"`
		Settled  time.Time `json:"settled"`
		Interval float64   `json:"interval"` // seconds
		Ready    bool      `json:"ready"`
		Controls bool      `json:"controls"` // the trouble can be chosen here
		Traces   bool      `json:"traces"`
		Changes  []change  `json:"changes"`
	}{s.cfg.Stage.State(), now, settled, s.cfg.Interval.Seconds(), ready, s.cfg.Stage.Heals(), s.cfg.Traces != nil, log})
}

// latest is how many traces the page shows.
const latest = 12

func (s *Server) traces(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Traces == nil {
		answer(w, []traces.Trace{})
		return
	}
	answer(w, s.cfg.Traces.Latest(latest, r.FormValue("eventful") == "1"))
}

// control does what the name in the path says. While the past is made it would
// become a part of it.
func (s *Server) control(w http.ResponseWriter, r *http.Request, do func(name string) error) {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if !ready {
		http.Error(w, "the minutes before the start are being made: try again in a moment", http.StatusConflict)
		return
	}
	name := r.PathValue("name")
	if err := do(name); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.Note(name)
	s.state(w, r)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the reader went away
}
