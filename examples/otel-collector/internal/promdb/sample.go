package promdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/storage"
)

// textFormat is what a target is asked for, by the scrape manager too.
const textFormat = "text/plain; version=0.0.4"

// sample is one line of a scrape.
type sample struct {
	labels labels.Labels
	value  float64
}

var appendOptions = storage.AOptions{RejectOutOfOrder: true}

// onceClient is for single scrapes.
var onceClient = &http.Client{Timeout: 10 * time.Second}

// scrapeOnce reads all samples that t shows.
func scrapeOnce(ctx context.Context, t Target) ([]sample, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("promdb: target %q: %w", t.URL, err)
	}
	req.Header.Set("Accept", textFormat)
	resp, err := onceClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("promdb: scrape: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("promdb: scrape: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("promdb: scrape: %s", resp.Status)
	}
	return parse(body, t)
}

// parse reads the text format.
func parse(body []byte, t Target) ([]sample, error) {
	p, err := textparse.New(body, textFormat, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return nil, fmt.Errorf("promdb: scrape: %w", err)
	}
	var out []sample
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("promdb: scrape: %w", err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var ls labels.Labels
		p.Labels(&ls)
		_, _, value := p.Series()
		b := labels.NewBuilder(ls)
		if ls.Get("instance") == "" {
			b.Set("instance", t.Instance)
		}
		if ls.Get("job") == "" {
			b.Set("job", t.Job)
		}
		out = append(out, sample{b.Labels(), value})
	}
}
