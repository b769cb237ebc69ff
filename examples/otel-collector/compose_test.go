package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/otelcol"
	"go.uber.org/zap"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/gateway"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/traces"
)

const root = "../.."

// project loads docker-compose.yml with the code that docker compose loads it
// with, which checks it against the schema.
func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  root,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(root, "docker-compose.yml")}},
		Environment: types.Mapping{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDockerComposeTakesTheFileIfItIsThere(t *testing.T) {
	if err := exec.Command("docker", "compose", "version").Run(); err != nil {
		t.Skip("SKIPPED PART: docker compose is not installed; the file was loaded by its library")
	}
	out, err := exec.Command("docker", "compose", "-f", filepath.Join(root, "docker-compose.yml"), "config", "--quiet").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestEveryMountedFileExistsAndIsReadOnly(t *testing.T) {
	p := project(t)
	binds := 0
	for name, s := range p.Services {
		var targets []string
		for _, v := range s.Volumes {
			if slices.Contains(targets, v.Target) {
				t.Errorf("%s mounts twice on %s", name, v.Target)
			}
			targets = append(targets, v.Target)
			switch v.Type {
			case types.VolumeTypeBind:
				binds++
				info, err := os.Stat(v.Source)
				if err != nil || !info.Mode().IsRegular() {
					t.Errorf("%s mounts %s: %v", name, v.Source, err)
				}
				if !v.ReadOnly {
					t.Errorf("%s may write to %s", name, v.Source)
				}
			case types.VolumeTypeVolume:
				if _, ok := p.Volumes[v.Source]; !ok {
					t.Errorf("%s: volume %q has no name below volumes", name, v.Source)
				}
			default:
				t.Errorf("%s: a mount of type %s", name, v.Type)
			}
		}
	}
	if binds < 10 {
		t.Errorf("only %d files are mounted", binds)
	}
}

func TestAllGeneratedDashboardsAndRulesAreMounted(t *testing.T) {
	mounted := map[string]bool{}
	for _, s := range project(t).Services {
		for _, v := range s.Volumes {
			mounted[filepath.Base(v.Source)] = true
		}
	}
	for _, pattern := range []string{"*.json", "*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, "dashboards/generated", pattern))
		if err != nil || len(files) < 2 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, f := range files {
			if !mounted[filepath.Base(f)] {
				t.Errorf("%s is mounted nowhere", f)
			}
		}
	}
}

func TestPortsArePublishedOnLoopbackAndDoNotCollide(t *testing.T) {
	owner := map[string]string{}
	for name, s := range project(t).Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q", name, port.Published, port.HostIP)
			}
			if other, ok := owner[port.Published]; ok {
				t.Errorf("%s and %s publish %s", name, other, port.Published)
			}
			owner[port.Published] = name
		}
	}
	if len(owner) != 3 {
		t.Errorf("published: %v", owner)
	}
}

