# Ninepocket. `make` alone lists the targets; `make demo` and `make test` need nothing but Go and make.

SHELL         := bash
.SHELLFLAGS   := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# Of make module the PATH is where the module is published; programs are looked for in the usual places then.
ifeq ($(origin PATH),command line)
MODULE        := $(PATH)
override PATH := /usr/local/bin:/usr/bin:/bin
endif

GO           ?= go
TOOL         := $(GO) tool -modfile=tools/go.mod
DATA         ?= ../shared/data
VERSION      := $(patsubst v%,%,$(shell git describe --tags --always --dirty 2>/dev/null || echo dev))
COMMIT       := $(shell git log -1 --format=%H 2>/dev/null)
COMMITTED    := $(shell git log -1 --format=%cs 2>/dev/null)

PKG          ?= ./...
RUN          ?= .
TEST_TIMEOUT ?= 15m
FUZZ         ?= .
BENCH        ?= .
BENCHTIME    ?= 1s
BENCHCOUNT   ?= 1
DEMO_FLAGS   ?=
PREFIX       ?= /usr/local
DESTDIR      ?=
BINARY       ?= bin/ninepocket
BENCH_FLAGS  ?=
LIMIT        ?=
PLATFORMS    ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
SIGN_KEY     ?=
MEASURE      ?=

# A process with the race detector sleeps a second before it ends, and tests start hundreds of them.
# This value shortens the sleep.
export GORACE ?= atexit_sleep_ms=20

##@ Run it

.PHONY: help
help: ## list the targets
	@echo 'usage: make TARGET [NAME=VALUE…]'
	@awk -F ':.*## ' 'function show(name, text, words, n, i, line) { \
	    n = split(text, words, " "); line = sprintf("  %-15s", name); \
	    for (i = 1; i <= n; i++) { \
	      if (length(line) + length(words[i]) > 78) { print line; line = sprintf("  %-15s", "") } \
	      line = line " " words[i] } \
	    print line } \
	  /^##@ / { group = substr($$0, 5); if (!(group in known)) { known[group]; order[++groups] = group } } \
	  /^[a-z-]+:.*## / { n = ++count[group]; name[group, n] = $$1; text[group, n] = $$2 } \
	  END { for (g = 1; g <= groups; g++) { group = order[g]; print "\n" group ":"; \
	    for (k = 1; k <= count[group]; k++) show(name[group, k], text[group, k]) } }' \
	$(firstword $(MAKEFILE_LIST))
.PHONY: build
build: ## build bin/ninepocket, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X main.linked=$(VERSION) -X main.commit=$(COMMIT) -X main.committed=$(COMMITTED)' -o bin/ninepocket ./cmd/ninepocket

.PHONY: demo
demo: build ## build and serve a synthetic catalog with ready keys (DEMO_FLAGS='--listen 127.0.0.1:8080')
	@exec bin/ninepocket demo $(DEMO_FLAGS)

.PHONY: fleet-demo
fleet-demo: build ## three servers behind a proxy with Redis, PostgreSQL and an S3-compatible store, as plain processes (DEMO_FLAGS='--listen 127.0.0.1:8080')
	$(GO) build -trimpath -buildvcs=false -o bin/fleet-demo ./deploy/fleet/demo
	@PATH="$$PWD/bin:$$PATH"; command -v versitygw >/dev/null || $(MAKE) bin/versitygw; exec bin/fleet-demo $(DEMO_FLAGS)

# The S3-compatible store of the demo and the torture, pinned by a module of its own.
bin/versitygw: tools/s3store/go.mod
	$(GO) -C tools/s3store build -trimpath -o '$(CURDIR)/$@' github.com/versity/versitygw/cmd/versitygw

##@ Test

.PHONY: test
test: ## run every test in random order, with the race detector where a C compiler is (PKG=./engine RUN=TestView)
	@GO='$(GO)' DATA='$(DATA)' TEST_TIMEOUT='$(TEST_TIMEOUT)' tools/test.sh '$(PKG)' '$(RUN)'

.PHONY: browser
browser: ## drive the public pages in Chromium, with an accessibility checker (needs Node and Chromium)
	@GO='$(GO)' site/browser/run.sh

