package compat_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// tally counts operations and those that failed, by the operation's name.
type tally struct{ done, failed map[string]int }

func (c tally) failures() (n int) {
	for _, f := range c.failed {
		n += f
	}
	return n
}

// voyage does rounds of operations that may all be repeated, in turn, and
// counts what reached the caller. Voyages with names of their own may go on at
// the same time.
func voyage(ctx context.Context, c *s3.Client, name, uploadID string, rounds int) (tally, error) {
	count := tally{map[string]int{}, map[string]int{}}
	var first error
	note := func(op string, err error) {
		count.done[op]++
		if err != nil {
			count.failed[op]++
			first = err
		}
	}
	in := aws.String(bucket)
	for i := range rounds {
		key := aws.String(fmt.Sprint(name, i))
		_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: in, Key: key, Body: bytes.NewReader(faultserver.Pattern(1000))})
		note("PUT PutObject", err)
		_, err = c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: in, Key: aws.String("seed")})
		note("HEAD HeadObject", err)
		got, err := object(ctx, c, "seed")
		if err == nil && string(got) != "ballast" {
			err = fmt.Errorf("the object is %q", got)
		}
		note("GET GetObject", err)
		_, err = c.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: in, Key: aws.String("parts"), UploadId: &uploadID, PartNumber: aws.Int32(int32(i%9 + 1)), Body: bytes.NewReader(faultserver.Pattern(50_000)),
		})
		note("PUT UploadPart", err)
		_, err = c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: in})
		note("GET ListObjectsV2", err)
		_, err = c.CopyObject(ctx, &s3.CopyObjectInput{Bucket: in, Key: aws.String(name + "-copy"), CopySource: aws.String(bucket + "/seed")})
		note("PUT CopyObject", err)
		_, err = c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: in, Key: key})
		note("DELETE DeleteObject", err)
	}
	return count, first
}

// The same SDK does the same operations in turn, its own retryer off, over
// http.Transport and over plimsoll, while reused connections die when the server
// has read a request.
func TestNoIdempotentS3OperationFailsWhenReusedConnectionsDie(t *testing.T) {
	const rounds = 20
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.TLS, faultserver.H2} {
		hows := []faultserver.How{faultserver.FIN, faultserver.RST}
		if p.Encrypted() {
			hows = append(hows, faultserver.CloseNotify)
		}
		for _, how := range hows {
			t.Run(fmt.Sprint(p, "/", how), func(t *testing.T) {
				plainReaper := newReaper(how)
				plainServer := faultserver.Start(t, faultserver.Config{Protocol: p, Handler: storage(), Choose: plainReaper.choose})
				plain := newS3(plainServer.URL(), replayablePlain{&http.Client{Transport: plainServer.ClientTransport()}}, aws.NopRetryer{})
				plainID := seed(t, plain)
				plainReaper.armed.Store(true)
				without, _ := voyage(bounded(t), plain, "k", plainID, rounds)

				grim := newReaper(how)
				r := newRig(t, faultserver.Config{Protocol: p, Handler: storage(), Choose: grim.choose}, client.Config{})
				c := newS3(r.URL(), replayable{r.client, 1 << 20}, aws.NopRetryer{})
				id := seed(t, c)
				grim.armed.Store(true)
				with, err := voyage(bounded(t), c, "k", id, rounds)

				t.Logf("\n%s", table(without, with))
				t.Logf("http.Transport: %d errors in %d operations, %d connections killed under a request; plimsoll: %d errors, %d killed",
					without.failures(), 7*rounds, plainReaper.killed.Load(), with.failures(), grim.killed.Load())
				if with.failures() != 0 {
					t.Errorf("plimsoll let %d operations fail, the last with: %v", with.failures(), err)
				}
				if without.failures() == 0 || grim.killed.Load() < 2*rounds {
					t.Errorf("http.Transport failed %d operations, %d connections died under plimsoll: the fault was not there", without.failures(), grim.killed.Load())
				}
				recovered := 0
				for _, done := range eventstest.All[events.CallDone](r.rec) {
					recovered += done.Recoveries
				}
				if recovered != int(grim.killed.Load()) {
					t.Errorf("%d recoveries for %d killed connections", recovered, grim.killed.Load())
				}
				r.rec.ExpectNothing(t, eventstest.Type[events.RetryArmed](), eventstest.Type[events.BudgetReserved]())
				if r.level() != 500 {
					t.Errorf("the budget is at %d, want 500: a recovery costs nothing", r.level())
				}
				r.nothingHeld(t)
			})
		}
	}
}

// Eight voyages at once, so that connections die while others are dialled,
// parked and handed on. On HTTP/2 the same fault would cut bodies that are being
// read, which nobody can repeat unseen.
func TestNoIdempotentS3OperationFailsUnderLoadWhenReusedConnectionsDie(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.TLS} {
		for _, limit := range []int{0, 3} {
			t.Run(fmt.Sprintf("%v, MaxConnsPerHost %d", p, limit), func(t *testing.T) {
				grim := newReaper(faultserver.RST)
				s := faultserver.Start(t, faultserver.Config{Protocol: p, Handler: storage(), Choose: grim.choose})
				template := s.ClientTransport()
				template.MaxConnsPerHost = limit
				r := joinRig(t, s, template, client.Config{})
				c := newS3(r.URL(), replayable{r.client, 1 << 20}, aws.NopRetryer{})
				id := seed(t, c)
				grim.armed.Store(true)
				var all sync.WaitGroup
				for i := range 8 {
					all.Go(func() {
						if count, err := voyage(bounded(t), c, fmt.Sprint("ship", i, "-"), id, 5); err != nil {
							t.Errorf("%d operations failed, the last with: %v", count.failures(), err)
						}
					})
				}
				all.Wait()
				t.Logf("280 operations, %d connections killed under a request, %d sockets at most", grim.killed.Load(), s.Sockets().MaxOpen())
				if grim.killed.Load() == 0 || limit > 0 && s.Sockets().MaxOpen() > limit {
					t.Errorf("%d connections were killed, %d sockets were open at once; want some, and at most %d", grim.killed.Load(), s.Sockets().MaxOpen(), limit)
				}
				r.rec.ExpectNothing(t, eventstest.Type[events.RetryArmed]())
				r.nothingHeld(t)
			})
		}
	}
}

// replayablePlain gives http.Transport the same replayable bodies.
type replayablePlain struct{ *http.Client }

func (r replayablePlain) Do(req *http.Request) (*http.Response, error) {
	req, err := client.Buffered(req, 1<<20)
	if err != nil {
		return nil, err
	}
	return r.Client.Do(req)
}

func table(without, with tally) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-22s %10s %16s %9s\n", "operation", "operations", "http.Transport", "plimsoll")
	for _, name := range slices.Sorted(maps.Keys(with.done)) {
		fmt.Fprintf(&s, "%-22s %10d %9d errors %2d errors\n", name, with.done[name], without.failed[name], with.failed[name])
	}
	return s.String()
}
