package otelbridge

import (
	"errors"
	"net/http"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestAnOriginGivesAddressAndPort(t *testing.T) {
	for _, tt := range []struct {
		origin, address string
		port            int
	}{
		{"https://api.example.com:443", "api.example.com", 443},
		{"http://127.0.0.1:8080", "127.0.0.1", 8080},
		{"http://[2001:db8::1]:80", "2001:db8::1", 80},
		{"http://[2001:db8::1]", "2001:db8::1", 80},
		{"https://api.example.com", "api.example.com", 443},
		{"http://api.example.com", "api.example.com", 80},
		{"unix://socket", "socket", 0},
		{"http://api.example.com:name", "api.example.com", 80},
		{"tenant", catalog.Shared, 0},
		{"http://", catalog.Shared, 0},
		{"", catalog.Shared, 0},
	} {
		if address, port := endpoint(tt.origin); address != tt.address || port != tt.port {
			t.Errorf("%q is %q port %d, want %q port %d", tt.origin, address, port, tt.address, tt.port)
		}
	}
}

func TestAScopeIsFoundByWhatIsKnown(t *testing.T) {
	const origin = "http://a.test:80"
	for _, tt := range []struct {
		client, origin, partition string
		want                      scopeKey
	}{
		{"", origin, origin, scopeKey{"default", origin, ""}},
		{"c", origin, "", scopeKey{"c", origin, ""}},
		{"c", origin, "t", scopeKey{"c", origin, "t"}},
		{"c", "", origin, scopeKey{"c", origin, ""}},
		{"c", "", "t", scopeKey{"c", "", "t"}},
	} {
		if got := normal(tt.client, tt.origin, tt.partition); got != tt.want {
			t.Errorf("client %q, origin %q, partition %q: %+v, want %+v", tt.client, tt.origin, tt.partition, got, tt.want)
		}
	}
}

func TestTheVersionIsTheLinkedModules(t *testing.T) {
	dep := &debug.Module{Path: modulePath, Version: "v1.2.3"}
	replaced := &debug.Module{Path: modulePath, Version: "v1.2.3", Replace: &debug.Module{Version: "v1.2.4"}}
	for want, info := range map[string]*debug.BuildInfo{
		"v1.2.3":  {Deps: []*debug.Module{{Path: "other"}, dep}},
		"v1.2.4":  {Deps: []*debug.Module{replaced}},
		"(devel)": {Main: debug.Module{Path: "other", Version: "v9.9.9"}},
	} {
		if got := moduleVersion(info, true); got != want {
			t.Errorf("version %q, want %q", got, want)
		}
	}
	if got := moduleVersion(nil, false); got != "(devel)" {
		t.Errorf("version %q without build information, want (devel)", got)
	}
}

func TestTheCarrierWritesAsOpenTelemetrysOwn(t *testing.T) {
	mine, theirs := http.Header{"Traceparent": {"old"}, "Accept": {"a", "b"}}, http.Header{"Traceparent": {"old"}, "Accept": {"a", "b"}}
	for _, key := range []string{"traceparent", "tracestate", "baggage", "x-b3-traceid", "B3"} {
		carrier(mine).Set(key, "v")
		propagation.HeaderCarrier(theirs).Set(key, "v")
		if got, want := carrier(mine).Get(key), propagation.HeaderCarrier(theirs).Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if !reflect.DeepEqual(mine, theirs) {
		t.Errorf("the header is %v, want %v", mine, theirs)
	}
	if got := carrier(mine).Values("accept"); len(got) != 2 {
		t.Errorf("values %q, want both", got)
	}
	if got, want := len(carrier(mine).Keys()), len(theirs); got != want {
		t.Errorf("%d keys, want %d", got, want)
	}
}

// refusing is a MeterProvider whose meter makes no gauges.
type refusing struct{ metricnoop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ metricnoop.Meter }

var errRefused = errors.New("no gauges here")

func (refusingMeter) Int64ObservableGauge(string, ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return nil, errRefused
}

func TestAMeterThatRefusesAnInstrumentIsNamed(t *testing.T) {
	_, err := New(Config{DisableTraces: true, MeterProvider: refusing{}})
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), catalog.BudgetTokens) {
		t.Errorf("error %v, want it to name %s and to be the meter's", err, catalog.BudgetTokens)
	}
}

func TestAnInstrumentOutsideTheCatalogueIsAnError(t *testing.T) {
	m := &maker{meter: metricnoop.Meter{}}
	if m.counter("plimsoll.made.up"); len(m.errs) != 1 {
		t.Errorf("errors %v, want one", m.errs)
	}
}
