# Every command sets itself up: the first one makes .venv from requirements/dev.txt, a changed lock makes it anew.

.DEFAULT_GOAL := help
.PHONY: help setup agents frameworks oldest mcp-conformance compare clients demo test check bench soak reference lock clean
MAKEFLAGS += --no-builtin-rules --no-print-directory
unexport PYTHONHOME PYTHONPATH VIRTUAL_ENV

PYTHON := .venv/bin/python
CHECKED := $(wildcard src tests benchmarks scripts examples)
JOBS ?= 3
MINUTES ?= 10

help:
	@echo "make demo    see it work: a long agent session through a small window, checked as it goes"
	@echo "make test    the whole test suite, with coverage thresholds"
	@echo "make agents  install the agents that the tests drive, in .venv-agents; without them those tests are skipped"
	@echo "make clients install coding agents from the npm registry, drive them, write docs/clients.md"
	@echo "make frameworks  install and drive frameworks that are too large for every run of the tests"
	@echo "make oldest  drive the oldest supported release of each framework"
	@echo "make mcp-conformance  hold contextfold mcp against the official suite, with both releases of the SDK"
	@echo "make compare fold recorded runs beside other frameworks' ways, write docs/compared.md"
	@echo "make check   format, lint, types, floors, walk, wheel"
	@echo "make bench   measured comparisons, written to docs/performance.md"
	@echo "make soak    the crash and slow suites, ten times as long; then the gateway for MINUTES (10), for its memory"
	@echo "make mutants change the code in small ways and see whether a test notices"
	@echo "make reference  write docs/reference/ from code and help"
	@echo "make release build sdist and wheel, twice and compared, with an SBOM, into dist/"
	@echo "make audit   look every package of the lock up among known vulnerabilities; fails unless all were looked up"
	@echo "make lock    write requirements/*.txt anew (needs uv; UPGRADE=1 takes newer versions)"
	@echo "make clean   remove what tools left behind"

setup: .venv/.installed

.venv/.locked: requirements/dev.txt
	@scripts/venv
	@touch $@

.venv/.installed: .venv/.locked pyproject.toml scripts/editable
	@scripts/editable
	@touch $@

agents: .venv-agents/.locked

.venv-agents/.locked: requirements/agents.txt
	@scripts/venv .venv-agents requirements/agents.txt
	@touch $@

# Too large for every run of the tests: half a gigabyte, and a minute to import.
frameworks: setup .venv-frameworks/.locked .venv-openhands/.locked
	@$(PYTHON) -m pytest -n 0 -q tests/acceptance/test_further_frameworks.py $(ARGS)

.venv-frameworks/.locked: requirements/frameworks.txt
	@scripts/venv .venv-frameworks requirements/frameworks.txt
	@touch $@

# OpenHands wants Python 3.12 or newer. Where there is none the environment stays empty, and its tests are skipped.
.venv-openhands/.locked: requirements/openhands.txt
	@LEAST=12 scripts/venv .venv-openhands requirements/openhands.txt || echo "No Python 3.12: OpenHands is left out."
	@mkdir -p .venv-openhands && touch $@

.venv-peers/.locked: requirements/peers.txt
	@scripts/venv .venv-peers requirements/peers.txt
	@touch $@

oldest: setup .venv-oldest/.locked
	@CONTEXTFOLD_FRAMEWORKS=.venv-oldest/bin $(PYTHON) -m pytest -n 0 -q tests/acceptance/test_frameworks.py $(ARGS)

.venv-oldest/.locked: requirements/oldest.txt
	@scripts/venv .venv-oldest requirements/oldest.txt
	@touch $@

