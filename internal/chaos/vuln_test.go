package chaos

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

const (
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
	database    = "https://vuln.go.dev/index/db.json"
)

// It asks the Go vulnerability database about what the root module links, where
// -vuln is given and the database can be reached.
func TestNoKnownVulnerabilityIsLinked(t *testing.T) {
	if !*vulnFlag {
		t.Skip("SKIPPED PART: no -vuln given; make vuln runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, database, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Skipf("SKIPPED PART: govulncheck: the vulnerability database cannot be reached: %v", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Skipf("SKIPPED PART: govulncheck: the vulnerability database answers %s", resp.Status)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", govulncheck, "./...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("govulncheck: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}
