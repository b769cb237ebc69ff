package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
)

// mostBars is how many requests of -n are drawn, and how many calls of one
// request.
const mostBars = 10

// session is one plimsoll get.
type session struct {
	o        *getOptions
	std      streams
	ctx      context.Context
	url      *url.URL
	body     *payload
	out      output
	client   *client.Client
	screen   screen // of stderr
	start    time.Time
	recorder *recorder
	timeline *timeline
	tally    tally
	drawn    int // requests whose bars were shown
}

func get(ctx context.Context, o *getOptions, u *url.URL, std streams) error {
	s := &session{o: o, std: std, ctx: ctx, url: u, start: time.Now()}
	now := func() time.Duration { return time.Since(s.start) }
	transport, err := o.transport()
	if err != nil {
		return err
	}
	if s.body, err = newPayload(ctx, o, std.in); err != nil {
		return err
	}
	if s.out, err = openOutput(o, std); err != nil {
		complain(std.err, "%v", err)
		return &endedError{exitWrite}
	}
	defer s.out.drop()
	s.screen = newScreen(std.err, o.color, std.env)
	s.recorder = newRecorder(now)
	s.timeline = newTimeline(o, std, s.screen, now)
	if s.client, err = o.client(transport, events.Join(s.recorder.hooks(), s.timeline.hooks())); err != nil {
		return err
	}
	defer s.client.Close()
	s.client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		err := o.redirect(req, via)
		if err == nil {
			s.timeline.response(req.Response)
		}
		return err
	}
	if o.insecure {
		complain(std.err, "%s: --insecure: no certificate is checked; whoever is in between can read and change everything", s.screen.paint(yellow, "warning"))
	}
	if o.stream {
		s.count(s.stream)
	} else {
		for n := 0; n < o.times && s.ctx.Err() == nil && s.timeline.failure() == nil; n++ {
			if s.count(s.once) == exitWrite {
				break
			}
		}
	}
	return s.end()
}

