package client_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// Whether a POST is sent again on another connection is for the policy of its
// call to say, whatever the client's says.
func TestThePolicyOfACallDecidesAboutTheRecoveryOfItsMethod(t *testing.T) {
	for _, row := range []struct {
		name                 string
		ofClient, ofCall     bool
		overridden, recovers bool
	}{
		{"neither", false, false, false, false},
		{"the client", true, false, false, true},
		{"the call", false, true, true, true},
		{"the client, taken back by the call", true, false, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := faultserver.Start(t, faultserver.Config{Memory: true})
				c, err := client.New(client.Config{
					Transport: srv.ClientTransport(), NoTelemetry: true,
					Retry: client.RetryPolicy{MaxRetries: -1, RetryNonIdempotent: row.ofClient},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				resp, err := send(t.Context(), c, srv, http.MethodGet)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				srv.RaceIdle(faultserver.FIN)
				<-time.After(time.Second)
				ctx := t.Context()
				if row.overridden {
					ctx = client.WithRetry(ctx, client.RetryPolicy{MaxRetries: -1, RetryNonIdempotent: row.ofCall})
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL()+"/x", strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err = c.Do(req)
				if (err == nil) != row.recovers {
					t.Errorf("%v, %v", resp, err)
				}
				if err == nil {
					resp.Body.Close()
					if report, _ := client.ReportOf(resp); report.Recoveries != 1 || report.Attempts != 1 {
						t.Errorf("report %+v", report)
					}
				}
			})
		})
	}
}
