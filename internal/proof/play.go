package proof

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// Stage is what a drive plays on, inside a bubble.
type Stage struct {
	*testing.T
	Context   context.Context
	Run       *Run
	telemetry otelbridge.Config
	began     time.Time

	mu   sync.Mutex
	seen *Seen // guarded by mu until the drive ends
}

// Seen is what the client's own events said. Times count from the run's begin;
// -1 is never.
type Seen struct {
	FirstDenial, FirstEscape time.Duration
	Calls, Escapes           int
	Denials, Armed           int
	Recoveries               int
}

// Client returns a client that reports to the run.
func (s *Stage) Client(cfg client.Config) *client.Client {
	s.Helper()
	cfg.Telemetry = s.telemetry
	cfg.Hooks = events.Join(cfg.Hooks, s.hooks())
	c, err := client.New(cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close() })
	return c
}

// Since is the time since the run began.
func (s *Stage) Since() time.Duration { return time.Since(s.began) }

// hooks watch what matters to the alerts, from any goroutine.
func (s *Stage) hooks() *events.Hooks {
	first := func(at *time.Duration) {
		if *at < 0 {
			*at = s.Since()
		}
	}
	locked := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}
	return &events.Hooks{
		RetryArmed:    func(context.Context, events.RetryArmed) { locked(func() { s.seen.Armed++ }) },
		ConnRecovered: func(context.Context, events.ConnRecovered) { locked(func() { s.seen.Recoveries++ }) },
		RetrySkipped: func(_ context.Context, e events.RetrySkipped) {
			if e.Reason == events.SkipBucket {
				locked(func() { s.seen.Denials++; first(&s.seen.FirstDenial) })
			}
		},
		CallDone: func(_ context.Context, e events.CallDone) {
			locked(func() {
				s.seen.Calls++
				if e.Outcome == events.OutcomeEscaped {
					s.seen.Escapes++
					first(&s.seen.FirstEscape)
				}
			})
		},
	}
}

// process is the resource that an application's SDK would name: what becomes
// job and instance on the way through a collector.
var process = resource.NewSchemaless(
	attribute.String("service.name", Target.Get("job")), attribute.String("service.instance.id", Target.Get("instance")))

// Play runs drive in a bubble, scrapes it from its begin to its end, and
// returns what it reported. Options change the SDK's meter provider, as an
// application would: further readers, views.
func Play(t *testing.T, drive func(*Stage), options ...metric.Option) (*Run, *Seen) {
	t.Helper()
	run := &Run{}
	seen := &Seen{FirstDenial: -1, FirstEscape: -1}
	synctest.Test(t, func(t *testing.T) {
		reader, handler, err := Exposed()
		if err != nil {
			t.Fatal(err)
		}
		provider := metric.NewMeterProvider(append(options, metric.WithReader(reader), metric.WithResource(process))...)
		run.Began = time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		stage := &Stage{
			T: t, Context: ctx, Run: run, began: run.Began, seen: seen,
			telemetry: otelbridge.Config{MeterProvider: provider, TracerProvider: noop.NewTracerProvider()},
		}
		scraped := make(chan error, 1)
		go func() { scraped <- run.keepScraping(ctx, handler) }()
		drive(stage)
		cancel()
		if err := <-scraped; err != nil {
			t.Error(err)
		}
	})
	return run, seen
}

// keepScraping scrapes every [Interval] until ctx ends, and never at an instant
// at which a drive may do something: what came first would be left to chance.
func (r *Run) keepScraping(ctx context.Context, from http.Handler) error {
	const phase = 731 * time.Millisecond
	timer := time.NewTimer(phase)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		timer.Reset(Interval)
		if err := r.Scrape(time.Now(), from, false); err != nil {
			return err
		}
	}
}
