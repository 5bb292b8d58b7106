# Everything runs in .venv, which `make setup` creates; each target sets up first. Python compiles
# what was installed on all cores, without the libraries' own tests; pip would use one core for all.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

# Where it is set, each of the many processes of the tests would compile all sources again.
unexport PYTHONDONTWRITEBYTECODE

CHROMIUM := chromium chromium-browser google-chrome

.PHONY: help setup paper lint quick quick-cases test cases kernels-of-relay other-kernels test-long \
  test-programs test-plugins test-all soak test-browser fuzz bench docs links preprint picture clean

help:
	@echo "make paper         set up, reproduce the paper's tables and figures in paper/"
	@echo "make quick         set up, then ruff, codespell, mypy and the tests that take a minute"
	@echo "make test          set up, then ruff, codespell, mypy and the tests of every part"
	@echo "make test-all      all tests: those of make test with more examples, and the next four, and fuzz"
	@echo "make test-long     the statistical and large checks that take minutes, and grids of cases"
	@echo "make test-programs what builds, starts or kills programs: the site, benchmarks, clusters"
	@echo "make test-plugins  installs the plug-ins and runs their tests; they have Makefiles of their own"
	@echo "make soak          random cases by every router for an hour, or SOAK='--minutes 20 --goal 1e9'"
	@echo "make test-browser  the viewer in a real browser, which is installed if there is none"
	@echo "make fuzz          20,000 damaged and hostile inputs, SEED=0; some minutes"
	@echo "make bench         validate the engines and the edge colouring, then time them"
	@echo "make docs          build the documents as a site, which opens without a network: site/index.html"
	@echo "make links         the links of the documents to other sites; needs a network"
	@echo "make preprint      draw the figures of the preprint and compile it: build/preprint/popsnet.pdf"
	@echo "make picture       draw the figures of the documents again"
	@echo "make clean         remove .venv and what tools left behind"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "popsnet needs Python 3.11 or later; give one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m compileall -q -j 0 -x '/tests?/' .venv/lib || true
	@touch $@

paper: setup
	@$(BIN)/popsnet paper --out paper

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/mypy

# mypy takes one core for a while, and the tests have all cores: both begin at once.
quick: setup
	@$(MAKE) --no-print-directory --jobs lint quick-cases

quick-cases: setup
	$(BIN)/pytest -n auto --dist worksteal \
	  -m "not slow and not long and not program and not browser"

# Kernels are compiled first, and kept; else two processes would compile the same.
test: setup
	@$(MAKE) --no-print-directory --jobs lint cases

cases: kernels-of-relay other-kernels
	$(BIN)/pytest -n auto --dist worksteal

kernels-of-relay: setup
	@$(BIN)/python -m tests.compile_kernels relay

other-kernels: setup
	@$(BIN)/python -m tests.compile_kernels others

test-long: setup
	$(BIN)/pytest -n auto --hypothesis-profile=full -m long

test-programs: setup
	$(BIN)/pytest -n auto --dist worksteal -m program

test-all: lint test-browser test-plugins
	$(BIN)/pytest -n auto --dist worksteal --hypothesis-profile=full -m "not browser"
	$(BIN)/python -m tests.fuzz --seed $(SEED)

# Goldens and lists of engines are those without plug-ins.
test-plugins: setup
	@$(MAKE) -C plugins/popsnet-cuda lint test; failed=$$?; \
	  $(BIN)/python -m pip uninstall --quiet --yes popsnet-cuda; exit $$failed

soak: setup
	$(BIN)/python -m tests.soak $(SOAK)

test-browser: setup
	@for name in $(CHROMIUM); do command -v $$name > /dev/null && exit 0; done; \
	  cure="Install Chromium with your system's package manager, then try again."; \
	  command -v apt-get > /dev/null || { echo "No Chromium and no apt-get here. $$cure"; exit 1; }; \
	  root=; test "$$(id -u)" = 0 || root=sudo; \
	  test -z "$$root" || command -v sudo > /dev/null || \
	    { echo "No Chromium here, and only root can install it. $$cure"; exit 1; }; \
	  $$root apt-get update --quiet && $$root apt-get install --quiet --yes chromium || \
	    { echo "Chromium could not be installed. $$cure"; exit 1; }
	POPSNET_BROWSER=required $(BIN)/pytest -m browser

SEED ?= 0
fuzz: setup
	@$(MAKE) --no-print-directory --jobs kernels-of-relay other-kernels
	$(BIN)/python -m tests.fuzz --seed $(SEED)

bench: setup
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/colouring.py
	PYTHONPATH=. $(BIN)/python benchmarks/schedules.py
	$(BIN)/python benchmarks/traffic.py

# From the beginning (-E), as the warnings about a page are given only when it is read.
docs: setup
	$(BIN)/sphinx-build -E -n -W --keep-going -q -d build/doctrees docs site
	@echo "Open site/index.html in a browser."

links: setup
	$(BIN)/sphinx-build -q -b linkcheck -d build/doctrees docs build/links

# Typst is one package with a compiler in it; it is not needed for anything else.
preprint: setup
	@$(BIN)/python -c 'import typst' 2> /dev/null || $(BIN)/python -m pip install --quiet \
	  --disable-pip-version-check --constraint constraints.txt --editable '.[preprint]' || \
	  { echo "Skipped: the preprint needs the package typst, which could not be installed."; exit 0; }; \
	  $(BIN)/python docs/paper/build.py

picture: setup
	$(BIN)/python docs/draw_animation.py
	$(BIN)/python docs/draw_picture.py
	$(BIN)/python docs/draw_gallery.py
	$(BIN)/python docs/draw_pages.py

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site
