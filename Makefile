# make demo   set up, run the main job, leave a report
# make test   set up, lint, types, layers, all tests, and some of them as on other processors
# make quick  lint, types, layers and a chosen part of the tests, in two minutes
# make machines  that part, whole, as on each of the other processors
# make soak   all tests, also the drawn cases of which make test runs one in eight
# make bench  side by side with other libraries (several minutes)
# make campaign  10,000 random flights against random walls (three quarters of an hour)
# make unkind  a sweep on Dask that is treated badly: 20,000 points, the same bits (some minutes)
# make docs   build the documentation (make pictures draws its pictures anew)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than cores: browsers, control loops and workers wait much of their time.
CORES := -n $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) + 1)' 2>/dev/null || echo auto) --dist worksteal
export PYTHONDONTWRITEBYTECODE :=  # tests start hundreds of processes, which share what is compiled

# One part of every layer: seconds each, and most mistakes show in one of them.
QUICK := tests/equations/test_agreement.py tests/model tests/compile/test_tape.py \
	tests/compile/test_cache.py tests/compile/test_native.py tests/robots/test_robot.py \
	tests/robots/closed/test_closed.py tests/simulation/test_solvers.py tests/control/test_laws.py \
	tests/identify/test_base_parameters.py

.PHONY: demo test soak quick machines lint bench campaign unkind pictures docs clean

demo: $(VENV)/.demo
	$(BIN)/appell run

test: lint $(VENV)/.browser
	$(BIN)/pytest $(CORES)
	$(BIN)/python tests/machines.py $(CORES)

soak: lint $(VENV)/.browser
	$(BIN)/pytest $(CORES) --all
	$(BIN)/python tests/machines.py $(CORES) --all

quick: lint
	$(BIN)/pytest $(CORES) $(QUICK)

machines: $(VENV)/.test
	$(BIN)/python tests/machines.py $(CORES) --all

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

campaign: $(VENV)/.bench
	$(BIN)/python -m benchmarks.impacts

unkind: $(VENV)/.bench
	$(BIN)/python -m benchmarks.unkind

pictures: $(VENV)/.test $(VENV)/.browser
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/answers.py
	$(BIN)/python docs/papers.py

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# One environment; each target adds the extras it needs.
$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Appell needs Python 3.10 or newer" if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: EXTRAS = show
$(VENV)/.test: EXTRAS = test
$(VENV)/.bench: EXTRAS = bench
$(VENV)/.docs: EXTRAS = docs
$(VENV)/.demo $(VENV)/.test $(VENV)/.bench $(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $@

# A headless Chromium, found or fetched.
$(VENV)/.browser: $(VENV)/.test
	$(BIN)/python tests/browser.py
	@touch $@

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
