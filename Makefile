# Everything runs in .venv, which the first target makes by itself. PYTHON=python3.12 picks another
# interpreter (3.11 or newer), WORKERS=8 another number of test processes.
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test lint types bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\): .*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: $(READY) ## evaluate three scripted agents with and without faults (no model, no download)
	$(BIN)/bench2robust eval --domain retail \
		--agent scripted:naive --agent scripted:retry --agent scripted:retry_switch \
		--modes clean,inject,inject_alt --seeds 5 --transcripts --out runs/demo
	$(BIN)/bench2robust report runs/demo

test: $(READY) ## run the whole test suite
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS)

lint: $(READY) ## check style, format and the import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo

types: $(READY) ## check types
	$(BIN)/mypy

bench: $(READY) ## measure speed beside τ²-bench, which is installed under .bench/
	$(BIN)/python benchmarks/env_speed.py

clean: ## remove the environment, caches and build products (runs/ stays)
	rm -rf .venv .bench dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, this is %d.%d; name another: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@