.PHONY: errands
errands: ## do every errand of a visitor at three widths, with pointer, keys and without script, on the demo and the real catalog (needs Node and Chromium; 30 min)
	@GO='$(GO)' site/browser/run.sh errands

.PHONY: pages-shots
pages-shots: ## take pictures of every kind of page at three widths, light and dark, into SHOTS=DIR (needs Node and Chromium)
	@GO='$(GO)' SHOTS='$(abspath $(or $(SHOTS),shots))' site/browser/run.sh shots.mjs

.PHONY: lighthouse
lighthouse: ## hold every kind of page against the budgets of Lighthouse, as a phone sees it (needs Node and Chromium)
	@GO='$(GO)' site/browser/run.sh lighthouse

.PHONY: race
race: ## run every test with the race detector, and fail where it cannot be built
	CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout $(TEST_TIMEOUT) -run '$(RUN)' $(PKG)

.PHONY: alloc
alloc: ## run the allocation tests (named …Alloc…), which the race detector would falsify
	$(GO) test -run Alloc -count=1 -timeout $(TEST_TIMEOUT) $(PKG)

.PHONY: mcp-conformance
mcp-conformance: ## run the official MCP conformance suites, the Inspector's lint and three clients (needs Node)
	@GO='$(GO)' mcp/conformance/run.sh

.PHONY: whole
whole: ## do in full the sweeps that make test does a sample of, without the race detector, and clients-check, charts, sim and generators in full (12 min)
	TEST_DEPTH=whole $(GO) test -count=1 -timeout 20m $$(grep -rl --include='*_test.go' 'testsweep\.' . | xargs dirname | sort -u | grep -v -e '^./cmd/' -e '^./clients/')
	TEST_DEPTH=whole $(GO) test -count=1 -timeout 20m -run '^(TestRealBadDays|TestAPIErrors|TestFleetFaults|TestFloods)$$' ./cmd/ninepocket # its sweeps
	TEST_DEPTH=whole $(MAKE) clients-check
	@TEST_DEPTH=whole GO='$(GO)' site/browser/run.sh site.test.mjs
	@$(MAKE) sim
	@$(MAKE) generators

##@ Test for long

.PHONY: torture
torture: ## kill servers, publishers and the engines of a fleet at random moments and swap snapshots under load, ROUNDS=1000 times each; hold 5,000 slow clients and 12,000 hostile ones; restart and upgrade under 100,000 requests; let every fault of the table come upon the real program; simulate faults of disk and clock, and plant mistakes; flip every bit (an hour)
	NINEPOCKET_TORTURE=$(or $(ROUNDS),1000) $(GO) test -run '^(TestCrash|TestKilled|TestFleetKilled|TestFleetFaults|TestSwapTorture|TestSlowClients|TestHandover|TestFloods|TestDescriptors|TestAPIErrors|TestMounted|TestDamaged|TestBegun|TestTenMinutes$$|TestYear$$|TestContinuity$$|TestUniverse|TestPlanted|TestCheckpointBits)' -count=1 -v -timeout 120m ./access ./cmd/ninepocket ./operate ./server

.PHONY: torture-fleet
torture-fleet: ## kill and pause each process of a fleet in turn, make each server's way to its engines a black hole, refuse and slow, restore PostgreSQL and revoke keys, ROUNDS=1 times under load, and hold what clients saw against the bills; hold 100 publications on three servers to 250 ms (5 min)
	@PATH="$$PWD/bin:$$PATH"; command -v versitygw >/dev/null || $(MAKE) bin/versitygw; set -x; \
	NINEPOCKET_TORTURE=$(or $(ROUNDS),1) $(GO) test -run '^TestTortureFleet$$' -count=1 -v -timeout $$((20 + 5 * $(or $(ROUNDS),1)))m ./deploy/fleet
	NINEPOCKET_TORTURE=1 $(GO) test -run '^TestPublicationsTogether$$' -count=1 -v -timeout 20m ./cmd/ninepocket

.PHONY: sim
sim: ## simulate a fleet over the real scripts from SEEDS=1000 seeds, and look for each planted mistake (2 min)
	NINEPOCKET_SIM=$(or $(SEEDS),1000) $(GO) test -run '^(TestSimulatedFleet|TestPlantedFaults)$$' -count=1 -v -timeout 10m ./fleet/limiter

