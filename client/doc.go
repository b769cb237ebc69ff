// Package client is an HTTP client that shows how much it can still take: a
// drop-in *http.Client, or http.RoundTripper, whose every retry, refund,
// refusal, recovery and breaker transition is an event, a span and a metric.
//
//	c, err := client.New(client.Config{})
//	resp, err := c.Get("https://example.com/")
//
// # Default behaviour
//
// What client.New(client.Config{}) does differently from http.DefaultClient:
//
//   - A failed attempt is tried again up to four times where that is safe:
//     the class is retryable (408 429 500 502 503 504, or an error by which the
//     server did not answer in order), the request is idempotent (GET HEAD
//     OPTIONS TRACE PUT DELETE QUERY, or an Idempotency-Key), and its body, if
//     any, can be made again through GetBody. http.NewRequest sets GetBody for
//     bytes.Buffer, bytes.Reader and strings.Reader; see [Buffered] for others.
//   - A retry costs 10 tokens of a budget of 500 per origin, half of them given
//     back when the server answered with another failure, all of them when it
//     helped. A call that needed no retry adds one.
//   - A request on a reused connection that turns out to be dead is sent again
//     on another one, without a retry and without cost, if the same holds for
//     its method and body, or nothing of it was written.
//   - Retry-After on 429 and 503 is waited for, up to 60 s, and other calls to
//     the origin wait for it as well.
//   - All waits of one call together, redirects included, take at most
//     2 minutes.
//   - Two connections per origin stay idle, as with http.DefaultTransport.
//   - A TLS connection that ends without close_notify is an error.
//   - A redirect to another origin takes no Authorization and no Cookie that
//     the caller had set along, and of the Referer the origin alone; see
//     [CheckRedirect]. A Transport in an http.Client of the caller's own follows
//     redirects as that one does.
//   - Spans and metrics go to the global OpenTelemetry providers.
//
// There is no breaker, no timeout and no cap on a body unless configured.
//
// # The call
//
// Per call: wait for a remembered Retry-After; ask the breaker; send; classify;
// tell the breaker; decide; settle the tokens of the retry that this was; check
// bucket, then deadline; reserve; give the rejected response's connection back;
// wait once; check again; send. No lease of the breaker and no connection is
// held during a wait.
//
// A refused retry hides nothing: the caller gets the last response, its body
// intact, or the last error, and the reason is in [Report.Skipped], in the
// [Error], in the event, on the span and in the metric.
//
// A rejected response's body is read for at most 64 KiB and 50 ms before the
// wait and kept; where it is larger or slower and the retry is refused after
// the wait all the same, which a breaker can do, the caller gets an error in
// its place.
//
// # Callbacks
//
// RetryIf, Classify, Partition, BreakerFallback, GetBody and hooks run on the
// caller's goroutine, outside locks. If one panics or calls runtime.Goexit, the
// call gives back its tokens, its breaker permit and its connection, closes the
// bodies, reports CallDone, and goes on with the identical panic value.
//
// # Streams
//
// [Client.Stream] opens Server-Sent Events; the comment of [Stream] is its
// contract.
//
// # Inside http.Client
//
// Redirects and cookies are http.Client's. A chain of redirects is one call per
// hop; the total retry time and the resend count go on through it. With
// http.Client.Timeout every error that its deadline caused says
// "Client.Timeout exceeded". The *url.Error that an embedded *http.Client
// returns holds the whole URL but for the password; the methods of [Client]
// itself take the query out.
package client
