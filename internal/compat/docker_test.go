package compat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/go-connections/sockets"
	dockerevents "github.com/moby/moby/api/types/events"
	docker "github.com/moby/moby/client"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/internal/require"
)

// newDocker returns the Docker client over r's client. WithHost comes first:
// it configures an *http.Transport and refuses any other.
func newDocker(t testing.TB, r *rig) *docker.Client {
	t.Helper()
	d, err := docker.New(docker.WithHost("tcp://"+r.Addr()), docker.WithHTTPClient(r.client.Client), docker.WithAPIVersion("1.47"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// daemon answers /events with one event for each value of more, flushed, and
// ends with it; anything else with an empty list.
func daemon(more <-chan string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/events") {
			io.WriteString(w, "[]")
			return
		}
		w.(http.Flusher).Flush()
		for {
			select {
			case action, ok := <-more:
				if !ok {
					return
				}
				fmt.Fprintf(w, `{"Type":"container","Action":%q,"Actor":{"ID":"c0ffee"}}`+"\n", action)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
}

// next returns the next event or the stream's end.
func next(ctx context.Context, s docker.EventsResult) (dockerevents.Message, error) {
	select {
	case m := <-s.Messages:
		return m, nil
	case err := <-s.Err:
		return dockerevents.Message{}, err
	case <-ctx.Done():
		return dockerevents.Message{}, fmt.Errorf("no event: %w", ctx.Err())
	}
}

func TestDockerEventsArriveOneByOneAsTheyHappen(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.H2C} {
		t.Run(p.String(), func(t *testing.T) {
			more := make(chan string)
			r := newRig(t, faultserver.Config{Protocol: p, Handler: daemon(more)}, client.Config{})
			ctx := bounded(t)
			stream := newDocker(t, r).Events(ctx, docker.EventsListOptions{Filters: make(docker.Filters).Add("type", "container")})
			// The daemon has the next event only after the one before has
			// come through: nothing on the way waits for a full buffer.
			for _, action := range []string{"create", "start", "die", "destroy"} {
				more <- action
				if m, err := next(ctx, stream); err != nil || string(m.Action) != action || m.Actor.ID != "c0ffee" {
					t.Fatalf("got %+v, %v; want %s", m, err, action)
				}
			}
			close(more)
			if m, err := next(ctx, stream); err != io.EOF {
				t.Errorf("after the last event: %+v, %v; want io.EOF", m, err)
			}
			if done := doneCall(t, r); done.Outcome != events.OutcomeOK {
				t.Errorf("the call's outcome is %q, want %q", done.Outcome, events.OutcomeOK)
			}
			r.nothingHeld(t)
		})
	}
}

// doneCall waits for the only call's end.
func doneCall(t testing.TB, r *rig) events.CallDone {
	t.Helper()
	if err := r.rec.WaitFor(bounded(t), func() bool { return eventstest.Count[events.CallDone](r.rec) > 0 }); err != nil {
		t.Fatal(err)
	}
	return eventstest.One[events.CallDone](t, r.rec)
}

func TestADockerEventStreamThatBreaksIsNotSentTwice(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.TLS, faultserver.H2} {
		for _, how := range faultserver.Hows(p) {
			t.Run(fmt.Sprint(p, "/", how), func(t *testing.T) {
				r := newRig(t, faultserver.Config{Protocol: p}, client.Config{})
				got := make(chan struct{})
				r.Next(faultserver.Do(
					faultserver.Header{Header: http.Header{"Content-Type": {"application/json"}}, Framing: faultserver.Chunked},
					faultserver.Body{Data: []byte(`{"Type":"container","Action":"start"}` + "\n" + `{"Type":"cont`)},
					faultserver.Flush{}, faultserver.Wait{Until: got},
					faultserver.Kill{How: how},
				))
				d, err := docker.New(docker.WithHost("tcp://"+r.Addr()), docker.WithHTTPClient(r.client.Client), docker.WithAPIVersion("1.47"), docker.WithScheme(scheme(p)))
				if err != nil {
					t.Fatal(err)
				}
				ctx := bounded(t)
				stream := d.Events(ctx, docker.EventsListOptions{})
				if m, err := next(ctx, stream); err != nil || m.Action != "start" {
					t.Fatalf("the first event is %+v, %v", m, err)
				}
				close(got)
				_, err = next(ctx, stream)
				if err == nil || err == io.EOF {
					t.Errorf("a broken stream ends with %v: it must not look like its end", err)
				}
				if done := doneCall(t, r); done.Outcome != events.OutcomeEscaped || done.Class == "" {
					t.Errorf("the call's outcome is %q, class %q; want %q with a class", done.Outcome, done.Class, events.OutcomeEscaped)
				}
				if n := r.saw(""); n != 1 {
					t.Errorf("the server saw %d requests, want 1", n)
				}
				r.nothingHeld(t)
			})
		}
	}
}

func scheme(p faultserver.Protocol) string {
	if p.Encrypted() {
		return "https"
	}
	return "http"
}

func TestCancelingADockerEventStreamFreesItsConnection(t *testing.T) {
	more := make(chan string)
	r := newRig(t, faultserver.Config{Handler: daemon(more)}, client.Config{})
	ctx, cancel := context.WithCancel(bounded(t))
	stream := newDocker(t, r).Events(ctx, docker.EventsListOptions{})
	more <- "start"
	if _, err := next(bounded(t), stream); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-stream.Err; !errors.Is(err, context.Canceled) {
		t.Errorf("the stream ends with %v, want context.Canceled", err)
	}
	if err := r.WaitOpen(bounded(t), 0); err != nil {
		t.Errorf("the daemon still holds the stream: %v", err)
	}
	// The Docker client closes the body, and perhaps has begun to read before.
	if done := doneCall(t, r); done.Outcome != events.OutcomeCanceled && done.Outcome != events.OutcomeOK {
		t.Errorf("the call's outcome is %q, want %q or, closed before the next read, %q", done.Outcome, events.OutcomeCanceled, events.OutcomeOK)
	}
	r.nothingHeld(t)
}

// An event every 20 s is no silence of 30 s, for however long; a daemon that
// says nothing more is told apart from a quiet one.
func TestASilentDockerEventStreamEndsInTheIdleTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		more := make(chan string)
		r := newRig(t, faultserver.Config{Memory: true, Handler: daemon(more)}, client.Config{BodyIdleTimeout: 30 * time.Second, AttemptTimeout: 10 * time.Second})
		stream := newDocker(t, r).Events(t.Context(), docker.EventsListOptions{})
		go func() {
			for range 180 { // an hour
				<-time.After(20 * time.Second)
				more <- "exec_start"
			}
		}()
		started, seen := time.Now(), 0
		var err error
		for err == nil {
			if _, err = next(t.Context(), stream); err == nil {
				seen++
			}
		}
		var idle *client.BodyIdleError
		if took := time.Since(started); seen != 180 || !errors.As(err, &idle) || took != time.Hour+30*time.Second {
			t.Errorf("%d events, then %v after %v; want 180, and *client.BodyIdleError after 1h0m30s", seen, err, took)
		}
	})
}

