# Everything runs in .venv, which `make setup` creates; each target sets up first.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: help setup paper test test-long test-relay bench picture clean

help:
	@echo "make paper      set up, reproduce the paper's tables and figures in paper/"
	@echo "make test       set up, then ruff, mypy and all tests"
	@echo "make test-long  the statistical and large checks that take minutes"
	@echo "make test-relay a hundred million packets by relay, every message; some minutes"
	@echo "make bench      validate the engines and the edge colouring, then time them"
	@echo "make picture    draw the pictures of the documents again"
	@echo "make clean      remove .venv and what tools left behind"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "popsnet needs Python 3.11 or later; give one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[dev]'
	@touch $@

paper: setup
	@$(BIN)/popsnet paper --out paper

test: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest -n auto

test-long: setup
	$(BIN)/pytest -n auto -m long

test-relay: setup
	$(BIN)/python tests/relay/route_many.py

bench: setup
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/colouring.py

picture: setup
	$(BIN)/python docs/draw_picture.py

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
