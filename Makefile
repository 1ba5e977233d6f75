# Every target does its own set-up: see README.md for the two that matter, `make demo` and `make test`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# The set-up scripts use the standard library only; everything after them runs in .venv.
BOOTSTRAP ?= $(shell command -v python3.11 || command -v python3)
BIN := $(CURDIR)/.venv/bin
PYTHON := $(BIN)/python
CHECKOUT := $(CURDIR)/build/checkout
COLLECTION := ansible_collections/rdma/ofed
# The two halves of the lab, each with a package of its own: what runs here, what runs in the nodes.
LAB_FOLDERS := tests/lab tests/lab/node
LAB := $(PYTHON) tests/lab/lab
# Two lines of about the same length, for the two cores that there are. Those that have another prefix than the rest may run beside it.
# opensm_ha measures how soon another subnet manager takes over: last, when the acceptance tests are past their sixteen nodes and large fabric.
BESIDE_ACCEPTANCE := default stacks firmware opensm_ha
AFTER_ACCEPTANCE := gpudirect
SCENARIOS ?= $(BESIDE_ACCEPTANCE) $(AFTER_ACCEPTANCE)

# ansible-core wants a UTF-8 locale, which a bare machine does not set.
export LC_ALL := C.UTF-8
export PYTHONDONTWRITEBYTECODE := 1
export PATH := $(BIN):$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

say = @printf '==> %s\n' "$(1)"
comma := ,
joined = $(subst $() ,$(comma),$(addprefix molecule-,$(1)))

.PHONY: help demo test unit schema lint sanity image molecule acceptance machines bench stop clean venv collection

help:
	@printf '%s\n' \
	  'make demo        a three-node cluster on a simulated fabric: up, provisioned, verified' \
	  'make stop        take the demo down' \
	  'make test        all checks: lint, sanity, unit tests, molecule, acceptance' \
	  'make unit        the unit tests only (under a minute)' \
	  'make schema      what follows from a declared variable or option: tables, documentation, defaults' \
	  'make lint        the linters only' \
	  'make sanity      ansible-test sanity only' \
	  'make molecule    the scenarios: the site with restarts, firmware on emulated cards, driver stacks' \
	  'make acceptance  faults, moves of the subnet manager, bad input, 2 and 16 nodes' \
	  'make machines    IPoIB and driver stacks on virtual machines with a real kernel (over an hour)' \
	  'make bench       module executions per host, time and memory of an unchanged run' \
	  'make clean       remove what the other targets made'

venv:
	@$(BOOTSTRAP) tests/tools/virtualenvs.py main

collection: venv
	@$(PYTHON) tests/tools/collection.py

demo: collection
	@$(PYTHON) tests/tools/demo.py

stop: venv
	@$(LAB) down

test: venv
	@$(PYTHON) tests/tools/stages.py lint,unit,image+sanity $(call joined,$(BESIDE_ACCEPTANCE))+acceptance,$(call joined,$(AFTER_ACCEPTANCE))

unit: collection
	@$(BOOTSTRAP) tests/tools/virtualenvs.py units
	@$(PYTHON) tests/tools/units.py $(PYTEST_ARGS)

schema: venv
	@$(PYTHON) tests/tools/schema.py --write

lint: collection
	$(call say,schema)
	@$(PYTHON) tests/tools/schema.py
	$(call say,yamllint)
	@yamllint --strict .
	$(call say,ruff)
	@ruff check --no-cache .
	@ruff format --no-cache --check .
	$(call say,mypy)
	@cd $(CHECKOUT) && MYPYPATH=$(CHECKOUT) $(BIN)/mypy --config-file $(CURDIR)/pyproject.toml $(COLLECTION)/plugins
	@cd tests/tools && $(BIN)/mypy --config-file $(CURDIR)/pyproject.toml .
	@cd tests/bench && MYPYPATH=../tools $(BIN)/mypy --config-file $(CURDIR)/pyproject.toml .
	@for folder in $(LAB_FOLDERS); do (cd $$folder && MYPYPATH=simulator:stacks:stacks/vendor:.. $(BIN)/mypy --config-file $(CURDIR)/pyproject.toml .); done
	$(call say,ansible-lint)
	@ANSIBLE_COLLECTIONS_PATH=$(CHECKOUT) ansible-lint --offline --strict --nocolor
	$(call say,antsibull-changelog)
	@antsibull-changelog lint
	$(call say,antsibull-docs)
	@cd $(CHECKOUT)/$(COLLECTION) && ANSIBLE_COLLECTIONS_PATH=$(CURDIR)/build/collections antsibull-docs lint-collection-docs --plugin-docs .

sanity: venv
	@$(PYTHON) tests/tools/sanity.py $(SANITY_ARGS)

# Before all that wants a lab: Molecule looks for a Docker daemon first of all, and two labs at once would both install one.
image: venv
	$(call say,the node image)
	@$(LAB) image

molecule: $(addprefix molecule-,$(SCENARIOS))

molecule-%: collection image
	$(call say,molecule test -s $*)
	@NO_COLOR=1 molecule test -s $*

acceptance: collection
	$(call say,acceptance tests on the lab)
	@PYTHONPATH=tests/tools PYTEST_PLUGINS=no_skips $(PYTHON) -m pytest tests/acceptance $(PYTEST_ARGS)

# Not among the checks of every commit: emulated processors make it take more than an hour.
machines: collection
	$(call say,tests on virtual machines)
	@RDMALAB_PREFIX=rdma-machines PYTHONPATH=tests/tools PYTEST_PLUGINS=no_skips $(PYTHON) -m pytest tests/acceptance_vm $(PYTEST_ARGS)
	@$(MAKE) --no-print-directory molecule SCENARIOS=ipoib_vm

bench: collection
	@$(PYTHON) tests/bench/bench.py $(BENCH_ARGS)

clean:
	@if [ -x $(PYTHON) ] && [ -e tests/lab/lab ]; then $(LAB) down || true; fi
	rm -rf .venv .cache .lab .ansible .mypy_cache .ruff_cache build
