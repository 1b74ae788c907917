# Backprop by Hand. `make help` says what can be made.

VENV ?= .venv
PORT ?= 8000

# What runs the notebooks in the reader's browser: LITE=no leaves it out, LITE=yes fails
# where it cannot be had. PYODIDE: a folder that has Pyodide's files, or their address.
# REPOSITORY: owner/name at GitHub, for the buttons that open Binder and Colab.
LITE ?= auto
export LITE PYODIDE REPOSITORY

# The first Python in pyproject.toml's range that can make an environment.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
	"$$python" -c "import sys, ensurepip; assert (3, 11) <= sys.version_info < (3, 14)" \
	2>/dev/null && echo "$$python" && break; done)

BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip -qq --disable-pip-version-check
ENV := $(VENV)/.installed
ASSETS := node_modules/.package-lock.json
SITE := _build/html

.DEFAULT_GOAL := help
.PHONY: help env assets book serve lab test test-browser test-processors notebooks \
	measure bench mutants lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' Makefile

env: $(ENV) ## the Python environment, in .venv

# Every kernel warns that it is not encrypted; it listens to this machine only.
$(ENV): requirements.txt pyproject.toml
	$(if $(PYTHON),,$(error Python 3.11, 3.12 or 3.13 with venv is needed; \
		where is it? make PYTHON=/path/to/python (Debian: apt install python3-venv)))
	$(PYTHON) -m venv $(VENV)
	@echo "Installing requirements.txt into $(VENV): a minute or two."
	@$(PIP) install --no-deps --no-compile --requirement requirements.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true # some of it is no Python
	@mkdir -p $(VENV)/etc/ipython
	@echo 'c.IPKernelApp.log_level = "ERROR"' >$(VENV)/etc/ipython/ipython_kernel_config.py
	@touch $@

assets: $(ASSETS) ## what the site's pages load, from npm

# Node from a wheel where the machine has none.
$(ASSETS): package.json package-lock.json .npmrc | $(ENV)
	@command -v npm >/dev/null || $(PIP) install \
		--no-build-isolation --editable ".[node]"
	PATH="$$PATH:$(abspath $(BIN))" npm ci --silent
	@touch $@

book: $(ENV) $(ASSETS) ## execute the notebooks and build the site
	$(BIN)/python tools/notebooks.py execute
	$(BIN)/python tools/lite.py
	$(BIN)/jupyter-book build --quiet --warningiserror --keep-going . >/dev/null
	@echo "The book is in $(abspath $(SITE))/index.html; \`make serve\` serves it."
	@cat _build/lite/left-out.txt 2>/dev/null || true

serve: ## serve the site on this machine, port $(PORT)
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

lab: $(ENV) ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab

test: book ## run every test
	@$(BIN)/python tools/chromium.py
	$(BIN)/pytest -n logical -rs --doctest-modules \
		--nbval --nbval-current-env --nbval-sanitize-with tests/notebooks/sanitize.cfg \
		$(wildcard src tests chapters appendix)

test-processors: $(ENV) ## the tests without the browser, as other processors compute
	$(BIN)/python tools/processors.py -n logical -rs -q --doctest-modules \
		--nbval --nbval-current-env --nbval-sanitize-with tests/notebooks/sanitize.cfg \
		--ignore tests/site $(wildcard src tests chapters appendix)

measure: book ## weigh the pages, time the sliders
	$(BIN)/python tools/measure_site.py

test-browser: book ## run every notebook in a browser
	@$(BIN)/python tools/chromium.py
	$(BIN)/pytest -n logical -rs -m "" tests/site/test_run.py

# What of PyTorch, JAX and the rest is there takes part; `.[bench]` has them all. They
# share a process, and what one frees goes back to the system, to be asked for again page
# by page by the next, where each alone would keep it: glibc is told to keep it.
bench: $(ENV) ## time the package beside other libraries
	for part in step checkers attention scatter; do \
		MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=8589934592 \
		$(BIN)/python -m bench.$$part || exit; echo; done

# MUTANTS: names of some alone, as in MUTANTS='backhand.ops.gelu.*'.
mutants: $(ENV) ## break the operations in every small way: does a test notice?
	@$(PIP) install --no-build-isolation --editable ".[mutants]"
	rm -rf mutants
	$(BIN)/mutmut run $(if $(MUTANTS),'$(MUTANTS)')
	$(BIN)/python tools/mutants.py

notebooks: $(ENV) ## execute the notebooks and save what is committed of them
	$(BIN)/python tools/notebooks.py save

# uv resolves for every platform and Python version at once. jsonschema would load
# rfc3987-syntax, and that lark, where it finds them: two seconds at each start of Jupyter
# Book, the tests and JupyterLab, for a check that none of them makes.
lock: $(ENV) ## requirements.txt anew from pyproject.toml
	$(PIP) install --upgrade uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
		--fork-strategy fewest --extra test --no-emit-package backhand \
		--no-emit-package rfc3987-syntax --no-emit-package lark \
		--no-header --generate-hashes --upgrade pyproject.toml --output-file requirements.txt

clean: ## remove all that was made
	rm -rf $(VENV) node_modules _build mutants
