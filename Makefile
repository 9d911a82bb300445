# Two commands do everything on a machine that has Go and make:
#   make demo   builds pawl and lets it judge six changes to the example kernels
#   make test   lint, unit, script and system tests that every change must pass
# What else they need (a C compiler, git), they install.

GO            ?= go
BIN           := bin/pawl
FUZZTIME      ?= 30s
SOAK          ?= .
SOAK_SAMPLES  ?= 1000000
SOAK_ROWS     ?= 1000
LINT          := bin/lint
# Tests draw less with it, and leave out what quicker ones test too. make long runs without it.
SHORT         ?= -short

# The commit is stamped below; Go's own stamping fails in a tree that belongs
# to another user.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

# What is shipped is built without cgo. Tests are too, so that all packages are compiled once for both; only
# the race detector needs it.
export CGO_ENABLED := 0

COMMIT  = $(shell git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null)
LDFLAGS = -s -w \
	$(if $(VERSION),-X pawl/internal/cli.version=$(VERSION)) \
	$(if $(COMMIT),-X pawl/internal/cli.commit=$(COMMIT))

# step announces a command and says how long it took.
step = @printf '== %s\n' '$(1)'; began=$$(date +%s); { $(2); } && printf '== %s: ok, %d s\n' '$(1)' $$(($$(date +%s) - began))

.PHONY: all build dist dist-check demo test long setup lint fmt unit script system browser pool forge selftest soak bench fuzz mutate gpu-bundle helpers clean help
# Prerequisites are made in their order.
.NOTPARALLEL:

all: build

build: ## build bin/pawl, the binary that is shipped
	@$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/pawl

# Nothing of this machine, folder or day goes in: two builds of a commit are the same bytes.
# RELEASES is the address that the files will have: pawl ci init then knows where to install from.
EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)
dist: export GOAMD64 := v1
dist: export GOARM64 := v8.0
dist: ## a release for Linux on amd64 and arm64: binaries, archives, .deb, .rpm, SBOM, checksums; VERSION=1.2.3
	@rm -rf dist && for arch in amd64 arm64; do \
		GOOS=linux GOARCH=$$arch $(GO) build -trimpath -ldflags "$(strip $(LDFLAGS)) $(if $(RELEASES),-X pawl/internal/cli.releases=$(RELEASES)/pawl-linux-$$arch)" \
			-o dist/pawl-linux-$$arch ./cmd/pawl || exit; \
	done; $(GO) run -C tools/dist -trimpath . -folder '$(CURDIR)/dist' -source '$(CURDIR)' -epoch $(EPOCH) && cat dist/SHA256SUMS

dist-check: ## two builds of HEAD in two folders give the same release; dpkg, rpm, mandoc, shells and SPDX's own validator read it
	@tools/setup git dpkg-deb rpm cpio mandoc bash zsh fish python3
	$(call step,dist-check,GO='$(GO)' tools/dist/check)

demo: ## build pawl and let it judge six changes to the example kernels
	@tools/setup cc git
	$(call step,build,$(MAKE) --no-print-directory build)
	@rm -rf build/demo && $(BIN) demo --dir build/demo
	@printf '%s\n' '' 'What to do next:' \
		'  cd examples && ../bin/pawl bench         the example kernels, measured' \
		'  bin/pawl calibrate                       how often a check on this machine errs; every check cites it' \
		'  bin/pawl doctor                          what this machine has, and how to get the rest' \
		'  docs/tutorial.md                         from nothing to your own kernel, measured and guarded'

# unit keeps the processors busy, script and system often wait: beside each other they take little longer than one.
test: setup lint ## what every change must pass: short tests; unit runs beside script and system
	@MAKE='$(MAKE)' exec tools/lanes unit 'script browser system'

long: ## the same with all draws and all cases: before a release, and when the science of a room changes
	@$(MAKE) --no-print-directory test SHORT=

setup: ## install what the tests need and this machine lacks; Slurm, sshd and PostgreSQL where that starts no daemon
	@tools/setup cc c++ git ninja ccache python3 pip3
	@tools/cuda >/dev/null
	@tools/engines

lint: $(LINT) ## staticcheck, and the rules of the house in tools/lint/rules.go: floors, errors, comments, format
	$(call step,lint,$(GO) vet -trimpath -vettool='$(LINT)' -whole ./... && $(GO) test -C tools/lint -vet=off -trimpath .)

# Go knows whether it has to be built again.
.PHONY: $(LINT)
$(LINT):
	$(call step,build lint,$(GO) build -C tools/lint -trimpath -o '$(CURDIR)/$(LINT)' .)

fmt: $(LINT) ## format the sources as lint wants them
	@$(LINT) fmt

