package gateway

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/traces"
)

func TestTheCollectorListensWhereItSaysAndEndsInOrder(t *testing.T) {
	for range 2 { // it can be had again
		g, err := Start(t.Context(), traces.NewStore(), zapcore.NewNopCore())
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{g.OTLP, g.History} {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				continue
			}
			c.Close()
			if !strings.HasPrefix(address, "127.0.0.1:") {
				t.Errorf("it listens on %s", address)
			}
		}
		resp, err := http.Get(g.Metrics)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Error(resp.Status)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if c, err := net.Dial("tcp", g.OTLP); err == nil {
			c.Close()
			t.Error("a closed collector listens")
		}
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g, err := Start(ctx, traces.NewStore(), zapcore.NewNopCore())
	if err == nil { // it was faster
		err = g.Close()
		if err != nil {
			t.Error(err)
		}
	}
}
