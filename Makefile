# The tasks of this repository. `make` alone lists them. Each sets up what it needs: on a machine with Node.js, npm and make
# nothing has to be installed by hand first. What a task does beyond one command lives in tools/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Packages' programs come first: `node` is then the packaged Node, whatever the machine's own is.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

# Touched after a complete installation; older than the lock file means: install again.
INSTALLED := node_modules/.installed

# More arguments for the task's program, for example: make test-unit ARGS=limits/src/rules
ARGS ?=

.PHONY: help setup build run run-docker release check test test-images test-fast test-unit test-integration soak generate bench bench-control-plane bench-operator bench-account fuzz differential coverage format clean

help: ## List these tasks
	@printf 'Usage: make TASK [ARGS=...]\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-20s %s\n", $$1, $$2}' Makefile
	@printf '\nFirst time here: make run\n'

setup: $(INSTALLED) ## Install the packages (the other tasks do this by themselves)

build: $(INSTALLED) ## Compile everything; the programs are then node_modules/.bin/weir*
	@echo "==> Building"
	@tsc -b tsconfig.build.json
	@node tools/pages/build-pages.ts

run: build ## Build, then run the whole system on this machine; Ctrl-C stops it
	@exec node --enable-source-maps dev/dist/run.js $(ARGS)

run-docker: ## Build the images and run the system in containers, with Envoy and Grafana; needs Docker Compose
	@docker compose up --build $(ARGS)

release: build ## Write layers of images, weir as one file, charts, bill of materials, notes and checksums into dist/
	@node tools/release/release.ts $(ARGS)

check: $(INSTALLED) ## Run every gate: format, lint, types, exports, imports, dependencies, workflows, generated files
	@node tools/gates/check.ts $(ARGS)

test: $(INSTALLED) ## Install what tests need, then run everything: gates, build and all tests but those of make soak
	@node tools/test/test.ts

test-unit: $(INSTALLED) ## Run the unit tests (ARGS=folder to narrow)
	@vitest run --project unit $(ARGS)

test-fast: $(INSTALLED) ## Run the tests that need only Node.js, Redis and memcached (ARGS=folder to narrow)
	@vitest run --project unit --project integration $(ARGS)

test-integration: build ## Run all tests with real servers (ARGS=folder to narrow)
	@node tools/test/test-setup.ts
	@vitest run --project integration --project system --project measured $(ARGS)

test-images: build ## Build the container images twice without a container engine, compare and start them, run compose.yaml in Docker
	@node tools/test/test-setup.ts --images
	@node tools/test/test-setup.ts
	@vitest run --project soak e2e/src/images $(ARGS)

soak: build ## Run what takes minutes by nature: memory under load, limits over minutes, long fuzzing, long outages, other versions of Kubernetes
	@node tools/test/test-setup.ts
	@node tools/test/test-setup.ts --images
	@node tools/test/test-setup.ts --soak
	@vitest run --project soak $(ARGS)

coverage: $(INSTALLED) ## Run the unit tests and show which lines they reach (ARGS=folder to narrow)
	@vitest run --project unit --coverage $(ARGS)

generate: $(INSTALLED) ## Rewrite every generated file: protobuf code, CRDs, tables in docs/
	@node tools/generate/generate.ts

bench: build ## Measure what a decision costs, next to envoyproxy/ratelimit (ARGS=--quick, ARGS="--against COMMIT")
	@node tools/test/test-setup.ts --bench
	@node --enable-source-maps e2e/dist/benchmarks/decisions/run.js $(ARGS)

bench-control-plane: build ## Measure how fast changes reach pods, and memory (ARGS='edit cold push' to narrow, '10 --against COMMIT')
	@node --enable-source-maps e2e/dist/benchmarks/control-plane/run.js $(ARGS)

bench-operator: build ## Measure how fast statuses are right, how often they are written, and a rest (ARGS='edit rest' to narrow)
	@node --enable-source-maps e2e/dist/benchmarks/operator/run.js $(ARGS)

bench-account: build ## Measure calls per second, start and memory of the account service (ARGS='login memory' to narrow)
	@node --enable-source-maps e2e/dist/benchmarks/account/run.js $(ARGS)

fuzz: $(INSTALLED) ## Send broken input to the codec, the image process, HTTP/2 connections and every listener (ARGS='--minutes 10 --seed 1')
	@node --conditions=source ratelimit/src/transport/weir/codec/codec-fuzz.suite.ts $(ARGS)
	@node --conditions=source account/src/media/images/image-fuzz.suite.ts $(ARGS)
	@node --conditions=source e2e/src/fuzz/fuzz.suite.ts $(ARGS)

differential: build ## Compare with envoyproxy/ratelimit on random rules and requests (ARGS='--seed 7 --configurations 100')
	@node tools/test/test-setup.ts
	@node --conditions=source e2e/src/conformance/differential/run.ts $(ARGS)

format: $(INSTALLED) ## Format every file
	@prettier --write --log-level warn .

clean: ## Remove what was built (packages and downloaded tools stay)
	@rm -rf dist */dist coverage node_modules/.cache

$(INSTALLED): package-lock.json
	@sh tools/require.sh
	@echo "==> Installing packages (about a minute)"
	@npm ci --loglevel=error
	@touch $@