# Packages whose code or tests start goroutines or lock something are tested with the race detector, all
# others without it. Nor is it on for ALONE, whose tests are long and whose code starts none (make looks; sync.Once is let through), for
# simulations, which are arithmetic in one goroutine, and in short tests for most of FEW. SHARED names the tests in
# which lab runs check and fuzz on several goroutines, and those of FEW that are about goroutines: they have it.
GOROUTINES := ^[[:space:]]*go (func|[a-z])|\.Go\(|"sync(/atomic)?"
ALONE := calibrate check claim fuzz report verify
FEW := $(if $(SHORT),build ratchet space search/score store dash)
SIMULATIONS := ^Test(FamilyLevel|RulesOnRealRounds|OperatingCurveOnRealRounds|UnpairedFalseAlarms|PairMeansOnRecordedBlocks|CoverageOnRealRounds|ClustersFalseAlarms|StoppingOnWidth|BootstrapMedianCoverage|MedianCICoverage|ClosedForm)$$
SHARED := ^(TestPoolShares|TestExamineAll$(if $(SHORT),|TestBuildersShareACache|TestDoneHoldsNoCompilerBack|TestOrderDuplicatesAndFailures|TestKilledCompiler|TestConcurrentUpdates|TestConcurrentUse$$|TestReplayStopsWhenItIsToldTo|(TestManyWriters|TestMigrate|TestKernelPage|TestAnswersAreKept|TestFollowsLiveRun|TestSlowVisitor|TestConnectionsAreBounded)$$))

# Lint has vetted them; without paths in them, builds of another clone serve this one; without tables for
# debuggers, linking takes half as long.
TEST = $(GO) test $(SHORT) -vet=off -trimpath -ldflags='-s -w'
RACE = GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(TEST) -race

# What waits longest is first.
unit: ## the tests beside the code, with the race detector where there are goroutines
	@! grep -nE '^\s*go (func|[a-z])|\.Go\(func|sync\.[^O]' $$(ls $(ALONE:%=internal/%/*.go) | grep -v _test) || { echo 'these packages run without the race detector: see ALONE in the Makefile'; false; }
	$(call step,unit,raced=$$(grep -rlE --include='*.go' '$(GOROUTINES)' internal cmd tools/mutate examples | xargs -n1 dirname | sort -u | sed 's|^|pawl/|' | grep -vxF "$$(printf 'pawl/internal/%s\n' $(ALONE))") && \
		packages=$$($(GO) list ./internal/worker/... ./... | grep -v '^pawl/test/' | grep -vxF "$$(printf 'pawl/internal/%s\n' $(FEW) none)") && \
		export PAWL_PYTHON="$$(tools/python)" PAWL_TOOLKITS="$$(tools/cuda)" && \
		$(RACE) -timeout 8m -skip '$(SIMULATIONS)' $$(printf '%s\n' "$$packages" | grep -xF "$$raced") && \
		$(RACE) -run '$(SHARED)' ./internal/check ./internal/fuzz $(FEW:%=./internal/%) && \
		$(if $(FEW),$(TEST) -skip '$(SHARED)' $(FEW:%=./internal/%) &&) \
		tools/in-memory $(TEST) -timeout 8m -skip '$(SHARED)' $$(printf '%s\n' "$$packages" | grep -vxF "$$raced") && \
		$(TEST) -run '$(SIMULATIONS)' ./internal/judge ./internal/stat ./internal/compare && \
		$(GO) test -C tools/dist -vet=off -trimpath .)

# So many tests of the shipped binary run beside each other: each starts many processes.
PARALLEL = $(shell n=$${GOMAXPROCS:-$$(nproc)}; [ $$n -lt 4 ] && echo $$n || echo 4)

script: build ## scripts that drive the shipped binary
	$(call step,script,PAWL_PYTHON="$$(tools/python)" PAWL_BIN='$(CURDIR)/$(BIN)' $(TEST) -count=1 -timeout 10m -parallel $(PARALLEL) ./test/script/...)

system: build ## faults, sandbox, workers and pools of the shipped binary
	$(call step,system,PAWL_PYTHON="$$(tools/python)" PAWL_BIN='$(CURDIR)/$(BIN)' $(TEST) -count=1 -p 1 -timeout 25m -parallel $(PARALLEL) ./test/system/... ./test/conformance/... ./test/soak/... ./test/pool/... && \
		PAWL_TOOLKITS="$$(tools/cuda)" $(TEST) -timeout 10m ./test/plants)

pool: build ## pools of workers over a real Slurm and sshd: a part of system
	@tools/engines
	$(call step,pool,PAWL_BIN='$(CURDIR)/$(BIN)' $(TEST) -count=1 -timeout 10m -parallel $(PARALLEL) ./test/pool)

selftest: SHORT =
selftest: build ## all of the corpus of cheats and honest kernels, of which the tests leave some out
	$(call step,selftest,PAWL_SELFTEST=all PAWL_PYTHON="$$(tools/python)" PAWL_BIN='$(CURDIR)/$(BIN)' $(TEST) -count=1 -timeout 30m -v -run '^TestSelftest$$' ./test/system)

browser: build ## the dashboard in a real browser, wide and narrow, with axe-core; installs Chromium first
	$(call step,browser,axe="$$(tools/browser)" && PAWL_AXE="$$axe" PAWL_BIN='$(CURDIR)/$(BIN)' $(GO) test -C test/browser -vet=off -trimpath -count=1 -timeout 10m $(if $(PICTURES),-pictures '$(CURDIR)/docs/pictures') .)

forge: build ## the workflows of pawl ci init under actionlint, zizmor, act, gitlab-ci-local and a real Gitea; installs them first
	@tools/setup cc git unzip zip jq python3 npm rsync shellcheck
	$(call step,forge,PAWL_FORGE="$$(GO='$(GO)' tools/forge)" PAWL_GITEA="$$(GO='$(GO)' tools/gitea)" PAWL_BIN='$(CURDIR)/$(BIN)' $(TEST) -count=1 -timeout 30m ./test/forge)

soak: build ## the whole demo, and cells at work for hours: what pawl holds stays flat, and nobody honest is accused
	$(if $(filter .,$(SOAK)),$(call step,demo,PAWL_SLOW=1 PAWL_BIN='$(CURDIR)/$(BIN)' $(GO) test -count=1 -timeout 10m -run 'Scripts/demo$$' ./test/script))
	$(call step,soak,PAWL_PYTHON="$${PAWL_PYTHON:-$$(tools/python)}" PAWL_BIN='$(CURDIR)/$(BIN)' PAWL_SOAK_SAMPLES='$(SOAK_SAMPLES)' PAWL_SOAK_ROWS='$(SOAK_ROWS)' \
		$(GO) test -count=1 -timeout 24h -v -run '$(SOAK)' ./test/soak)

bench: build ## benchmarks, of the rooms and of the shipped binary, beside rivals
	@rm -rf build/serve
	@tools/setup cc ninja git python3
	@[ -x build/scipy/bin/python ] || { python3 -m venv build/scipy && build/scipy/bin/pip install -q scipy; } || echo 'bench: without SciPy'
	@[ -x build/tuners/bin/python ] || { python3 -m venv build/tuners && build/tuners/bin/pip install -q kernel_tuner optuna; } || echo 'bench: without Kernel Tuner and Optuna'
	@[ -x build/changepoints/bin/python ] || { python3 -m venv build/changepoints && build/changepoints/bin/pip install -q apache-otava ruptures; } || echo 'bench: without apache-otava and ruptures'
	@PAWL_CHANGEPOINTS='$(CURDIR)/build/changepoints/bin/python' PAWL_SCIPY='$(CURDIR)/build/scipy/bin/python' PAWL_TUNERS='$(CURDIR)/build/tuners/bin/python' PAWL_BIN='$(CURDIR)/$(BIN)' PAWL_BENCH_SERVE='$(CURDIR)/build/serve' $(GO) test -run '^$$' -bench . -benchmem ./internal/... ./test/bench/... ./test/pool/...
	@axe="$$(tools/browser)" && PAWL_AXE="$$axe" PAWL_BIN='$(CURDIR)/$(BIN)' PAWL_BENCH_SERVE='$(CURDIR)/build/serve' $(GO) test -C test/browser -run '^$$' -bench . -benchtime 10x .

fuzz: ## every fuzz target, FUZZTIME each
	@set -e; for package in $$(grep -rl --include='*_test.go' '^func Fuzz' internal | xargs -n1 dirname | sort -u); do \
		for target in $$($(GO) test -list '^Fuzz' ./$$package | grep '^Fuzz'); do \
			echo "== fuzz $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$package; \
		done; \
	done

SEED  ?= 1
COUNT ?= 150
mutate: ## mutants of PACKAGE that its tests (and those of ALSO) do not notice; SEED=1 COUNT=150
	@[ -n '$(PACKAGE)' ] || { echo 'mutate: name a package: make mutate PACKAGE=./internal/judge' >&2; exit 2; }
	@mkdir -p build && PAWL_PYTHON="$$(tools/python)" PAWL_TOOLKITS="$$(tools/cuda)" $(GO) run ./tools/mutate -seed '$(SEED)' -count '$(COUNT)' -also '$(ALSO)' \
		-results 'build/mutants-$(subst /,-,$(patsubst ./%,%,$(PACKAGE)))-$(SEED).jsonl' '$(PACKAGE)'

gpu-bundle: build ## gpu-bundle.sh, one file with all that a GPU host needs to run the GPU tests and figures
	@tools/setup python3
	@GO='$(GO)' tools/gpu-bundle gpu-bundle.sh

helpers: ## compile the cell's own CUDA kernels; needs nvcc
	@internal/worker/cell/kernels/generate.sh

clean: ## remove what was built here
	@rm -rf bin dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14