// transport is what the flags about connections make of the default one.
func (o *getOptions) transport() (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.insecure}
	switch {
	case o.http1:
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
	case o.http2:
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP2(true)
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	if o.ca != "" {
		text, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, usagef("--cacert: %v", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("--cacert is %q, a file without a certificate that can be read: use one in PEM, which begins with -----BEGIN CERTIFICATE-----", o.ca)
		}
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, usagef("--cert is %q and --key is %q: %v", o.cert, o.key, err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

func (o *getOptions) client(t *http.Transport, hooks *events.Hooks) (*client.Client, error) {
	costs := budget.Default()
	costs.Capacity = o.budget
	tokens, err := budget.New(costs)
	if err != nil {
		return nil, err
	}
	config := client.Config{
		Name: "get", Transport: t, Timeout: o.timeout, RetryAfterCeiling: longestAsked, MaxTotalRetryDuration: longestWaits, Budget: tokens, Hooks: hooks, NoTelemetry: true,
		Retry: client.RetryPolicy{MaxRetries: o.retries}, Stream: client.StreamConfig{Resume: true},
	}
	if o.retries == 0 {
		config.Retry.MaxRetries = -1
	}
	if o.breaker > 0 {
		if config.Breaker, err = breaker.New(breaker.Config{ConsecutiveFailures: o.breaker, FailureRate: -1}); err != nil {
			return nil, err
		}
	}
	return client.New(config)
}

// request makes the request that the flags describe.
func (s *session) request() (*http.Request, error) {
	req, err := http.NewRequestWithContext(s.ctx, s.o.method, s.url.String(), nil)
	if err != nil {
		return nil, errors.New("the request cannot be made: " + unquoted(err))
	}
	for name, values := range s.o.header.fields {
		req.Header[name] = append([]string(nil), values...)
	}
	if req.Header["User-Agent"] == nil {
		req.Header.Set("User-Agent", "plimsoll/"+version())
	}
	if s.o.header.host != "" {
		req.Host = s.o.header.host
	}
	if err := s.body.attach(req); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	return req, nil
}

// count runs one request and adds it up. It returns its status.
func (s *session) count(do func() int) int {
	begin := time.Now()
	status := do()
	took := time.Since(begin)
	calls := s.recorder.take()
	s.tally.add(calls, took, status != exitOK)
	if s.tally.exit == exitOK || status == exitInterrupted || status == exitTerminated {
		s.tally.exit = status
	}
	s.timeline.attempts(calls)
	plain := len(calls) == 1 && calls[0].outcome == events.OutcomeOK
	if !s.o.quiet && !s.o.json && s.drawn < mostBars && (s.o.times <= mostBars || !plain) {
		s.drawn++
		fmt.Fprint(s.std.err, s.screen.bars(calls))
	}
	return status
}

// once sends one request and writes the body of its answer.
func (s *session) once() int {
	req, err := s.request()
	if err != nil {
		return s.failed(err, exitFailed)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return s.failed(err, exitOfError(s.ctx, err))
	}
	defer resp.Body.Close()
	s.timeline.response(resp)
	report, _ := client.ReportOf(resp)
	status := exitOfAnswer(resp.StatusCode, report.Skipped, s.o.fail)
	var to output = s.out
	if _, ok := to.(*download); ok && status != exitOK {
		to = passing{io.Discard}
	}
	if failure := s.copy(to, resp); failure != exitOK {
		return failure
	}
	if status != exitOK {
		s.refused(resp.StatusCode, report, status)
		return status
	}
	if err := to.keep(); err != nil {
		return s.failed(outputError(err), exitWrite)
	}
	return exitOK
}

// copy copies the body of resp.
func (s *session) copy(to io.Writer, resp *http.Response) int {
	body := &readErrors{r: resp.Body}
	n, err := io.Copy(to, body)
	s.tally.bytes += n
	switch {
	case err == nil:
		return exitOK
	case body.err != nil:
		err := fmt.Errorf("after %s of the body: %w", quantity(n, "byte"), body.err)
		if _, ok := to.(*download); ok {
			err = fmt.Errorf("%w; %s was not written", err, s.o.output)
		}
		return s.failed(err, exitOfError(s.ctx, body.err))
	case errors.Is(err, syscall.EPIPE): // the reader has had enough
		return exitWrite
	}
	return s.failed(fmt.Errorf("writing the body: %w", err), exitWrite)
}

// failed says what went wrong and returns status.
func (s *session) failed(err error, status int) int {
	if status == exitInterrupted || status == exitTerminated {
		err = errors.New("interrupted")
	}
	s.tally.err = printable(err.Error())
	complain(s.std.err, "%s", s.tally.err)
	report, _ := client.ReportOfError(err)
	if what := hint(s.o, status, s.skipped(report)); what != "" && !s.o.quiet {
		complain(s.std.err, "%s", what)
	}
	return status
}

// end writes the summary.
func (s *session) end() error {
	stats := s.client.Stats()
	if s.tally.exit == exitOK {
		s.tally.exit = exitOfSignal(s.ctx) // between two requests
	}
	switch {
	case s.o.json:
		s.client.Close() // its events come before the summary
		s.timeline.summary(&s.tally, stats)
	case !s.o.quiet:
		fmt.Fprint(s.std.err, s.tally.text(s.screen)+gauges(s.o, stats, s.screen))
	}
	if err := s.timeline.failure(); err != nil && s.tally.exit == exitOK {
		if !errors.Is(err, syscall.EPIPE) {
			complain(s.std.err, "writing the output: %v", err)
		}
		s.tally.exit = exitWrite
	}
	if s.tally.exit != exitOK {
		return &endedError{s.tally.exit}
	}
	return nil
}

// readErrors tells a failed read from a failed write behind io.Copy.
type readErrors struct {
	r   io.Reader
	err error
}

func (e *readErrors) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && err != io.EOF {
		e.err = err
	}
	return n, err
}
