package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Prices is the service as it was: it knows an *http.Client and nothing of
// plimsoll.
type Prices struct {
	HTTP *http.Client
	Base string
}

// Price is what an item costs.
type Price struct {
	Item  string  `json:"item"`
	Euros float64 `json:"euros"`
}

// Of asks for the price of an item.
func (p *Prices) Of(ctx context.Context, item string) (Price, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Base+"/price?item="+url.QueryEscape(item), nil)
	if err != nil {
		return Price{}, err
	}
	resp, err := p.HTTP.Do(req)
	if err != nil {
		return Price{}, fmt.Errorf("price of %s: %w", item, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Price{}, fmt.Errorf("price of %s: %s", item, resp.Status)
	}
	var price Price
	if err := json.NewDecoder(resp.Body).Decode(&price); err != nil {
		return Price{}, fmt.Errorf("price of %s: %w", item, err)
	}
	return price, nil
}

// ownClient is the client that the service has always made.
func ownClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 20
	transport.ResponseHeaderTimeout = 2 * time.Second
	return &http.Client{
		Transport: transport,
		Timeout:   5 * time.Second,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) >= 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}
