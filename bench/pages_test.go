package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packages are what the programs in the pages use, by the name that they use.
var packages = map[string]string{
	"budget":         "github.com/plimsoll-http/plimsoll/budget",
	"breaker":        "github.com/plimsoll-http/plimsoll/breaker",
	"client":         "github.com/plimsoll-http/plimsoll/client",
	"pool":           "github.com/plimsoll-http/plimsoll/pool",
	"circuitbreaker": "github.com/failsafe-go/failsafe-go/circuitbreaker",
	"context":        "context",
	"failsafehttp":   "github.com/failsafe-go/failsafe-go/failsafehttp",
	"gobreaker":      "github.com/sony/gobreaker/v2",
	"http":           "net/http",
	"otelhttp":       "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
	"retryablehttp":  "github.com/hashicorp/go-retryablehttp",
	"retrypolicy":    "github.com/failsafe-go/failsafe-go/retrypolicy",
	"time":           "time",
}

// The programs of these pages are whole statements. Those of
// docs/stacked-retries.md are excerpts of tests in internal/compat.
var pagesWithPrograms = []string{"docs/migrating.md", "docs/operating.md", "docs/concepts.md", "docs/troubleshooting.md", "docs/faq.md"}

// What a program in a page may use as given.
const given = `
var (
	ctx context.Context
	mux *http.ServeMux
	c *client.Client
)
`

// programOf makes a program of the statements of a page.
func programOf(statements string) (string, error) {
	body := "func run() error {\n" + statements + "\nreturn nil\n}\n"
	f, err := parser.ParseFile(token.NewFileSet(), "", "package main\n"+body+given, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && packages[x.Name] != "" {
				used[x.Name] = true
			}
		}
		return true
	})
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, name := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&b, "\t%s %q\n", name, packages[name])
	}
	b.WriteString(")\n" + given + body + "func main() { run() }\n")
	return b.String(), nil
}

// TestTheProgramsOfThePagesCompile compiles what stands in the pages, beside the
// peers that it is compared with there.
func TestTheProgramsOfThePagesCompile(t *testing.T) {
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, page := range pagesWithPrograms {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		rest := string(text)
		for n := 1; ; n++ {
			_, after, found := strings.Cut(rest, "\n```go\n")
			if !found {
				break
			}
			statements, tail, _ := strings.Cut(after, "\n```\n")
			rest = "\n" + tail
			program, err := programOf(statements)
			if err != nil {
				t.Errorf("%s, program %d: %v", page, n, err)
				continue
			}
			name := fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(page), ".md"), n)
			file := filepath.Join(dir, name+".go")
			if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay.Replace[filepath.Join(here, "pages", name, "main.go")] = file
			folders = append(folders, "./pages/"+name)
		}
	}
	if len(folders) < 10 {
		t.Fatalf("only %d programs found", len(folders))
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"build", "-gcflags=-e", "-overlay", overlayFile, "-o", os.DevNull}, folders...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("every variable is used: the list below is not what was built") // an excerpt leaves some unused
	}
	for line := range bytes.SplitSeq(bytes.TrimSpace(out), []byte("\n")) {
		if !bytes.HasPrefix(line, []byte("#")) && !bytes.Contains(line, []byte("declared and not used")) {
			t.Errorf("%s", line)
		}
	}
}
