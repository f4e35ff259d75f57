# make demo   set up, run the main job, leave a report
# make test   set up, lint, types, layers, all tests
# make bench  side by side with other libraries (several minutes)
# make docs   build the documentation (make pictures draws its pictures anew)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench pictures docs clean

demo: $(VENV)/.demo
	$(BIN)/appell run

test: lint
	$(BIN)/pytest -n auto --dist worksteal

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

pictures: $(VENV)/.demo
	$(BIN)/python docs/pictures.py

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

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

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