# The suite wants Node 22. The SDK's second release is in .venv-agents, its first in .venv-frameworks.
mcp-conformance: agents .venv-frameworks/.locked
	@npm install --silent --no-audit --no-fund --prefix .clients @modelcontextprotocol/conformance@0.1.16 node@22
	@for each in .venv-agents .venv-frameworks; do PYTHONPATH=src $$each/bin/python -W ignore scripts/mcp_conformance.py \
	    .clients/node_modules/node/bin/node .clients/node_modules/@modelcontextprotocol/conformance/dist/index.js || exit 1; done

compare: setup .venv-peers/.locked .venv-openhands/.locked
	@$(PYTHON) -W ignore scripts/compare.py $(ARGS)

CLIENTS := @anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai @mariozechner/pi-coding-agent
clients: setup
	@npm install --silent --no-audit --no-fund --prefix .clients $(CLIENTS)
	@$(PYTHON) scripts/run_clients.py

# The demo needs the core only: three packages out of the lock, beside which the source is run as it is.
demo: .venv-demo/.locked
	@.venv-demo/bin/python -m contextfold demo $(ARGS)

.venv-demo/.locked: requirements/dev.txt Makefile
	@echo "The demo installs apsw, msgspec and splintr-rs (about 75 MB) into .venv-demo and nothing else. A few seconds."
	@mkdir -p build
	@awk '/^[^ ]/ { wanted = /^(apsw|msgspec|splintr-rs)==/ } wanted' requirements/dev.txt > build/core.txt
	@scripts/venv .venv-demo build/core.txt
	@echo "$(CURDIR)/src" > "$$(.venv-demo/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/contextfold.pth"
	@touch $@

test: setup
	@$(PYTHON) -m pytest -n $(JOBS) --dist worksteal --durations 5 --durations-min 10 --cov --cov-report= $(ARGS)
	@$(PYTHON) scripts/check_coverage.py

check: setup
	@echo "format" && $(PYTHON) -m ruff format --quiet --check .
	@echo "lint" && $(PYTHON) -m ruff check --quiet .
	@echo "types" && $(PYTHON) -m mypy --no-error-summary $(CHECKED)
	@echo "floors" && { floors=$$(.venv/bin/lint-imports --no-logo 2>&1) || { echo "$$floors"; exit 1; }; }
	@echo "walk" && $(PYTHON) scripts/check_walk.py
	@echo "wheel" && $(PYTHON) scripts/check_wheel.py

bench: setup
	@$(PYTHON) -m benchmarks --page docs/performance.md $(ARGS)

soak: setup
	@CONTEXTFOLD_SOAK=10 $(PYTHON) -m pytest -n $(JOBS) --dist worksteal -m "crash or slow" $(ARGS)
	@$(PYTHON) -m benchmarks.gateway --only soak --minutes $(MINUTES)

mutants: setup
	@$(PYTHON) scripts/mutants.py $(ARGS)

reference: setup
	@$(PYTHON) scripts/write_reference.py

release: setup
	@$(PYTHON) scripts/check_wheel.py
	@$(PYTHON) -m build --no-isolation --wheel --sdist --outdir dist . >/dev/null
	@$(PYTHON) scripts/write_sbom.py

audit: setup
	@$(PYTHON) scripts/audit.py

# Seven days of age, so that a stolen release is likely found before it is ours.
COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --exclude-newer "7 days" \
    --no-emit-index-url --no-header --no-annotate $(if $(UPGRADE),--upgrade)
lock:
	@$(COMPILE) --output-file requirements/dev.txt pyproject.toml requirements/dev.in
	@$(COMPILE) --output-file requirements/agents.txt requirements/agents.in
	@$(COMPILE) --output-file requirements/frameworks.txt requirements/frameworks.in
	@$(COMPILE) --output-file requirements/peers.txt requirements/peers.in
	@$(COMPILE) --python-version 3.12 --output-file requirements/openhands.txt requirements/openhands.in
	@$(COMPILE) --resolution lowest-direct --output-file requirements/oldest.txt requirements/oldest.in

clean:
	@rm -rf build dist .coverage .coverage.* coverage.json .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
