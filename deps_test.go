package plimsoll_test

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/require"
)

const module = "github.com/plimsoll-http/plimsoll"

// An arrow says what the non-test code of a folder may import besides the
// standard library and its own folder: every import that it doesn't name is
// forbidden. It holds for the folders below too that have no arrow of their
// own. An entry that ends in /... stands for everything below.
type arrow struct {
	folder string
	may    []string
	reason string
}

var otelAPI = []string{
	"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes",
	"go.opentelemetry.io/otel/metric/...", "go.opentelemetry.io/otel/trace/...",
	"go.opentelemetry.io/otel/propagation", "go.opentelemetry.io/otel/baggage", "go.opentelemetry.io/otel/semconv/...",
}

var parts = []string{own("events"), own("budget"), own("breaker"), own("pool"), own("sse")}

var arrows = []arrow{
	{".", nil, "the root package holds documentation alone"},
	{"events", nil, "every other package links the events, and so whatever they import"},
	{"events/eventstest", []string{own("events")}, "a user's test binary links it beside a test library of the user's choice"},
	{"budget", nil, "a leaf: it emits nothing and knows no HTTP client, so that others can build on it"},
	{"breaker", []string{own("events")}, "a leaf: the memory gate must not link a store's driver"},
	{"breaker/breakertest", []string{own("events"), own("breaker")}, "a store outside this module runs it: it must not bring in a test library"},
	{"breaker/redisstore", []string{own("events"), own("breaker"), "github.com/redis/go-redis/v9/..."}, "the only package that may link a Redis driver, and nothing else"},
	{"pool", []string{own("events")}, "Go's own net/http tests are built with it as a part of the standard library"},
	{"sse", nil, "a leaf: a parser of bytes that others can use with any client"},
	{"client", append([]string{own("otelbridge"), own("otelbridge/catalog")}, parts...), "telemetry goes through the bridge: the attempt loop names no OpenTelemetry type, and no store's driver is linked unasked"},
	{"otelbridge", append([]string{own("events"), own("otelbridge/catalog"), "go.opentelemetry.io/contrib/instrumentation/net/http/httptrace/otelhttptrace"}, otelAPI...), "the application chooses the SDK; the bridge sees events alone, never a part that emits them"},
	{"otelbridge/views", []string{own("otelbridge"), own("otelbridge/catalog"), "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/sdk/instrumentation", "go.opentelemetry.io/otel/sdk/metric"}, "views are the SDK's, so whoever imports them has chosen it; spans and exporters are not their matter"},
	{"otelbridge/catalog", []string{own("events")}, "pure data: dashboards are generated from it without an OpenTelemetry import"},
	{"dashboards", []string{own("otelbridge/catalog"), "github.com/grafana/grafana-foundation-sdk/go/..."}, "dashboards are generated from the catalogue: what isn't declared there cannot be drawn"},
	{"cmd/plimsoll", append([]string{own("client"), own("dashboards/..."), own("otelbridge/..."), own("internal/story/..."), "go.opentelemetry.io/otel/sdk/..."}, append(parts, otelAPI...)...), "the command is the one program here, so it may choose an SDK; exporters would bring in gRPC"},
	{"internal/faultserver", []string{own("client"), own("events"), "golang.org/x/net/http2/...", "golang.org/x/net/http/httpguts"}, "a hostile server writes its frames itself; a framework would mend them"},
	{"internal/story", append([]string{own("client"), own("otelbridge/..."), own("breaker/..."), own("internal/faultserver/...")}, parts...), "demos and proofs share it and each brings its own SDK, exporter and screen"},
	{"internal/require", nil, "every test links it"},
	{"internal", []string{module + "/..."}, "internal tools stand on this module and the standard library"},
}

func own(folder string) string { return module + "/" + folder }

// A ban is a path, with all below it, that must not be linked or required.
type ban struct{ path, reason string }

var neverLinked = []ban{
	{"go.opentelemetry.io/otel/exporters", "the application chooses where telemetry goes"},
	{"go.opentelemetry.io/contrib/exporters", "the application chooses where telemetry goes"},
	{"go.opentelemetry.io/collector", "the collector is a program beside the application"},
	{"github.com/open-telemetry", "the collector is a program beside the application"},
	{"github.com/prometheus", "its engine and client weigh more than this module; dashboards need neither"},
	{"google.golang.org/grpc", "an HTTP client must not cost its users an RPC framework"},
	{"google.golang.org/protobuf", "an HTTP client must not cost its users an RPC framework"},
	{"github.com/grafana/grafana", "its licence, the AGPL, would bind every user"},
}

// neverLinkedByLibraries is banned everywhere but below mayLinkSDK.
var neverLinkedByLibraries = ban{"go.opentelemetry.io/otel/sdk", "the application chooses its SDK; without one, telemetry costs nothing"}

// mayLinkSDK are the folders that are for applications which have an SDK. No
// other package may import them.
var mayLinkSDK = []string{own("cmd"), own("otelbridge/views")}

// neverRequired keeps these out of go.mod altogether, tests included: whoever
// requires this module downloads their go.mod files.
var neverRequired = append(slices.Clone(neverLinked),
	ban{"github.com/grafana/loki", "its licence, the AGPL, would bind every user"},
	ban{"github.com/grafana/tempo", "its licence, the AGPL, would bind every user"},
	ban{"github.com/grafana/mimir", "its licence, the AGPL, would bind every user"},
)

