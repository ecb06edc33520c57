# Evergold's commands. `make help` lists them.
SHELL := /bin/bash
BIN := .venv/bin
PYTHON ?= python3
VENV := .venv/.ready
COMPILED := .venv/.compiled
MODULES := web/node_modules/.ready
DIST := src/evergold/web_dist/index.html
SITE := src/evergold/docs_dist/index.html
PAGES := $(shell find docs README.md SECURITY.md scripts/site.py -type f -not -path 'docs/decisions/*')
WEB_SOURCES := $(shell find web/src web/public web/index.html web/vite.config.ts web/tsconfig.json -type f 2>/dev/null)

# Empty is unset: modules are compiled once, not again by each of the thousand processes that the tests start.
export PYTHONDONTWRITEBYTECODE :=

# A registry that does not answer at once is asked again before anything fails.
export UV_HTTP_RETRIES ?= 10
export UV_HTTP_TIMEOUT ?= 120
export PIP_RETRIES ?= 10
export npm_config_fetch_retries ?= 6

.DEFAULT_GOAL := help
.PHONY: help setup demo quick check test suite campaign types docs format web-check types-check programs perf peers release release-check wheels clean

help:  ## show the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(VENV) $(DIST) $(SITE)  ## .venv with everything installed, the web app and the documentation built

$(VENV): pyproject.toml uv.lock
	@command -v uv >/dev/null || test -x $(BIN)/uv || { $(PYTHON) -m venv .venv && $(BIN)/pip install --quiet uv; }
	@PATH="$(CURDIR)/$(BIN):$$PATH" uv sync --quiet --locked --inexact --python $(PYTHON)
	@touch $@

$(MODULES): web/package.json web/package-lock.json
	@cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(DIST): $(MODULES) $(WEB_SOURCES)
	@cd web && npm run --silent build
	@touch $@

demo: setup  ## the whole loop on sample data, a report, then the dashboard (ARGS=--no-serve ends after the report)
	@$(BIN)/evergold demo $(ARGS)

quick: $(VENV)  ## format, lint, import contract and types alone
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

check: quick  ## fast subset for a commit: quick, and the fast tests
	$(BIN)/pytest -m "not slow and not release and not campaign" -n 2

# Types are checked beside the tests: a minute and a half less on two cores.
test: setup programs  ## everything CI checks
	@$(MAKE) --no-print-directory --jobs=2 quick web-check types-check suite

# More processes than cores: tests in the browser and with servers wait more than they compute.
suite: $(VENV) $(DIST) $(COMPILED)
	$(BIN)/pytest -n 5 --dist loadgroup --durations=10

# One process compiles the tests and what they import; in a new clone each of the five would do it for itself.
$(COMPILED): $(VENV)
	-@$(BIN)/pytest --collect-only -n 0 >/dev/null
	@touch $@

campaign: setup programs  ## what takes too long for every change: wheels, notebooks, clusters, long faults, every generated request
	$(BIN)/pytest -m campaign -n 2 --durations=10

peers: setup  ## install the packages whose formats we write, and run them on our exports
	EVERGOLD_PEERS=required $(BIN)/pytest -m release tests/formats

release-check: setup  ## what CI leaves out: other packages on our exports, a wheel from a clean clone, a local model
	EVERGOLD_PEERS=required $(BIN)/pytest -m release -n 2

release: $(DIST) $(SITE)  ## dist/: the wheel, the source archive and the container file, with their sizes
	@rm -rf dist && mkdir dist
	@PATH="$(CURDIR)/$(BIN):$$PATH" uv build --quiet --out-dir dist .
	@cp deploy/Dockerfile dist/Dockerfile
	@test $$(stat -c %s dist/*.whl) -le 41943040 || { echo "the wheel is larger than 40 MB"; exit 1; }
	@ls -l dist | awk 'NR > 1 { printf "%9d  %s\n", $$5, $$9 }'

wheels: $(VENV)  ## whether every extra installs from wheels alone on Linux, macOS and Windows, Python 3.11 to 3.13
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m scripts.wheels

web-check: $(MODULES)
	cd web && npm run --silent check && npm run --silent --if-present test

types: $(VENV) $(MODULES)  ## generate the web app's API types from the server's OpenAPI
	$(BIN)/evergold openapi > web/openapi.json
	cd web && npm run --silent types -- openapi.json
	@rm -f web/openapi.json

types-check: types
	@git diff --exit-code --stat -- web/src/api/schema.d.ts || \
		{ echo "web/src/api/schema.d.ts is stale: run 'make types' and commit it"; exit 1; }

programs:
	@scripts/ensure_chromium.sh
	@scripts/ensure_bubblewrap.sh

docs: $(VENV)  ## write docs/reference.md from the code, build the site that a server shows at /docs, check its links
	$(BIN)/python -m scripts.reference
	$(BIN)/python -m scripts.site

$(SITE): $(VENV) $(PAGES)
	@$(BIN)/python -m scripts.site
	@touch $@

format:  ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cd web && npm run --silent format

perf: setup  ## our own speed beside floors and peers in one table (ARGS="NAME …" or "NAME --option …": those)
	$(BIN)/python -m perf $(or $(ARGS),all)

clean:  ## remove what the commands above made
	rm -rf .venv web/node_modules src/evergold/web_dist src/evergold/docs_dist dist .mypy_cache .ruff_cache .pytest_cache