.PHONY: hunt
hunt: ## search for legal requests that cost more than 10 ms of CPU (ROUNDS=40 of new ones and as many of changed ones, OPERATION=search; 5 to 13 min)
	NINEPOCKET_HUNT=$(or $(ROUNDS),40) NINEPOCKET_OPERATION='$(OPERATION)' $(GO) test -tags hunt -run '^TestHunt$$' -count=1 -v -timeout 60m ./bench

##@ Test for long

.PHONY: fuzz
fuzz: ## run every fuzz target's seeds, then fuzz each for FUZZTIME (10s; FUZZ=Cursor picks targets)
	@GO='$(GO)' FUZZTIME='$(or $(FUZZTIME),10s)' FUZZ='$(FUZZ)' tools/fuzz.sh

.PHONY: fuzz-seeds
fuzz-seeds: ## run every fuzz target's seeds and kept findings only
	@GO='$(GO)' FUZZTIME=0 FUZZ='$(FUZZ)' tools/fuzz.sh

.PHONY: fuzz-long
fuzz-long: ## fuzz each target a million times (FUZZTIME=1h for an hour each)
	@GO='$(GO)' FUZZTIME='$(or $(FUZZTIME),1000000x)' FUZZ='$(FUZZ)' tools/fuzz.sh

##@ Measure

.PHONY: bench
bench: ## run the benchmarks (BENCH=Card BENCHTIME=1s BENCHCOUNT=10)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(BENCHCOUNT) -timeout 60m $(PKG)

.PHONY: bench-check
bench-check: ## compare ratios and allocations with bench/budgets.json; never wall-clock
	$(GO) run ./bench/check

bin/drive: FORCE
	$(GO) build -trimpath -buildvcs=false -o $@ ./bench/drive

.PHONY: bench-loop
bench-loop: build bin/drive ## drive servers over loopback, each operation next to bare ones (BENCH_FLAGS='--operation get_card'; 8 min)
	@bin/drive $(BENCH_FLAGS)

.PHONY: bench-swap
bench-swap: build bin/drive ## publish 50 times under a fixed load and compare the p99 (BENCH_FLAGS='--swaps 10'; 3 min)
	@bin/drive --swap $(BENCH_FLAGS)

.PHONY: bench-table
bench-table: build bin/drive ## measure every row of the budget table into docs/dev/BENCHMARKS.md (on a quiet machine; 20 min)
	$(GO) run ./bench/figures budgets --data '$(DATA)' $(BENCH_FLAGS)

.PHONY: bench-plot
bench-plot: build bin/drive ## measure growth up to 1,000,000 cards into docs/dev/BENCHMARKS.md and docs/dev/scaling.svg (16 GB of memory; 6 min)
	$(GO) run ./bench/figures scale $(BENCH_FLAGS)

.PHONY: bench-compare
bench-compare: build bin/drive ## measure PostgreSQL, SQLite and search libraries next to ours into docs/dev/BENCHMARKS.md (6 min)
	$(GO) run ./bench/figures compare --data '$(DATA)' $(BENCH_FLAGS)

##@ Look over the code

.PHONY: lint
lint: ## vet, format and lint the Go code with the pinned tools (the first run builds them, a minute or more)
	$(TOOL) golangci-lint run $(PKG)
	$(GO) vet -tags hunt ./index/... ./bench
	$(GO) vet -tags man ./cmd/ninepocket
	@if [ '$(PKG)' = ./... ]; then (set -x; $(GO) -C tools tool golangci-lint run ./measure ./prose); fi
	@if [ '$(PKG)' = ./... ]; then tool="$$($(GO) tool -modfile=tools/go.mod -n golangci-lint)"; (set -x; cd clients/go && "$$tool" run ./...); fi
	@if [ '$(PKG)' = ./... ]; then (set -x; $(GO) -C tools run ./measure -root .. names); fi

.PHONY: measure
measure: ## count the product's lines of code (LIMIT=40000 fails beyond) and the air in its function bodies (MEASURE='-v bench')
	@$(GO) -C tools run ./measure -root .. air $(MEASURE)
	@echo
	@$(GO) -C tools run ./measure -root .. lines $(if $(LIMIT),-limit $(LIMIT))

