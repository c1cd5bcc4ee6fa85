# Each target sets up what it needs. The machine needs python3, pip and make.
PYTHON ?= python3
VENV := .venv
PLAIN := .venv-plain
SERVERS := .venv-servers
OCR := .venv-ocr
BIN := $(VENV)/bin
# Without pip inside: some systems ship a venv module without ensurepip, and it is faster.
MAKE_VENV := $(PYTHON) -m venv --clear --without-pip
INSTALL = $(PYTHON) -m pip --python $(@D)/bin/python --quiet --disable-pip-version-check install \
	--constraint constraints.txt --editable

.DEFAULT_GOAL := help
.PHONY: help demo test quick adbd check format coverage shape bench soak random docs pictures ocr clean

help: ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' Makefile

$(VENV)/ready: pyproject.toml constraints.txt
	$(MAKE_VENV) $(@D)
	$(INSTALL) '.[dev]'
	@touch $@

# The package, as users install it.
$(PLAIN)/ready: pyproject.toml constraints.txt
	$(MAKE_VENV) $(@D)
	$(INSTALL) .
	@touch $@

# The package with what the servers need.
$(SERVERS)/ready: pyproject.toml constraints.txt
	$(MAKE_VENV) $(@D)
	$(INSTALL) '.[mcp,serve]'
	@touch $@

# The package with an OCR library.
$(OCR)/ready: pyproject.toml constraints.txt tools/ocr-requirements.txt
	$(MAKE_VENV) $(@D)
	$(INSTALL) . --requirement tools/ocr-requirements.txt
	@touch $@

demo: $(PLAIN)/ready ## run the product's main job on a simulated phone and show each document
	@PATH="$(CURDIR)/$(PLAIN)/bin:$$PATH" bash demo.sh

# More workers than cores: most of the time a test waits for a phone or a process.
test: $(VENV)/ready ## run the test suite on two cores
	$(BIN)/pytest --numprocesses 6 --dist worksteal

QUICK := $(addprefix tests/,_base agent/inventory agent/models agent/test_model_results.py agent/test_model_tools.py \
	agent/test_tool_definitions.py agent/tools contract engine operations/test_hints.py operations/test_rows.py phone/apps \
	phone/core phone/log phone/operator phone/shell phone/toolkit policy recording replay ui test_layers.py test_shape.py \
	test_seed_sentences.py)

quick: $(VENV)/ready ## run the tests that start no process, in less than a minute
	$(BIN)/pytest --numprocesses 2 --dist worksteal --no-processes $(QUICK)

adbd: $(VENV)/ready ## unpack Debian's adbd into the user's cache, for the tests that run it
	@$(BIN)/python -m tests.support.adbd_packages

check: $(VENV)/ready ## lint, check formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/ready ## fix formatting
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

coverage: $(VENV)/ready ## run the tests and print coverage per module; subprocesses are not counted
	$(BIN)/pytest --numprocesses 2 --dist worksteal --cov=clawperator --cov-branch --cov-report=term:skip-covered

# A commit to compare with (none: no growth), and --strict to fail on a missed limit.
SINCE ?=
FLAGS ?=

shape: $(VENV)/ready ## print lines per package, traced flows, import cycles: SINCE=<commit> FLAGS=--strict
	@$(BIN)/python -m tools.shape --since "$(SINCE)" $(FLAGS)

bench: $(PLAIN)/ready $(SERVERS)/ready ## measure the speed bars; fail when one is missed
	@$(PLAIN)/bin/python bench/run.py --servers $(SERVERS)/bin

# Minutes in all, the seed of all random numbers, and the campaigns to run (none: all of them).
MINUTES ?= 10
SEED ?= $(shell date +%s)
ONLY ?=

soak: $(VENV)/ready $(VENV)/fuzz ## fuzz, inject faults, kill and search for secrets: MINUTES=10 SEED=1 ONLY="faults kills"
	$(BIN)/python -m soak.run --minutes $(MINUTES) --seed $(SEED) $(ONLY)

# Coverage-guided fuzzing is optional: there is not a wheel for every Python.
$(VENV)/fuzz: $(VENV)/ready
	@$(PYTHON) -m pip --python $(BIN)/python --quiet --disable-pip-version-check install --only-binary :all: \
		--constraint constraints.txt atheris || echo "soak: no atheris for this Python; coverage-guided fuzzing is skipped"
	@touch $@

random: $(VENV)/ready ## run the random tests with many more examples
	HYPOTHESIS_PROFILE=soak $(BIN)/pytest --numprocesses 2 --dist worksteal -m random

docs: $(VENV)/ready ## regenerate the generated parts of docs/
	$(BIN)/python docs/generate.py

pictures: $(VENV)/ready ## draw the pictures of docs/pictures; needs chromium
	$(BIN)/python -m tools.phone_pictures
	$(BIN)/python -m tools.page_pictures

ocr: $(OCR)/ready ## read all screens of the simulated phone with an OCR library; fail below 95 % of the words
	$(OCR)/bin/python -m tools.read_pictures

clean: ## remove generated files
	rm -rf $(VENV) $(PLAIN) $(SERVERS) $(OCR) demo
