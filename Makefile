# Everything is installed into .venv, with uv if it is there, else with venv and pip. `make` prints the targets.

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
UV := $(shell command -v uv 2>/dev/null)

# The first interpreter that is new enough; `make setup PYTHON=/path/to/python` names another.
NEW_ENOUGH := import sys; raise SystemExit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	"$$python" -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { command -v "$$python"; break; }; done)

ifdef UV
INSTALL := VIRTUAL_ENV=$(abspath $(VENV)) $(UV) pip install --quiet
else
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check
endif

# Plugins of protoc are looked up on the path.
export PATH := $(abspath $(BIN)):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup run serve test browser docs lint lint-style lint-types lint-layers lint-schema format proto golden pictures adversary fuzz soak chaos agree bench wheel clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Create .venv with Sixledger and all its extras, editable
	@echo "Ready: $(BIN)/sixledger"

run: $(VENV)/.installed ## Play, verify and tamper with a demonstration match (files in out/)
	$(BIN)/sixledger demo --out out

serve: $(VENV)/.installed ## Start the service on this machine
	$(BIN)/sixledger serve

test: $(VENV)/.installed-test ## Run all tests
	$(PY) -m pytest -n 2 --dist loadfile --max-worker-restart=0 $(ARGS)

browser: $(VENV)/.installed-test ## Look at the pages in headless Chromium
	$(PY) -m pytest -m browser tests/browser $(ARGS)

docs: $(VENV)/.installed-test ## Generate the reference and build the documentation site into site/
	$(PY) docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: lint-style lint-types lint-layers lint-schema ## Check style, types, layers, schema and generated code

lint-style: $(VENV)/.installed-lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check

lint-types: $(VENV)/.installed-lint $(VENV)/.installed-test
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.13
	$(BIN)/mypy tests protos/generate.py docs/generate.py docs/hooks.py
	$(BIN)/pyright

lint-layers: $(VENV)/.installed-lint
	$(BIN)/lint-imports

lint-schema: $(VENV)/.installed-lint $(VENV)/.installed-proto
	cd protos && $(abspath $(BIN))/buf lint && $(abspath $(BIN))/buf breaking --against released.binpb
	$(PY) protos/generate.py --check

format: $(VENV)/.installed-lint ## Format the code and sort its imports
	$(BIN)/ruff check --select I --fix
	$(BIN)/ruff format

proto: $(VENV)/.installed-proto ## Generate the Python code of the schema
	$(PY) protos/generate.py

golden: $(VENV)/.installed-test ## Write the golden files anew; review every changed byte
	$(PY) tests/support/golden.py --update
	$(PY) tests/support/golden_ledger.py --update
	$(PY) tests/support/vectors.py --update

pictures: $(VENV)/.installed-test ## Draw the terminal pictures of the documentation anew
	$(PY) tests/support/pictures.py

adversary: $(VENV)/.installed-test ## Try every attack on a match and print who notices it
	$(PY) tests/adversary/run.py $(ARGS)

fuzz: $(VENV)/.installed-test $(VENV)/.installed-fuzz ## Feed readers, verifier and client with guided nonsense (SECONDS=60 for each)
	$(PY) tests/fuzz/run.py --seconds $(or $(SECONDS),60) $(ARGS)

soak: $(VENV)/.installed-test ## Play ten thousand random matches of every game with all invariants on
	$(PY) tests/soak/soak.py $(ARGS)

agree: $(VENV)/.installed-test ## Ask the verifiers in Python and JavaScript about a thousand random ledgers
	$(PY) tests/js/agree.py $(ARGS)

chaos: $(VENV)/.installed-test ## Break servers on purpose while matches are played, and check that nothing is lost
	$(PY) tests/chaos/run.py $(ARGS)

bench: $(VENV)/.installed-test ## Measure the parts and the whole
	$(PY) tests/bench/run.py $(ARGS)

wheel: $(VENV)/.installed-test ## Build wheel and source distribution into dist/
	$(PY) -m build --no-isolation --outdir dist

clean: ## Remove what was built, measured and cached (.venv stays)
	rm -rf build dist out site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# Stamps: a second run installs nothing unless pyproject.toml is newer.

$(PY):
ifdef UV
	$(UV) venv --quiet --allow-existing $(if $(PYTHON),--python $(PYTHON),--python '>=3.11') $(VENV)
else
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed: install it, or name it with PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
endif

$(VENV)/.installed: pyproject.toml | $(PY)
ifndef UV
	$(INSTALL) --upgrade 'pip>=25.1' # the first that knows dependency groups
endif
	$(INSTALL) --editable '.[all]'
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	$(INSTALL) --group $*
	@touch $@
