package otelbridge

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"net/textproto"
	"sync"

	"go.opentelemetry.io/contrib/instrumentation/net/http/httptrace/otelhttptrace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// phaseError stands for an error of one phase of a connection. The error
// itself stays out of spans: its text may hold anything.
type phaseError string

func (e phaseError) Error() string { return string(e) }

const (
	errResolve = phaseError("resolving the host failed")
	errConnect = phaseError("connecting failed")
	errTLS     = phaseError("the TLS handshake failed")
	errNotKept = phaseError("the connection was not kept")
)

// traceConns returns a context whose httptrace makes connection spans below the
// span that ctx holds, in addition to the traces that ctx carries already. No
// header and no error text goes into them.
func traceConns(ctx context.Context, provider trace.TracerProvider) (context.Context, *connSpans) {
	spans := &connSpans{provider: provider}
	t := otelhttptrace.NewClientTrace(ctx, otelhttptrace.WithoutHeaders(), otelhttptrace.WithTracerProvider(spans))
	dnsDone, connectDone, tlsDone, putIdle, got1xx, wrote := t.DNSDone, t.ConnectDone, t.TLSHandshakeDone, t.PutIdleConn, t.Got1xxResponse, t.WroteRequest
	t.DNSDone = func(info httptrace.DNSDoneInfo) {
		info.Err = replaced(info.Err, errResolve)
		dnsDone(info)
	}
	t.ConnectDone = func(network, addr string, err error) { connectDone(network, addr, replaced(err, errConnect)) }
	t.TLSHandshakeDone = func(st tls.ConnectionState, err error) { tlsDone(st, replaced(err, errTLS)) }
	t.PutIdleConn = func(err error) { putIdle(replaced(err, errNotKept)) }
	t.Got1xxResponse = func(code int, _ textproto.MIMEHeader) error { return got1xx(code, nil) }
	t.WroteRequest = func(httptrace.WroteRequestInfo) {
		// A failed write would mark the attempt's span as failed, also
		// where a response came.
		wrote(httptrace.WroteRequestInfo{})
	}
	return httptrace.WithClientTrace(ctx, t), spans
}

func replaced(err error, by phaseError) error {
	if err == nil {
		return nil
	}
	return by
}

// connSpans is the TracerProvider of the connection spans of one attempt. It
// keeps those that were started, so that none is left open: not the one of a
// failed dial, and not the one of a connection that is not put back.
type connSpans struct {
	embedded.TracerProvider
	provider trace.TracerProvider

	mu    sync.Mutex
	open  []trace.Span // guarded by mu: all that were started
	ended bool         // guarded by mu: later ones are not recorded
}

// Tracer implements [trace.TracerProvider].
func (s *connSpans) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return &connTracer{spans: s, tracer: s.provider.Tracer(name, opts...)}
}

// end ends what is still open. Ending a span again does nothing.
func (s *connSpans) end() {
	s.mu.Lock()
	open := s.open
	s.open, s.ended = nil, true
	s.mu.Unlock()
	for _, span := range open {
		span.End()
	}
}

// keep reports whether span may stay open.
func (s *connSpans) keep(span trace.Span) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.open = append(s.open, span)
	return true
}

func (s *connSpans) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

type connTracer struct {
	embedded.Tracer
	spans  *connSpans
	tracer trace.Tracer
}

// Start implements [trace.Tracer].
func (t *connTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if t.spans.over() {
		return tracenoop.Tracer{}.Start(ctx, name)
	}
	ctx, span := t.tracer.Start(ctx, name, opts...)
	if !t.spans.keep(span) {
		span.End()
	}
	return ctx, span
}
