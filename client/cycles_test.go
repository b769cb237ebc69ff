package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// killCycles is the number of cycles of a row, one each 10 s.
const killCycles = 60

// HTTP.jl#1353: a server that closes idle connections sooner than its client
// costs that client one retry per call; each is charged, and after as many
// calls as the budget pays for the errors reach the caller. Here two parked
// connections are killed every 10 s, for ten minutes; every second time the
// client has not noticed when the request leaves.
func TestAServerThatClosesIdleConnectionsSpendsNoBudget(t *testing.T) {
	t.Parallel()
	for _, p := range faultserver.Protocols() {
		hows := []faultserver.How{faultserver.FIN, faultserver.RST}
		if p.Encrypted() {
			hows = append(hows, faultserver.CloseNotify, faultserver.TruncatedRecord)
		}
		for _, how := range hows {
			for _, retries := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v/%v/retries=%v", p, how, retries), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { runKillCycles(t, p, how, retries) })
				})
			}
		}
	}
}

func runKillCycles(t *testing.T, p faultserver.Protocol, how faultserver.How, retries bool) {
	srv := faultserver.Start(t, faultserver.Config{Protocol: p, Memory: true, Settings: faultserver.Settings{MaxConcurrentStreams: 1}})
	rec := eventstest.NewRecorder()
	bucket, err := budget.New(budget.Default())
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Transport: srv.ClientTransport(), Budget: bucket, Hooks: rec.Hooks(), NoTelemetry: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetRetries(retries)
	level := func() int { return bucket.Level(srv.URL()) }
	recovered := 0
	for i := range killCycles {
		parkTwo(t, srv, c)
		rec.Reset()
		unnoticed := i%2 == 1
		if unnoticed {
			srv.RaceIdle(how)
			recovered++
		} else {
			srv.KillIdle(how)
		}
		<-time.After(10 * time.Second)
		method := []string{"GET", "PUT", "DELETE"}[i%3]
		resp, err := send(t.Context(), c, srv, method)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("cycle %d, %s: %v, %v\n%v", i, method, resp, err, rec)
		}
		rec.ExpectNothing(t, eventstest.Type[events.RetryArmed](), eventstest.Type[events.RetrySkipped](), eventstest.Type[events.BudgetReserved]())
		done := eventstest.One[events.CallDone](t, rec)
		report, ok := client.ReportOf(resp)
		switch {
		case !unnoticed && (done.Outcome != events.OutcomeOK || report.Recoveries != 0):
			t.Errorf("cycle %d: outcome %q, %d recoveries of connections that were known to be dead", i, done.Outcome, report.Recoveries)
		case unnoticed && (done.Outcome != events.OutcomeRecovered || done.Recoveries != 2 || report.Recoveries != 2):
			t.Errorf("cycle %d: outcome %q, %d recoveries, report %d; want recovered, 2, 2", i, done.Outcome, done.Recoveries, report.Recoveries)
		case !ok || report.Attempts != 1 || report.Skipped != "":
			t.Errorf("cycle %d: report %+v, want one attempt", i, report)
		}
		if n := level(); n != 500 {
			t.Fatalf("cycle %d left the budget at %d", i, n)
		}
	}
	if twice := srv.ProcessedTwice(); len(twice) > 0 {
		t.Errorf("processed twice: %v", twice)
	}
	if retries {
		wantOneRetry(t, srv, c, rec)
	}
	if s := c.Stats().Pool; int(s.Recoveries) != recovered {
		t.Errorf("%d recoveries in the pool, want %d", s.Recoveries, recovered)
	}
}

// wantOneRetry is the control: a fresh connection that dies does cost a retry,
// of the partition whose level the cycles have looked at.
func wantOneRetry(t *testing.T, srv *faultserver.Server, c *client.Client, rec *eventstest.Recorder) {
	t.Helper()
	c.CloseIdleConnections()
	rec.Reset()
	srv.Next(faultserver.KillAfterReading(faultserver.RST))
	if _, err := send(t.Context(), c, srv, http.MethodGet); err != nil {
		t.Errorf("control: %v", err)
	}
	if e := eventstest.One[events.BudgetReserved](t, rec); e.Partition != srv.URL() {
		t.Errorf("control: the partition is %q, not %q", e.Partition, srv.URL())
	}
	eventstest.One[events.RetryArmed](t, rec)
}

// parkTwo leaves two connections idle: two calls that overlap.
func parkTwo(t *testing.T, srv *faultserver.Server, c *client.Client) {
	t.Helper()
	release := make(chan struct{})
	srv.NextN(2, faultserver.Do(faultserver.Header{}, faultserver.Flush{}, faultserver.Wait{Until: release}))
	var held []*http.Response
	for range 2 {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/park"), nil)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatalf("park: %v", err)
		}
		held = append(held, resp)
	}
	close(release)
	for _, resp := range held {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if n := c.Stats().Pool.Idle; n != 2 {
		t.Fatalf("%d connections idle, want 2", n)
	}
}

// send sends a request with an ID of its own and reads the response.
func send(ctx context.Context, c *client.Client, srv *faultserver.Server, method string) (*http.Response, error) {
	var body io.Reader
	if method == http.MethodPut {
		body = strings.NewReader("payload")
	}
	req, err := http.NewRequestWithContext(ctx, method, srv.URL("/"), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Request-Id", fmt.Sprint("id-", time.Now().UnixNano()))
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp, err
}
