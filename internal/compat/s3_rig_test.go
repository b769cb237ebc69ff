package compat_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

const bucket = "freight"

// replayable is the setting that doc.go recommends for the AWS SDK: it sends
// uploads without GetBody, so that nothing below it could send one again.
// Larger bodies than limit, and those of unknown length, go as they are.
type replayable struct {
	*client.Client
	limit int64
}

func (r replayable) Do(req *http.Request) (*http.Response, error) {
	if n := req.ContentLength; n > 0 && n <= r.limit {
		var err error
		if req, err = client.Buffered(req, r.limit); err != nil {
			return nil, err
		}
	}
	return r.Client.Do(req)
}

// newS3 returns the SDK's client over doer.
func newS3(url string, doer s3.HTTPClient, retryer aws.Retryer) *s3.Client {
	return s3.New(s3.Options{
		Region: "eu-central-1", BaseEndpoint: &url, UsePathStyle: true,
		HTTPClient: doer, Retryer: retryer,
		// The server knows no checksums in trailers, which are optional.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "not a secret"}, nil
		}),
	})
}

// storage is the S3 server behind the hostile one.
func storage() http.Handler {
	return gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
}

// reaper is a server's Choose: once armed, it lets requests on reused
// connections be read to their end, and then the connection dies without an
// answer: two of five, in an order that is the same in every run. Only requests
// that may be repeated are hit.
type reaper struct {
	how    faultserver.How
	armed  atomic.Bool
	killed atomic.Int64

	mu   sync.Mutex
	dice *rand.Rand // guarded by mu; nil: every second request of a connection
}

func newReaper(how faultserver.How) *reaper {
	return &reaper{how: how, dice: rand.New(rand.NewPCG(1, 2))}
}

func (r *reaper) choose(req faultserver.Request) faultserver.Script {
	if !r.armed.Load() || req.OnConn == 1 || req.Method == http.MethodPost || !r.hits(req.OnConn) {
		return faultserver.Script{}
	}
	r.killed.Add(1)
	return faultserver.KillAfterReading(r.how)
}

func (r *reaper) hits(onConn int) bool {
	if r.dice == nil {
		return onConn%2 == 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dice.IntN(5) < 2
}

// seed makes the bucket, an object, and a multipart upload, and returns the
// upload's id.
func seed(t testing.TB, c *s3.Client) string {
	t.Helper()
	ctx := bounded(t)
	if _, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	put(t, c, "seed", []byte("ballast"))
	up, err := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: aws.String(bucket), Key: aws.String("parts")})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(up.UploadId)
}

func put(t testing.TB, c *s3.Client, key string, data []byte) {
	t.Helper()
	_, err := c.PutObject(bounded(t), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: bytes.NewReader(data)})
	if err != nil {
		t.Fatalf("PutObject %s: %v", key, err)
	}
}

// object returns the content of an object.
func object(ctx context.Context, c *s3.Client, key string) ([]byte, error) {
	out, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}