// A daemon that restarted has closed the connections that the client had
// parked.
func TestDockerCallsSurviveADaemonsRestart(t *testing.T) {
	r := newRig(t, faultserver.Config{Handler: daemon(nil)}, client.Config{})
	d := newDocker(t, r)
	ctx := bounded(t)
	park := func() {
		t.Helper()
		if _, err := d.ContainerList(ctx, docker.ContainerListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	park()
	if n := r.RaceIdle(faultserver.FIN); n != 1 {
		t.Fatalf("%d connections were parked, want 1", n)
	}
	if _, err := d.ContainerRemove(ctx, "c0ffee", docker.ContainerRemoveOptions{}); err != nil {
		t.Errorf("ContainerRemove met a dead connection: %v", err)
	}
	park()
	if n := r.KillIdle(faultserver.FIN); n != 1 {
		t.Fatalf("%d connections were parked, want 1", n)
	}
	// The client learns of a FIN before or after it has written a request; a
	// POST survives the first alone, so wait for it.
	if err := r.WaitOpen(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ContainerStart(ctx, "c0ffee", docker.ContainerStartOptions{}); err != nil {
		t.Errorf("ContainerStart, of which nothing can have been written on a dead connection: %v", err)
	}
	starts := r.saw(http.MethodPost)
	park()
	r.RaceIdle(faultserver.FIN)
	if _, err := d.ContainerStart(ctx, "c0ffee", docker.ContainerStartOptions{}); err == nil || r.saw(http.MethodPost) != starts {
		t.Errorf("ContainerStart was written on a dead connection: %v, and %d more; want an error and no resend", err, r.saw(http.MethodPost)-starts)
	}
	r.nothingHeld(t)
}

// An image is loaded from a stream that nobody can replay: it goes once, whole.
func TestDockerLoadsAnImageFromAStream(t *testing.T) {
	const size = 3 << 20
	r := newRig(t, faultserver.Config{}, client.Config{})
	in, out := io.Pipe()
	go func() {
		_, err := out.Write(faultserver.Pattern(size))
		out.CloseWithError(err)
	}()
	r.Next(faultserver.Respond(200, "loaded"))
	resp, err := newDocker(t, r).ImageLoad(bounded(t), in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp)
	resp.Close()
	if seen := r.Requests(); err != nil || string(text) != "loaded" || len(seen) != 1 || seen[0].BodyBytes != size {
		t.Errorf("answer %q, %v; requests %+v; want one with %d bytes", text, err, seen, size)
	}
	r.nothingHeld(t)
}

// The daemon's usual address is a Unix socket, whose path the Docker client
// puts where a URL has its host.
func TestDockerOverAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docker.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		require.Missing(t, "Unix sockets: "+err.Error())
	}
	more := make(chan string, 1)
	more <- "start"
	close(more)
	server := &http.Server{Handler: daemon(more)}
	go server.Serve(ln)
	t.Cleanup(func() { server.Close() })

	template := &http.Transport{}
	if err := sockets.ConfigureTransport(template, "unix", path); err != nil {
		t.Fatal(err)
	}
	rec := eventstest.NewRecorder()
	c, err := client.New(client.Config{Transport: template, Hooks: rec.Hooks(), NoTelemetry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	d, err := docker.New(docker.WithHost("unix://"+path), docker.WithHTTPClient(c.Client), docker.WithAPIVersion("1.47"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := bounded(t)
	for range 3 {
		if _, err := d.ContainerList(ctx, docker.ContainerListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := eventstest.Count[events.ConnOpened](rec); n != 1 {
		t.Errorf("three calls in turn took %d connections, want 1", n)
	}
	stream := d.Events(ctx, docker.EventsListOptions{})
	if m, err := next(ctx, stream); err != nil || m.Action != "start" {
		t.Errorf("got %+v, %v; want start", m, err)
	}
	if _, err := next(ctx, stream); err != io.EOF {
		t.Errorf("the stream ends with %v, want io.EOF", err)
	}
}
