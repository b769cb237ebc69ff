// Package compat puts real, unchanged client libraries on top of plimsoll and
// tests them against servers that fail on purpose. It holds tests alone, in a
// module of its own, so that nobody who uses plimsoll downloads an SDK. Servers
// are on loopback or in memory; where time matters it is virtual.
//
// # What each file proves
//
//   - s3_test.go, AWS SDK for Go v2 (github.com/aws/aws-sdk-go-v2/service/s3)
//     against github.com/johannesboyne/gofakes3: put, get, list, delete and
//     multipart uploads with Expect: 100-continue over HTTP/1.1, TLS and HTTP/2;
//     a POST whose answer was lost is sent once; the SDK's errors lead to
//     plimsoll's types and to client.ReportOfError.
//   - s3_kill_test.go: with the SDK's retryer off, the same operations over
//     http.Transport and over plimsoll, while reused connections die when the
//     server has read a request. -v prints both counts; plimsoll's must be 0 for
//     operations that may be repeated, at no token, also with eight callers at
//     once and MaxConnsPerHost.
//   - github_test.go, github.com/google/go-github: pages come whole through
//     failures between them; 403 and 429, with Retry-After and without; what one
//     caller was told keeps the others away; go-github's error types come
//     through with the response's body; an issue is not made twice.
//   - docker_test.go, github.com/moby/moby/client: events arrive as they happen;
//     a stream that breaks is an error and is not sent twice; cancelation frees
//     the connection; BodyIdleTimeout tells a dead stream from a quiet one; calls
//     survive the daemon's restart; Unix sockets; a streamed upload.
//   - oauth2_test.go, golang.org/x/oauth2: its Transport around plimsoll and
//     plimsoll around its Transport; tokens fetched through plimsoll.
//   - reverseproxy_test.go, net/http/httputil.ReverseProxy with plimsoll as its
//     Transport: trailers, flushing, early hints, upgrades, half-closed streams,
//     visitors who leave, bodies that break, backend connections that die.
//   - websocket_test.go, github.com/coder/websocket: conversations over
//     HTTP/1.1, TLS and a server that prefers HTTP/2; the handshake is retried
//     and recovered; slots come back.
//   - trailers_test.go: trailers of responses and requests, through retries and
//     recoveries; a two-way stream as gRPC has them.
//   - stacked_test.go: a library's own retries on top of plimsoll's.
//
// # Stacked retries
//
// Attempts of two layers multiply: an AWS SDK call that fails to its end sends
// 3 × 5 = 15 requests and pays for 12 retries. One layer must be off. The
// recommended one is the library's, because plimsoll knows dead connections,
// Retry-After, the origin's budget and the total retry time of all callers:
//
//	s3.New(s3.Options{Retryer: aws.NopRetryer{}, HTTPClient: replayable{c, 16 << 20}})
//
// Where the library's layer knows more (S3's error codes in a 200, a body only it
// can rewind), keep that one and switch plimsoll's off with
// Config.Retry.MaxRetries: -1, or for one call with client.WithRetry. Recovery
// of dead connections goes on: it is no retry. docs/stacked-retries.md has the
// numbers and the reasons.
//
// # Settings per library
//
//   - AWS SDK: it sends bodies without GetBody, so no layer below it can repeat
//     an upload. Wrap the client as the type replayable of s3_rig_test.go does,
//     with client.Buffered.
//   - go-github: at the primary limit GitHub answers 429 without Retry-After for
//     up to an hour. Use a RetryIf that returns client.Stop where
//     X-RateLimit-Remaining is 0, as stopAtLimit of stacked_test.go does.
//   - Docker: give docker.WithHost before docker.WithHTTPClient, since WithHost
//     refuses a transport that is not an *http.Transport; with TLS add
//     docker.WithScheme("https"). For a Unix socket configure an *http.Transport
//     with sockets.ConfigureTransport and pass it as Config.Transport. Attach and
//     exec dial for themselves, past any http.Client.
//   - oauth2: around plimsoll, one token serves all attempts of a call. Inside
//     (client.Config.Base, with a pool.Transport as oauth2's Base to keep the
//     recovery), each attempt asks for a token. Token requests are POSTs: allow
//     their retries with client.WithRetry and RetryNonIdempotent on the context
//     that the token source is made with.
//   - ReverseProxy: requests of visitors have no GetBody. Let Rewrite replace
//     pr.Out by client.Buffered(pr.Out, limit) where ContentLength is small.
//   - WebSocket libraries that take an *http.Client: nothing to set. Config's
//     timeouts and caps end with the handshake.
//
// # Libraries
//
// All are under permissive licences: aws-sdk-go-v2, smithy-go and the Docker
// modules Apache-2.0, gofakes3 MIT, go-github, go-querystring and x/oauth2
// BSD-3-Clause, coder/websocket ISC. go.mod has the versions.
package compat
