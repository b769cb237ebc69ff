# The tools that go.mod doesn't pin are pinned here. golangci-lint includes
# staticcheck (honnef.co/go/tools v0.8.2), so that is not built a second time.
GOLANGCI_LINT_VERSION := v2.15.0

# Each module is built by its own go.mod (docs/adr/0004): go.work is for editors.
export GOWORK := off
# Programs that are fetched for this checkout alone.
export PATH := $(CURDIR)/bin:$(PATH)

GO ?= go
FUZZTIME ?= 30s
SOAK ?= 10m
RUNS ?= 10

# The modules beside the root's; they link what the root must not.
modules := $(patsubst %/go.mod,%,$(wildcard internal/proof/go.mod internal/compat/go.mod examples/*/go.mod bench/go.mod))
# The race detector needs a C compiler.
race := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
golangci := bin/golangci-lint-$(GOLANGCI_LINT_VERSION)

.NOTPARALLEL: # go uses all cores by itself
.PHONY: help test test-tools test-root lint lint-root lint-tool generate generate-screenshot demo demo-web bench conformance soak memory shuffle vuln fuzz \
	$(modules:%=test/%) $(modules:%=lint/%)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 22

test: test-tools test-root $(modules:%=test/%) ## run every test; one line per part that this machine can't run

test-tools:
	@.ci/missing-tools

test-root: ## run the tests of the root module alone, under the race detector
	@$(GO) test $(race) ./...

# Without the race detector: it would rebuild the collector and the Prometheus engine.
$(modules:%=test/%): test/%:
	@$(GO) test -C $* ./...

lint: lint-root $(modules:%=lint/%) ## check format, go vet and golangci-lint in every module

# Each checker runs, whatever the one before found.
lint-root: $(golangci)
	@status=0; \
	unformatted=$$(git ls-files -co --exclude-standard '*.go' | while read -r f; do [ ! -f "$$f" ] || gofmt -l "$$f"; done); \
	[ -z "$$unformatted" ] || { echo "gofmt would change:"; echo "$$unformatted"; status=1; }; \
	$(GO) vet ./... || status=1; \
	$(golangci) run ./... || status=1; \
	exit $$status

$(modules:%=lint/%): lint/%: $(golangci)
	@status=0; cd $*; \
	$(GO) vet ./... || status=1; \
	"$(CURDIR)/$(golangci)" run --config "$(CURDIR)/.golangci.yml" ./... || status=1; \
	exit $$status

lint-tool: $(golangci) # what lint needs beside Go

# Its log is shown only where the build fails.
$(golangci):
	@mkdir -p bin
	@echo "building golangci-lint $(GOLANGCI_LINT_VERSION), once"
	@GOBIN="$(CURDIR)/bin" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION) >bin/golangci-lint.log 2>&1 \
		|| { cat bin/golangci-lint.log; exit 1; }
	@mv bin/golangci-lint $@

generate: ## write the generated files anew
	@$(GO) generate ./...
	@for m in $(modules); do ! grep -rqs --include='*.go' '^//go:generate' $$m || $(GO) generate -C $$m ./... || exit 1; done

generate-screenshot: ## take the README's picture of the live dashboards anew (needs Chromium)
	@$(GO) run -C examples/otel-collector ./internal/screenshot -o "$(CURDIR)/docs/images/budget-dashboard.png"

# Without the Grafana SDK, which the demonstration does not need and a first build would wait for.
demo: ## a retry budget drains and recovers, in the terminal
	@echo "building; half a minute the first time"
	@GOFLAGS="$$GOFLAGS -tags=nodashboards" $(GO) run ./cmd/plimsoll demo

demo-web: ## the same with a collector and live dashboards in the browser
	@$(GO) run -C examples/otel-collector .

bench: ## compare with peers, side by side
	@$(GO) run -C bench ./compare

conformance: ## run Go's own net/http client tests over the pool
	@$(GO) run ./internal/conformance

soak: ## throw every fault at a client for SOAK (10m), and print figures
	@$(GO) test $(race) -count=1 -timeout 0 -run '^TestSoak$$' -v ./internal/chaos -soak=$(SOAK)

memory: ## make a million calls in memory and 200,000 over loopback, and see that they leave nothing behind
	@$(GO) test -count=1 -timeout 0 -run 'LeaveNothingBehind$$' -v ./internal/chaos -long

shuffle: ## run the root module's tests RUNS times in random order
	@$(GO) test $(race) -count=$(RUNS) -shuffle=on -timeout 0 ./...

vuln: ## ask the Go vulnerability database about what the root module links
	@$(GO) test -count=1 -run '^TestNoKnownVulnerabilityIsLinked$$' -v ./internal/chaos -vuln

fuzz: ## run every fuzz test of the root module for FUZZTIME
	@for dir in $$($(GO) list -f '{{.Dir}}' ./...); do \
		for f in $$(cat "$$dir"/*_test.go 2>/dev/null | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
			$(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$dir" || exit 1; \
		done; \
	done