.PHONY: replay
replay: ## ask BASE=REV's program and this one the same 4,000 requests, and show where answers differ (2 min; EXPECTED='regexp')
	@GO='$(GO)' tools/replay.sh '$(BASE)' '$(EXPECTED)'

.PHONY: quick
quick: ## lint and run the short tests of the packages that changed since MAIN=main, within a minute
	@GO='$(GO)' TOOL='$(TOOL)' tools/quick.sh $(or $(MAIN),main)

##@ Generate

.PHONY: generate
generate: ## compile the templates of the pages, site/*.qtpl, to Go; write the clients' types, the version from the changelog, and docs/CONFIGURATION.md, docs/METRICS.md and the index of decisions
	$(GO) test ./internal/settings ./node -run '^(TestConfigurationPage|TestMetricsPage)$$' -update
	$(TOOL) qtc -dir=site -skipLineComments
	tools/release/version.sh
	UPDATE=1 $(GO) test -count=1 -run '^TestTexts$$' ./operate/support
	$(GO) run ./clients/typegen
	$(GO) -C tools run ./decisions -root ..
	@clients/check-languages.sh types

##@ Clients and documents

.PHONY: clients
clients: ## pack the clients of Go, Python and TypeScript into dist/clients, without a network
	@GO='$(GO)' clients/pack.sh dist/clients

.PHONY: clients-check
clients-check: ## check the clients of all languages: a sample of the table of faults, mirrors, programs, the pages' installation (2 min; needs Node and Python)
	@GO='$(GO)' clients/check.sh

##@ Look over the code

.PHONY: fmt
fmt: ## format the Go code as the linter wants it
	$(TOOL) golangci-lint fmt

.PHONY: deadcode
deadcode: ## list functions that neither a command nor a test reaches
	$(TOOL) deadcode -test ./...

##@ Clients and documents

.PHONY: openapi-lint
openapi-lint: ## lint the OpenAPI documents with two linters, compile types of TypeScript, and call every operation with clients in Go
	@tools/goclient/run.sh
	@tools/node/run.sh

.PHONY: duckdb
duckdb: ## read the bulk files of a demo with DuckDB, and hold the guide's query against the API (needs Node)
	@GO='$(GO)' tools/duckdb/run.sh

.PHONY: generators
generators: ## make clients from the OpenAPI documents with four more generators, and call every operation with each (1 min)
	@GO='$(GO)' tools/generators/run.sh

##@ Test

.PHONY: data
data: ## say where the real catalogs are expected and what is skipped without them
	@GO='$(GO)' DATA='$(DATA)' tools/data.sh

##@ Install and release

.PHONY: man
man: ## write the manual pages to dist/man
	rm -rf dist/man
	$(GO) run -tags man -ldflags '-X main.linked=$(VERSION)' ./cmd/ninepocket dist/man

.PHONY: completions
completions: ## write the shell completions to dist/completions
	mkdir -p dist/completions
	$(GO) run ./cmd/ninepocket completion bash >dist/completions/ninepocket
	$(GO) run ./cmd/ninepocket completion zsh >dist/completions/_ninepocket
	$(GO) run ./cmd/ninepocket completion fish >dist/completions/ninepocket.fish

.PHONY: install
install: build man completions install-files ## install binary, pages, manual pages, completions, systemd units and examples (PREFIX=/usr/local DESTDIR=)