func TestImportsPointOneWay(t *testing.T) {
	imports := sources(t)
	used := map[string]bool{}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		a, ok := arrowOf(folder)
		if !ok {
			t.Errorf("%s has no arrow: say in this file what it may import, and why", folder)
			continue
		}
		used[a.folder] = true
		for imported, file := range imports[folder] {
			if !a.allows(imported) {
				t.Errorf("%s imports %q: %s must not, because %s", file, imported, a.folder, a.reason)
			}
		}
	}
	for _, a := range arrows {
		t.Run(a.folder, func(t *testing.T) {
			if !used[a.folder] && a.folder != "internal" {
				require.Missing(t, "the folder "+a.folder+" holds no Go code; delete its arrow if it never will")
			}
		})
	}
}

func TestNoPackageLinksWhatItsUsersWouldPayFor(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		graph := linked(t, goos)
		if _, ok := graph[own("client")]; !ok {
			t.Fatal("the client is not among the module's packages: the list was not read")
		}
		for pkg := range graph {
			if !below(pkg, module) {
				continue
			}
			bans := neverLinked
			if !slices.ContainsFunc(mayLinkSDK, func(folder string) bool { return below(pkg, folder) }) {
				bans = append(slices.Clone(neverLinked), neverLinkedByLibraries)
			}
			for _, b := range bans {
				if chain := chainTo(graph, pkg, b.path); chain != nil {
					t.Errorf("on %s, %s: must not be linked, because %s", goos, strings.Join(chain, " imports "), b.reason)
				}
			}
		}
	}
}

func TestGoModRequiresNothingHeavy(t *testing.T) {
	var mod struct{ Require []struct{ Path string } }
	if err := json.Unmarshal(goCommand(t, "", "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Require) == 0 {
		t.Fatal("go.mod requires nothing: it was not read")
	}
	for _, r := range mod.Require {
		for _, b := range neverRequired {
			if below(r.Path, b.path) {
				t.Errorf("go.mod requires %s: it must not, because %s", r.Path, b.reason)
			}
		}
	}
}

// The checks above must be able to fail.
func TestAForbiddenImportIsFound(t *testing.T) {
	for _, tt := range []struct {
		folder, imported string
		want             bool
	}{
		{"budget", "time", true},
		{"budget", own("events"), false},
		{"budget", "golang.org/x/sync", false},
		{"pool", own("events"), true},
		{"pool", own("events/eventstest"), false},
		{"pool/internal/x", own("pool/internal/y"), true},
		{"breaker", own("breaker/redisstore"), false},
		{"breaker/redisstore", "github.com/redis/go-redis/v9", true},
		{"client", own("otelbridge"), true},
		{"client", "go.opentelemetry.io/otel/trace", false},
		{"otelbridge", "go.opentelemetry.io/otel/metric/noop", true},
		{"otelbridge", "go.opentelemetry.io/otel/sdk/metric", false},
		{"otelbridge", own("client"), false},
		{"otelbridge", own("otelbridge/views"), false},
		{"client", own("otelbridge/views"), false},
		{"otelbridge/views", "go.opentelemetry.io/otel/sdk/metric", true},
		{"otelbridge/views", "go.opentelemetry.io/otel/sdk/trace", false},
		{"cmd/plimsoll", "go.opentelemetry.io/otel/sdk/metric", true},
		{"cmd/plimsoll", "go.opentelemetry.io/otel/exporters/stdout/stdouttrace", false},
		{"internal/conformance", own("pool"), true},
	} {
		a, ok := arrowOf(tt.folder)
		if !ok || a.allows(tt.imported) != tt.want {
			t.Errorf("%s may import %s: %v, want %v", tt.folder, tt.imported, !tt.want, tt.want)
		}
	}
	if a, ok := arrowOf("unheard/of"); ok {
		t.Errorf("a folder without an arrow got that of %s", a.folder)
	}
	graph := map[string][]string{"a": {"b", "c"}, "c": {"bad/d"}, "b": {"a"}}
	if got := chainTo(graph, "a", "bad"); !slices.Equal(got, []string{"a", "c", "bad/d"}) {
		t.Errorf("the chain to a banned path is %q", got)
	}
	if got := chainTo(graph, "b", "ba"); got != nil {
		t.Errorf("ba is no parent of bad/d, but the chain is %q", got)
	}
}

// arrowOf returns the arrow of folder, or else of the closest one above it.
func arrowOf(folder string) (arrow, bool) {
	for dir := folder; ; dir = path.Dir(dir) {
		i := slices.IndexFunc(arrows, func(a arrow) bool { return a.folder == dir })
		if i >= 0 && (dir != "." || folder == ".") {
			return arrows[i], true
		}
		if dir == "." {
			return arrow{}, false
		}
	}
}

func (a arrow) allows(imported string) bool {
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return true // the standard library: no dot in the first element
	}
	if rest, ok := strings.CutPrefix(imported, module+"/"); ok {
		if of, ok := arrowOf(rest); ok && of.folder == a.folder {
			return true // its own folder
		}
	}
	return slices.ContainsFunc(a.may, func(may string) bool {
		if tree, ok := strings.CutSuffix(may, "/..."); ok {
			return below(imported, tree)
		}
		return imported == may
	})
}

// below reports whether p is tree or lies below it.
func below(p, tree string) bool { return p == tree || strings.HasPrefix(p, tree+"/") }

// chainTo returns a shortest chain of imports from pkg to something below
// banned, or nil.
func chainTo(graph map[string][]string, pkg, banned string) []string {
	chains := [][]string{{pkg}}
	seen := map[string]bool{pkg: true}
	for len(chains) > 0 {
		chain := chains[0]
		chains = chains[1:]
		for _, next := range graph[chain[len(chain)-1]] {
			longer := append(slices.Clone(chain), next)
			if below(next, banned) {
				return longer
			}
			if !seen[next] {
				seen[next] = true
				chains = append(chains, longer)
			}
		}
	}
	return nil
}