func TestImagesHaveExactTagsAndNothingIsSecret(t *testing.T) {
	exact := regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+\.\d+[a-z0-9.-]*$`)
	secret := regexp.MustCompile(`(?i)(password|passwd|secret_key|token|api_?key)`)
	for name, s := range project(t).Services {
		if s.Build == nil && !exact.MatchString(s.Image) {
			t.Errorf("%s: image %q has no exact tag", name, s.Image)
		}
		for key := range s.Environment {
			if secret.MatchString(key) {
				t.Errorf("%s: %s looks like a secret", name, key)
			}
		}
		if s.HealthCheck == nil && !slices.Contains([]string{"ready", "collector", "jaeger"}, name) {
			t.Errorf("%s has no health check", name)
		}
	}
}

// The probe "ready" and the arguments of the own program are parsed by the
// program itself.
func TestTheProgramTakesTheArgumentsThatItIsGiven(t *testing.T) {
	p := project(t)
	if _, err := parse(p.Services["client"].Command, os.Stderr); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"orders", "ready"} {
		args := []string(p.Services[name].Command)
		if name == "orders" {
			args = slices.Clone(args)
			args[slices.Index(args, "-listen")+1] = "127.0.0.1:0"
		}
		var stderr strings.Builder
		if status := run(over, args, &stderr, &stderr); status == exitUsage {
			t.Errorf("%s %q: %s", name, args, stderr.String())
		}
	}
	for name, s := range p.Services {
		if s.Build == nil || s.HealthCheck == nil {
			continue
		}
		if s.HealthCheck.Test[1] != "/plimsoll-demo" || s.HealthCheck.Test[2] != "health" {
			t.Errorf("%s: health check %q", name, s.HealthCheck.Test)
		}
	}
}

func TestServicesSpeakToPortsThatTheOthersListenOn(t *testing.T) {
	p := project(t)
	listens := map[string][]string{
		"orders": {"8080"}, "collector": {"4317", "9464", "13133"}, "jaeger": {"4317", "16686"}, "prometheus": {"9090"}, "valkey": {"6379"}, "grafana": {"3000"},
	}
	for name := range listens {
		if _, ok := p.Services[name]; !ok {
			t.Fatalf("there is no service %s", name)
		}
	}
	address := regexp.MustCompile(`\b(orders|collector|jaeger|prometheus|valkey|grafana):(\d+)\b`)
	found := 0
	check := func(where, text string) {
		for _, m := range address.FindAllStringSubmatch(text, -1) {
			found++
			if !slices.Contains(listens[m[1]], m[2]) {
				t.Errorf("%s speaks to %s, which does not listen there", where, m[0])
			}
		}
	}
	for name, s := range p.Services {
		check(name, strings.Join(s.Command, " "))
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind && strings.HasSuffix(v.Source, ".yaml") {
				data, err := os.ReadFile(v.Source)
				if err != nil {
					t.Fatal(err)
				}
				check(v.Source, string(data))
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d addresses were found", found)
	}
}

func TestTheCollectorTakesItsConfiguration(t *testing.T) {
	for _, file := range []string{"compose/collector.yaml", "internal/gateway/collector.yaml"} {
		factories, err := gateway.Factories(traces.NewStore(), zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		provider, err := otelcol.NewConfigProvider(otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{"file:" + file},
			ProviderFactories: []confmap.ProviderFactory{gateway.Provider("file", os.ReadFile)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := provider.Get(t.Context(), factories)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := confmap.Validate(cfg); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for id := range cfg.Receivers {
			if id.Type().String() != "otlp" {
				t.Errorf("%s: receiver %s", file, id)
			}
		}
	}
}

func TestPrometheusTakesItsConfigurationAndTheRules(t *testing.T) {
	cfg, err := config.LoadFile("compose/prometheus.yaml", false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	scrapes, err := cfg.GetScrapeConfigs()
	if err != nil || len(scrapes) != 1 || !scrapes[0].HonorLabels {
		t.Fatalf("%v, %v", scrapes, err)
	}
	for _, v := range project(t).Services["prometheus"].Volumes {
		matched := false
		for _, pattern := range cfg.RuleFiles {
			ok, err := filepath.Match(pattern, v.Target)
			matched = matched || ok && err == nil
		}
		if strings.Contains(v.Source, "generated") != matched {
			t.Errorf("%s on %s: is it a rule file? %t", v.Source, v.Target, matched)
		}
	}
	if err := rules.ParseFiles([]string{filepath.Join(root, "dashboards/generated/*.yaml")}, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

func TestTheDockerfileBuildsWithTheGoOfTheModule(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "COPY" || strings.HasPrefix(f[1], "--") {
			continue
		}
		for _, source := range f[1 : len(f)-1] {
			if _, err := os.Stat(filepath.Join(root, source)); err != nil {
				t.Error(err)
			}
		}
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	wants := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	has := regexp.MustCompile(`FROM golang:(\d+\.\d+)\.`).FindSubmatch(data)
	if wants == nil || has == nil || string(wants[1]) != string(has[1]) {
		t.Errorf("go.mod wants %q, the Dockerfile has %q", wants, has)
	}
}
