# Every target installs its requirements in .venv, with venv and pip. `make` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser
# The two test processes share two cores. More threads per process would slow them down.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check lint types wheel bench reproduction format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,lint]"
	@touch $(READY)

demo: $(READY) ## rank a real table with few labels and write graphsieve-demo.html
	$(BIN)/graphsieve demo --force

$(BROWSER): $(READY) tests/install_browser.py
	$(BIN)/python tests/install_browser.py
	@touch $(BROWSER)

test: $(READY) ## run the fast tests before a commit; takes minutes
	$(THREADS) $(BIN)/python -m pytest -n 2 -m "not slow"

test-all: $(READY) $(BROWSER) ## run every test, including faults, fuzzing, browser, wheel, clusters, papers and docs
	$(THREADS) HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n 2

lint: $(READY) ## check the code style
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/ruff format --check src tests examples benchmarks

types: $(READY) ## check the types
	$(BIN)/mypy

check: lint types test test-all ## run lint, types and both tiers of tests, as CI does

wheel: $(READY) ## build a wheel in dist/, with compiled kernels if a C compiler is available
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

bench: $(READY) ## compare speed, memory and scaling with other libraries and write benchmarks/README.md; LARGE=1 runs everything
	$(BIN)/python benchmarks/run.py $(if $(LARGE),--large) $(PARTS)

reproduction: $(READY) ## run the five papers in full and write docs/reproduction.md and docs/papers; takes 15 minutes or more
	$(BIN)/graphsieve reproduce all --full --json --no-page > docs/reproduction.json.part
	mv docs/reproduction.json.part docs/reproduction.json
	$(BIN)/graphsieve reproduce all --results docs/reproduction.json --no-page --markdown docs --force > /dev/null

format: $(READY) ## format the code
	$(BIN)/ruff check --fix-only src tests examples benchmarks
	$(BIN)/ruff format src tests examples benchmarks

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis graphsieve-demo.html graphsieve-reproduction.html
