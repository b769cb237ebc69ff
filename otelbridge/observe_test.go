package otelbridge_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestObservedMetricsAreReadWhenAReaderCollects(t *testing.T) {
	r := newRig(t)
	stop, err := r.bridge.Observe("shop", sources(meta))
	if err != nil {
		t.Fatal(err)
	}
	shop := attribute.String(catalog.KeyClient, "shop")
	for _, tt := range []struct {
		name string
		kvs  []attribute.KeyValue
		want float64
	}{
		{catalog.BudgetTokens, nil, 490},
		{catalog.BudgetCapacity, nil, 500},
		{catalog.ActiveRequests, nil, 5},
		{catalog.OpenConnections, []attribute.KeyValue{attribute.String(catalog.KeyConnectionState, "active")}, 2},
		{catalog.OpenConnections, []attribute.KeyValue{attribute.String(catalog.KeyConnectionState, "idle")}, 3},
		{catalog.ConnWaiting, nil, 4},
		{catalog.BreakerState, []attribute.KeyValue{attribute.String(catalog.KeyBreakerState, "open")}, 1},
		{catalog.BreakerState, []attribute.KeyValue{attribute.String(catalog.KeyBreakerState, "closed")}, 0},
		{catalog.BreakerState, []attribute.KeyValue{attribute.String(catalog.KeyBreakerState, "half_open")}, 0},
		{catalog.BreakerCooldown, nil, 60},
		{catalog.HookPanics, nil, 7},
	} {
		if got := r.value(tt.name, append(tt.kvs, shop)...); got != tt.want {
			t.Errorf("%s with %v is %v, want %v", tt.name, tt.kvs, got, tt.want)
		}
	}
	for range 2 {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	if got := r.at(catalog.BudgetTokens); len(got) != 0 {
		t.Errorf("%s is %+v after stop, want nothing", catalog.BudgetTokens, got)
	}
}

func TestNilSourcesAreNotRead(t *testing.T) {
	r := newRig(t)
	if _, err := r.bridge.Observe("", otelbridge.Sources{}); err != nil {
		t.Fatal(err)
	}
	if got := r.value(catalog.HookPanics, attribute.String(catalog.KeyClient, "default")); got != 0 {
		t.Errorf("%s is %v, want 0", catalog.HookPanics, got)
	}
	if got := r.at(catalog.BudgetTokens); len(got) != 0 {
		t.Errorf("%s is %+v, want nothing", catalog.BudgetTokens, got)
	}
}

func TestAPartitionOfSeveralOriginsHasTheSharedAddress(t *testing.T) {
	r := newRig(t)
	_, err := r.bridge.Observe("shop", otelbridge.Sources{Tokens: func(yield func(otelbridge.TokenLevel) bool) {
		_ = yield(otelbridge.TokenLevel{Partition: "tenant", Tokens: 3, Capacity: 500}) &&
			yield(otelbridge.TokenLevel{Partition: origin, Tokens: 4, Capacity: 500})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.value(catalog.BudgetTokens, attribute.String(catalog.KeyPartition, "tenant"), attribute.String(catalog.KeyAddress, catalog.Shared)); got != 3 {
		t.Errorf("the tenant has %v tokens, want 3", got)
	}
	p := r.at(catalog.BudgetTokens, attribute.String(catalog.KeyAddress, "api.example.com"), attribute.Int(catalog.KeyPort, 443))
	if len(p) != 1 || p[0].value != 4 || p[0].attrs.HasValue(catalog.KeyPartition) {
		t.Errorf("the origin has %+v, want 4 tokens and no partition", p)
	}
}

func TestThePartitionsPastTheBoundShowTheirWorst(t *testing.T) {
	r := newRig(t, func(c *otelbridge.Config) { c.MaxOrigins = 1 })
	r.call(meta, 200)
	_, err := r.bridge.Observe("shop", otelbridge.Sources{
		Tokens: func(yield func(otelbridge.TokenLevel) bool) {
			_ = yield(otelbridge.TokenLevel{Partition: "a", Tokens: 400, Capacity: 500}) &&
				yield(otelbridge.TokenLevel{Partition: "b", Tokens: 7, Capacity: 500}) &&
				yield(otelbridge.TokenLevel{Partition: "c", Tokens: 500, Capacity: 500})
		},
		Breakers: func(yield func(otelbridge.BreakerLevel) bool) {
			_ = yield(otelbridge.BreakerLevel{Partition: "a", State: events.BreakerOpen, Cooldown: time.Second}) &&
				yield(otelbridge.BreakerLevel{Partition: "b", State: events.BreakerHalfOpen, Cooldown: time.Minute}) &&
				yield(otelbridge.BreakerLevel{Partition: "c"})
		},
		Requests: func(yield func(otelbridge.RequestCount) bool) {
			_ = yield(otelbridge.RequestCount{Partition: "a", Active: 1}) && yield(otelbridge.RequestCount{Partition: "b", Active: 2})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rest := attribute.String(catalog.KeyAddress, catalog.Other)
	for name, want := range map[string]float64{catalog.BudgetTokens: 7, catalog.BreakerCooldown: 60, catalog.ActiveRequests: 3} {
		if got := r.value(name, rest); got != want {
			t.Errorf("%s of the rest is %v, want %v", name, got, want)
		}
	}
	if got := r.value(catalog.BreakerState, rest, attribute.String(catalog.KeyBreakerState, "open")); got != 1 {
		t.Errorf("the rest is open: %v, want 1", got)
	}
	if got := r.value(catalog.BreakerState, rest, attribute.String(catalog.KeyBreakerState, "half_open")); got != 0 {
		t.Errorf("the rest is half-open: %v, want 0: one state is reported", got)
	}
}

func TestASourceThatPanicsIsCountedAndTheOthersAreRead(t *testing.T) {
	var caught any
	r := newRig(t, func(c *otelbridge.Config) { c.OnPanic = func(v any) { caught = v } })
	bad := otelbridge.Sources{Tokens: func(func(otelbridge.TokenLevel) bool) { panic("broken") }}
	if _, err := r.bridge.Observe("bad", bad); err != nil {
		t.Fatal(err)
	}
	if _, err := r.bridge.Observe("shop", sources(meta)); err != nil {
		t.Fatal(err)
	}
	var rm metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &rm); err == nil || caught != "broken" {
		t.Errorf("error %v and OnPanic(%v), want an error and \"broken\"", err, caught)
	}
	found := false
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			if m.Name == catalog.HookPanics {
				for _, p := range points(t, m) {
					if includes(p.attrs, []attribute.KeyValue{attribute.String(catalog.KeyClient, "bad")}) {
						found = p.value == 1
					}
				}
			}
		}
	}
	if !found {
		t.Errorf("%s of the bad client is not 1", catalog.HookPanics)
	}
}

func TestAClosedBridgeObservesNothing(t *testing.T) {
	r := newRig(t)
	if _, err := r.bridge.Observe("shop", sources(meta)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.bridge.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := r.at(catalog.BudgetTokens); len(got) != 0 {
		t.Errorf("%s is %+v after Close, want nothing", catalog.BudgetTokens, got)
	}
	if _, err := r.bridge.Observe("shop", sources(meta)); err == nil {
		t.Error("Observe on a closed bridge succeeds")
	}
	r.call(meta, 200) // hooks may still be called
}

func TestCloseMayHoldALockThatASourceTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		b, err := otelbridge.New(otelbridge.Config{DisableTraces: true, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
		if err != nil {
			t.Fatal(err)
		}
		reading, locked := make(chan struct{}), make(chan struct{})
		var mu sync.Mutex
		if _, err := b.Observe("shop", otelbridge.Sources{HookPanics: func() uint64 {
			close(reading)
			<-locked
			mu.Lock()
			defer mu.Unlock()
			return 1
		}}); err != nil {
			t.Fatal(err)
		}
		collected := make(chan error, 1)
		go func() {
			var rm metricdata.ResourceMetrics
			collected <- reader.Collect(context.Background(), &rm)
		}()
		<-reading
		mu.Lock()
		close(locked)
		err = b.Close()
		mu.Unlock()
		if err := errors.Join(err, <-collected); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