# A release installs each platform's program in this way, into a folder that becomes an archive.
.PHONY: install-files
install-files:
	install -D -m 0755 '$(BINARY)' '$(DESTDIR)$(PREFIX)/bin/ninepocket'
	install -d '$(DESTDIR)$(PREFIX)/share/man/man1' '$(DESTDIR)$(PREFIX)/lib/systemd/system' '$(DESTDIR)$(PREFIX)/lib/sysusers.d'
	install -m 0644 dist/man/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1'
	install -D -m 0644 dist/completions/ninepocket '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/ninepocket'
	install -D -m 0644 dist/completions/_ninepocket '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ninepocket'
	install -D -m 0644 dist/completions/ninepocket.fish '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ninepocket.fish'
	install -D -m 0644 -t '$(DESTDIR)$(PREFIX)/share/doc/ninepocket' LICENSE THIRD_PARTY_LICENSES $(wildcard docs/*.svg)
	for page in docs/*.md CHANGELOG.md COMPATIBILITY.md SECURITY.md; do \
	  sed -E -e 's,\]\(docs/,](,g' -e 's,\[([^]]*)\]\((\.\./|\.github/|dev/|examples/)[^)]*\),\1,g' "$$page" >'$(DESTDIR)$(PREFIX)/share/doc/ninepocket/'"$${page##*/}"; done
	install -D -m 0644 -t '$(DESTDIR)$(PREFIX)/share/doc/ninepocket/examples' deploy/caddy/Caddyfile deploy/systemd/drop-ins/*.conf deploy/systemd/before-253.conf deploy/systemd/secrets.env deploy/grafana/ninepocket.json
	install -D -m 0644 -t '$(DESTDIR)$(PREFIX)/share/doc/ninepocket/examples/fleet' deploy/fleet/haproxy.cfg deploy/fleet/roles.sql deploy/fleet/sentinel.conf deploy/fleet/users.acl
	sed 's,/usr/local/,$(PREFIX)/,g' deploy/prometheus/alerts.yml >'$(DESTDIR)$(PREFIX)/share/doc/ninepocket/examples/alerts.yml'
	install -m 0644 deploy/logrotate/ninepocket '$(DESTDIR)$(PREFIX)/share/doc/ninepocket/examples/logrotate'
	install -m 0644 deploy/systemd/sysusers.conf '$(DESTDIR)$(PREFIX)/lib/sysusers.d/ninepocket.conf'
	for unit in ninepocket.service ninepocket.socket ninepocket-daily.service ninepocket-daily.timer \
		ninepocket-backup.service ninepocket-backup.timer \
		ninepocket-notify.service ninepocket-notify.timer; do \
	  sed 's,/usr/local/,$(PREFIX)/,g' deploy/systemd/$$unit >'$(DESTDIR)$(PREFIX)/lib/systemd/system/'$$unit; done

.PHONY: release
release: ## build the commit's release into dist/release: archives, packages, clients, checksums (VERSION=0.1.0 SIGN_KEY=FILE PLATFORMS='linux/amd64 …' PARTS='deb python typescript')
	@GO='$(GO)' VERSION='$(VERSION)' SIGN_KEY='$(SIGN_KEY)' PLATFORMS='$(PLATFORMS)' tools/release/build.sh dist/release

.PHONY: release-check
release-check: ## build the release twice, in two folders by two users, and install, upgrade, downgrade and roll it (30 min)
	NINEPOCKET_RELEASE=whole $(GO) test -count=1 -run '^TestBenchmarksAreFresh$$' .
	NINEPOCKET_RELEASE=whole $(GO) test -count=1 -v -timeout 60m ./deploy/release
	NINEPOCKET_RELEASE=whole $(GO) test -count=1 -v -timeout 20m -run '^TestRollingUpgrade$$' ./deploy/fleet

.PHONY: module
module: ## copy the sources to dist/module with the import path PATH=github.com/OWNER/ninepocket, to be published there
	@tools/release/module.sh '$(MODULE)' dist/module

.PHONY: sbom
sbom: build ## write the bill of materials of bin/ninepocket to dist/sbom.cdx.json (CycloneDX)
	$(GO) run ./deploy/bom -binary bin/ninepocket -version '$(VERSION)' -sbom dist/sbom.cdx.json

# The modules of a build differ by platform; the file is that of the one that servers run on.
dist/linux-amd64/ninepocket: FORCE
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 $(GO) build -trimpath -buildvcs=false -o $@ ./cmd/ninepocket
FORCE:

.PHONY: licenses
licenses: dist/linux-amd64/ninepocket ## write THIRD_PARTY_LICENSES again from a build
	$(GO) run ./deploy/bom -binary $< -licenses THIRD_PARTY_LICENSES

.PHONY: licenses-check
licenses-check: dist/linux-amd64/ninepocket ## fail when a licence is not permissive or THIRD_PARTY_LICENSES is not of this build
	$(GO) run ./deploy/bom -binary $< -licenses THIRD_PARTY_LICENSES -check

##@ Look over the code

.PHONY: check
check: lint test browser duckdb alloc fuzz-seeds bench-check licenses-check ## everything that must pass before a commit

##@ Run it

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
