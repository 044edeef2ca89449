# `make demo` and `make test` do all set-up on a machine with only python3 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo/poisson

.PHONY: demo gallery check test test-extra lint types docs fast unit extra clean

$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[all]"
	touch $@

demo: $(VENV)/installed
	rm -rf $(DEMO)
	$(BIN)/fiducial run poisson --out $(DEMO)
	@echo "Look at $(DEMO)/solution.png and $(DEMO)/summary.json"

# Every ready problem in full, eight minutes on 2 cores; writes docs/gallery.md and its pictures.
gallery: $(VENV)/installed
	$(BIN)/python benchmarks/gallery.py

# While you work: style, types and the tests that compile no method.
check: lint types fast

# What must pass before a change lands.
test: lint types docs unit

# Heavy tests: kills, notebooks, the larger ready problems.
test-extra: extra

lint: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/installed
	$(BIN)/mypy

docs: $(VENV)/installed
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet

PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --durations 25

fast: $(VENV)/installed
	$(PYTEST) -m "not slow and not extra"

unit: $(VENV)/installed
	$(PYTEST) -m "not extra"

extra: $(VENV)/installed
	$(PYTEST) -m extra

clean:
	rm -rf $(VENV) site demo
