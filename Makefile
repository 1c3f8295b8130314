# make demo   the kanban board in your browser
# make test   every test but those of `make slow`; what needs a program that is missing is skipped, and says so
# make slow   the tests that wait for what takes half a minute, which `make test` leaves out
# make bench  what the state costs on this machine: benchmarks/README.md
# make soak   much load for a while, two minutes or SECONDS=3600: nothing may grow
# make fuzz   looks for bytes that break one of the targets of tests/fuzz: TARGET=framing SECONDS=60
# make lint types docs clean

PYTHON ?= python3
NPM ?= npm
VENV := .venv
BIN := $(VENV)/bin
TOOLS := .tools
COPILOT := '@github/copilot@>=1.0.102' @github/copilot-sdk
# Two at a time, and a file's tests one after the other: they share a browser, or a Copilot.
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

TARGET ?= connection

.PHONY: demo test slow bench soak fuzz lint types docs clean npm-tools python-version

demo: $(VENV)/installed
	$(BIN)/canvas-provider dev examples/kanban

test: $(VENV)/installed-dev npm-tools
	$(PYTEST) $(PYTEST_ARGS)

slow: $(VENV)/installed-dev npm-tools
	$(PYTEST) -m slow $(PYTEST_ARGS)

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks.state $(BENCH_ARGS)

soak: $(VENV)/installed-dev
	SOAK_SECONDS=$(or $(SECONDS),120) $(PYTEST) -m slow -s tests/load

fuzz: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	$(BIN)/python -m tests.fuzz.guided $(TARGET) $(or $(SECONDS),60)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

docs: $(VENV)/installed-dev npm-tools
	$(BIN)/python -m pytest tests/docs

clean:
	rm -rf $(VENV) $(TOOLS) build dist .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# The stamps are older than pyproject.toml when dependencies may have changed. The package itself is
# installed editable, so a change of its code needs nothing.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/installed

$(BIN)/python: | python-version
	$(PYTHON) -m venv $(VENV)

python-version:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'Python 3.11 or newer is needed, and $(PYTHON) is not: make PYTHON=python3.12 ...' >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo '$(PYTHON) cannot make virtual environments: install its venv package.' >&2; exit 1; }

# The real Copilot CLI, for the tests that run it, and the Node SDK, whose declarations one reads; not
# needed to use or change the package.
npm-tools:
	@if [ -z "$$CANVAS_PROVIDER_NPM" ] && [ ! -d $(TOOLS)/node_modules/@github/copilot-sdk ]; then \
	  if command -v $(NPM) >/dev/null; then \
	    $(NPM) install --silent --no-audit --no-fund --prefix $(TOOLS) $(COPILOT) || \
	      echo 'npm could not install the Copilot CLI: its tests will be skipped.' >&2; \
	  else \
	    echo 'npm is not there: the tests on the real Copilot CLI will be skipped.' >&2; \
	  fi; \
	fi
