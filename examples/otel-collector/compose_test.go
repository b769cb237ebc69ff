package main

import (
	"context"
	"fmt"
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
	"github.com/plimsoll-http/plimsoll/internal/require"
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

// What project loads is checked: a key that the specification does not have is
// an error.
func TestTheComposeFileIsCheckedAgainstTheSpecification(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for good, bad := range map[string]string{"healthcheck:": "healthchek:", "retries: 5": "retries: often", "service_healthy": "service_happy"} {
		content := strings.Replace(string(data), good, bad, 1)
		_, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
			WorkingDir:  root,
			ConfigFiles: []types.ConfigFile{{Filename: "docker-compose.yml", Content: []byte(content)}},
			Environment: types.Mapping{},
		})
		if err == nil || content == string(data) {
			t.Errorf("with %q: %v", bad, err)
		}
	}
}

// Docker Compose is a plugin of docker, or a program of its own.
func TestDockerComposeTakesTheFile(t *testing.T) {
	compose := []string{"docker", "compose"}
	if exec.Command("docker", "compose", "version").Run() != nil {
		compose = []string{require.Tool(t, "docker-compose")}
		if version, err := exec.Command(compose[0], "version", "--short").Output(); err != nil || strings.HasPrefix(string(version), "1.") {
			require.Missing(t, fmt.Sprintf("Docker Compose 2 or later; docker-compose is %q, %v", version, err))
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(data), "service_healthy", "service_happy", 1)
	for content, good := range map[string]bool{string(data): true, broken: false} {
		cmd := exec.Command(compose[0], append(compose[1:], "--project-directory", root, "-f", "-", "config", "--quiet")...)
		cmd.Stdin = strings.NewReader(content)
		if out, err := cmd.CombinedOutput(); (err == nil) != good {
			t.Errorf("docker compose takes the file: %v, want %v: %s", err == nil, good, out)
		}
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

// exact is an image with a tag that names one release.
var exact = regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+\.\d+[a-z0-9.-]*$`)

func TestImagesHaveExactTagsAndNothingIsSecret(t *testing.T) {
	secret := regexp.MustCompile(`(?i)(password|passwd|secret_key|token|api_?key)`)
	stages := stages(t)
	for name, s := range project(t).Services {
		image := s.Image
		if s.Build != nil {
			if image = stages[s.Build.Target]; image == "${BASE}" {
				base := s.Build.Args["BASE"]
				if base == nil {
					t.Fatalf("%s: no BASE", name)
				}
				image = *base
			}
		}
		if image != "scratch" && !exact.MatchString(image) {
			t.Errorf("%s: image %q has no exact tag", name, image)
		}
		for key := range s.Environment {
			if secret.MatchString(key) {
				t.Errorf("%s: %s looks like a secret", name, key)
			}
		}
	}
}

// stages are the stages of the Dockerfile, each with what it stands on.
func stages(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+) AS (\S+)$`).FindAllSubmatch(data, -1) {
		out[string(m[2])] = string(m[1])
	}
	if len(out) != 3 || !exact.MatchString(out["build"]) {
		t.Errorf("the Dockerfile has the stages %v", out)
	}
	return out
}

// Every service is asked for its health, and whoever needs it waits for that.
func TestEveryServiceHasAHealthCheckThatItsImageCanRun(t *testing.T) {
	p := project(t)
	stages := stages(t)
	// Programs of the images that are not built here.
	holds := map[string][]string{"prometheus": {"wget"}, "grafana": {"wget"}, "valkey": {"valkey-cli"}}
	for name, s := range p.Services {
		for other, d := range s.DependsOn {
			if d.Condition != types.ServiceConditionHealthy {
				t.Errorf("%s does not wait until %s is healthy", name, other)
			}
		}
		if s.HealthCheck == nil || len(s.HealthCheck.Test) < 2 || s.HealthCheck.Test[0] != "CMD" || s.HealthCheck.Retries == nil {
			t.Errorf("%s has no health check", name)
			continue
		}
		program := s.HealthCheck.Test[1]
		if s.Build == nil {
			if !slices.Contains(holds[name], program) {
				t.Errorf("%s: its image is not known to hold %s", name, program)
			}
			continue
		}
		if _, ok := stages[s.Build.Target]; !ok || program != "/plimsoll-demo" {
			t.Errorf("%s: stage %q, health check %q", name, s.Build.Target, s.HealthCheck.Test)
			continue
		}
		// Nothing listens here; what matters is that the arguments are taken.
		over, cancel := context.WithCancel(t.Context())
		cancel()
		var stderr strings.Builder
		if status := run(over, s.HealthCheck.Test[2:], &stderr, &stderr); status == exitUsage {
			t.Errorf("%s: health check %q: %s", name, s.HealthCheck.Test, stderr.String())
		}
	}
}

// The arguments of the own program are parsed by the program itself.
func TestTheProgramTakesTheArgumentsThatItIsGiven(t *testing.T) {
	p := project(t)
	if _, err := parse(p.Services["client"].Command, os.Stderr); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	args := slices.Clone([]string(p.Services["orders"].Command))
	args[slices.Index(args, "-listen")+1] = "127.0.0.1:0"
	var stderr strings.Builder
	if status := run(over, args, &stderr, &stderr); status == exitUsage {
		t.Errorf("%q: %s", args, stderr.String())
	}
}

func TestServicesSpeakToPortsThatTheOthersListenOn(t *testing.T) {
	p := project(t)
	listens := map[string][]string{
		"orders": {"8080"}, "collector": {"4317", "9464", "13133"}, "jaeger": {"4317", "16686"}, "prometheus": {"9090"}, "valkey": {"6379"}, "grafana": {"3000"}, "client": {"8484"},
	}
	for name := range listens {
		if _, ok := p.Services[name]; !ok {
			t.Fatalf("there is no service %s", name)
		}
	}
	address := regexp.MustCompile(`\b(orders|client|collector|jaeger|prometheus|valkey|grafana):(\d+)\b`)
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
		if s.HealthCheck != nil {
			own := regexp.MustCompile(`\b127\.0\.0\.1:`).ReplaceAllString(strings.Join(s.HealthCheck.Test, " "), name+":")
			check(name+"'s health check", own)
		}
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
	if found < 13 {
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
