package proof

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
)

// Interval is how often a run is scraped and rules are evaluated.
const Interval = 15 * time.Second

// Target are the labels that Prometheus attaches to what it scrapes.
var Target = labels.FromStrings("instance", "app:9464", "job", "shop")

// Run is what a client reported: the scrapes in their order.
type Run struct {
	Began   time.Time
	Scrapes []Scrape
	series  []labels.Labels
	index   map[string]int // from a series as it is exposed to its place in series
}

// Scrape is what was read at one time.
type Scrape struct {
	At      time.Time
	samples []sample
}

type sample struct {
	series int
	value  float64
}

// Emitted returns every series that the run reported at some time, each once.
func (r *Run) Emitted() []labels.Labels { return r.series }

// Exposed returns a reader and the handler that shows what it reads, by
// OpenTelemetry's Prometheus exporter.
func Exposed() (metric.Reader, http.Handler, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(
		exporter.WithRegisterer(registry),
		exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		exporter.WithoutTargetInfo(),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("proof: exporter: %w", err)
	}
	return reader, promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}), nil
}

// Scrape reads from a handler as Prometheus does and adds what it says to the
// run, with the target's labels where honor is false or they are absent.
func (r *Run) Scrape(at time.Time, from http.Handler, honor bool) error {
	w := httptest.NewRecorder()
	from.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		return fmt.Errorf("proof: scrape: status %d: %s", w.Code, w.Body)
	}
	return r.add(at, w.Body.Bytes(), honor)
}

func (r *Run) add(at time.Time, text []byte, honor bool) error {
	if r.index == nil {
		r.index = map[string]int{}
	}
	parser, err := textparse.New(text, "text/plain", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return fmt.Errorf("proof: scrape: %w", err)
	}
	scrape := Scrape{At: at}
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("proof: scrape: %w", err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		name, _, value := parser.Series()
		i, ok := r.index[string(name)]
		if !ok {
			var exposed labels.Labels
			parser.Labels(&exposed)
			i = len(r.series)
			r.series = append(r.series, withTarget(exposed, honor))
			r.index[string(name)] = i
		}
		scrape.samples = append(scrape.samples, sample{i, value})
	}
	r.Scrapes = append(r.Scrapes, scrape)
	return nil
}

// withTarget adds the target's labels. Those that the exposition has already
// are kept if they are honored; otherwise they get the prefix "exported_".
func withTarget(exposed labels.Labels, honor bool) labels.Labels {
	b := labels.NewBuilder(exposed)
	Target.Range(func(l labels.Label) {
		if own := exposed.Get(l.Name); own != "" {
			if honor {
				return
			}
			b.Set("exported_"+l.Name, own)
		}
		b.Set(l.Name, l.Value)
	})
	return b.Labels()
}
