package compat_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

func TestS3PutsGetsListsAndDeletesOverEveryProtocol(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: p, Handler: storage()}, client.Config{})
			c := newS3(r.URL(), r.client, aws.NopRetryer{})
			ctx := bounded(t)
			seed(t, c)

			for i := range 5 {
				put(t, c, fmt.Sprintf("crates/%d", i), faultserver.Pattern(10_000*i+1))
			}
			for i := range 5 {
				got, err := object(ctx, c, fmt.Sprintf("crates/%d", i))
				if err != nil || !bytes.Equal(got, faultserver.Pattern(10_000*i+1)) {
					t.Errorf("crates/%d: %d bytes, %v; want %d as they were put", i, len(got), err, 10_000*i+1)
				}
			}
			pages := s3.NewListObjectsV2Paginator(c, &s3.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: aws.String("crates/"), MaxKeys: aws.Int32(2)})
			listed := 0
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					t.Fatal(err)
				}
				listed += len(page.Contents)
			}
			if listed != 5 {
				t.Errorf("the pages list %d objects, want 5", listed)
			}
			if _, err := c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("crates/0")}); err != nil {
				t.Error(err)
			}
			var missing *types.NoSuchKey
			if _, err := object(ctx, c, "crates/0"); !errors.As(err, &missing) {
				t.Errorf("a deleted object gives %v, want *types.NoSuchKey", err)
			}
			r.nothingHeld(t)
			if open := r.Stats().Opened; open != 1 {
				t.Errorf("calls in turn took %d connections, want 1", open)
			}
		})
	}
}

// A part of 5 MiB goes with Expect: 100-continue, which the SDK adds.
func TestAMultipartUploadSurvivesConnectionsThatDieUnderItsParts(t *testing.T) {
	const parts, size = 3, 5 << 20
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.H2} {
		t.Run(p.String(), func(t *testing.T) {
			grim := &reaper{how: faultserver.FIN}
			r := newRig(t, faultserver.Config{Protocol: p, Handler: storage(), Choose: grim.choose}, client.Config{})
			c := newS3(r.URL(), replayable{r.client, 8 << 20}, aws.NopRetryer{})
			ctx := bounded(t)
			id := seed(t, c)
			grim.armed.Store(true)

			data := faultserver.Pattern(parts * size)
			var done []types.CompletedPart
			for i := range parts {
				out, err := c.UploadPart(ctx, &s3.UploadPartInput{
					Bucket: aws.String(bucket), Key: aws.String("parts"), UploadId: &id,
					PartNumber: aws.Int32(int32(i + 1)), Body: bytes.NewReader(data[i*size : (i+1)*size]),
				})
				if err != nil {
					t.Fatalf("part %d: %v", i+1, err)
				}
				done = append(done, types.CompletedPart{PartNumber: aws.Int32(int32(i + 1)), ETag: out.ETag})
			}
			_, err := c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
				Bucket: aws.String(bucket), Key: aws.String("parts"), UploadId: &id,
				MultipartUpload: &types.CompletedMultipartUpload{Parts: done},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := object(ctx, c, "parts")
			if err != nil || sha256.Sum256(got) != sha256.Sum256(data) {
				t.Errorf("got %d bytes, %v; want the %d that were uploaded", len(got), err, len(data))
			}
			expects := 0
			for _, req := range r.Requests() {
				if req.Header.Get("Expect") == "100-continue" {
					expects++
				}
			}
			if grim.killed.Load() < parts || expects < parts {
				t.Errorf("%d requests were killed, %d of %d parts came with Expect; want as many as parts, and all", grim.killed.Load(), expects, parts)
			}
			r.nothingHeld(t)
		})
	}
}

// Completing an upload is a POST: when its answer is lost, only the caller
// knows whether to send it again.
func TestAPOSTWhoseConnectionDiedIsNotSentTwice(t *testing.T) {
	r := newRig(t, faultserver.Config{Handler: storage()}, client.Config{})
	c := newS3(r.URL(), replayable{r.client, 8 << 20}, aws.NopRetryer{})
	id := seed(t, c)
	before := r.saw(http.MethodPost)
	r.Next(faultserver.KillAfterReading(faultserver.FIN))
	_, err := c.CompleteMultipartUpload(bounded(t), &s3.CompleteMultipartUploadInput{
		Bucket: aws.String(bucket), Key: aws.String("parts"), UploadId: &id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{PartNumber: aws.Int32(1), ETag: aws.String("x")}}},
	})
	if seen := r.saw(http.MethodPost) - before; err == nil || seen != 1 {
		t.Fatalf("the server saw the POST %d times, the caller %v; want once, and an error", seen, err)
	}
	var stale *pool.StaleConnError
	if !errors.As(err, &stale) || stale.NothingWritten {
		t.Errorf("the SDK's error hides what happened: %v", err)
	}
	if report, ok := client.ReportOfError(err); !ok || report.Skipped != events.SkipMethod || report.Attempts != 1 {
		t.Errorf("the report through the SDK's wrappers is %+v, %v; want one attempt and reason %q", report, ok, events.SkipMethod)
	}
	r.nothingHeld(t)
}

// Without the wrapper of doc.go an upload cannot be repeated, and says so.
func TestAnUploadWithoutGetBodyIsNotSentTwice(t *testing.T) {
	r := newRig(t, faultserver.Config{Handler: storage()}, client.Config{})
	c := newS3(r.URL(), r.client, aws.NopRetryer{})
	seed(t, c)
	r.Next(faultserver.KillAfterReading(faultserver.FIN))
	_, err := c.PutObject(bounded(t), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), Body: bytes.NewReader([]byte("x"))})
	report, ok := client.ReportOfError(err)
	if !ok || report.Skipped != events.SkipBody {
		t.Errorf("PutObject gives %v, report %+v; want skip reason %q", err, report, events.SkipBody)
	}
	r.nothingHeld(t)
}

// An upload that the server throttled goes out again whole after Retry-After.
func TestAThrottledUploadIsSentAgainWhole(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, faultserver.Config{Memory: true, Handler: storage()}, client.Config{})
		c := newS3(r.URL(), replayable{r.client, 8 << 20}, aws.NopRetryer{})
		seed(t, c)
		slowDown := http.Header{"Retry-After": {"7"}, "Content-Type": {"application/xml"}}
		r.Next(faultserver.RespondWith(503, slowDown, "<Error><Code>SlowDown</Code></Error>"))
		started := time.Now()
		put(t, c, "patient", faultserver.Pattern(100_000))
		if took := time.Since(started); took < 7*time.Second {
			t.Errorf("sent again after %v, the server asked for 7s", took)
		}
		got, err := object(t.Context(), c, "patient")
		if err != nil || !bytes.Equal(got, faultserver.Pattern(100_000)) {
			t.Errorf("got %d bytes, %v; want the 100000 that were put", len(got), err)
		}
	})
}
