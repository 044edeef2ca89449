# `make demo` and `make test` do all set-up on a machine with only python3 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo/poisson

.PHONY: demo gallery test lint types docs unit clean

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

test: lint types docs unit

lint: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/installed
	$(BIN)/mypy

docs: $(VENV)/installed
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet

unit: $(VENV)/installed
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

clean:
	rm -rf $(VENV) site demo
