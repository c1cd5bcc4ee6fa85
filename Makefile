# Each target sets itself up: python3, pip and make are all a machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# An environment without a pip of its own: some systems have no venv that can make one, and it is quicker.
MAKE_VENV := $(PYTHON) -m venv --clear --without-pip
INSTALL = $(PYTHON) -m pip --python $(@D)/bin/python --quiet --disable-pip-version-check install \
	--constraint constraints.txt --editable

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench soak docs clean

help: ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' Makefile

$(VENV)/ready: pyproject.toml constraints.txt
	$(MAKE_VENV) $(@D)
	$(INSTALL) '.[dev]'
	@touch $@

demo: $(VENV)/ready ## do the product's main job and show each document
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash demo.sh

test: $(VENV)/ready ## run the tests, on both cores
	$(BIN)/pytest --numprocesses 2

check: $(VENV)/ready ## lint, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/ready ## put the formatting right
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

# What users have and no more: msgspec starts slower beside some of the tools for development.
$(VENV)/plain/ready: pyproject.toml constraints.txt
	$(MAKE_VENV) $(@D)
	$(INSTALL) .
	@touch $@

bench: $(VENV)/plain/ready ## measure the speed bars; fails when one is missed
	@$(VENV)/plain/bin/python bench/run.py

soak: $(VENV)/ready ## the long campaigns: many more random examples
	HYPOTHESIS_PROFILE=soak $(BIN)/pytest --numprocesses 2 -m random

docs: $(VENV)/ready ## rewrite the generated parts of docs/
	$(BIN)/python docs/generate.py

clean: ## remove what make made
	rm -rf $(VENV) demo
