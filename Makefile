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
SCENARIOS ?= default stacks firmware opensm_ha gpudirect

# ansible-core wants a UTF-8 locale, which a bare machine does not set.
export LC_ALL := C.UTF-8
export PYTHONDONTWRITEBYTECODE := 1
export PATH := $(BIN):$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

say = @printf '==> %s\n' "$(1)"
# JUnit files name the commit that was tested; it is empty if the working tree has changes.
commit = RDMA_COMMIT=$${RDMA_COMMIT-$$($(PYTHON) tests/tools/proofs.py commit)}
# Before the pytest runs of a suite: its name, and the command that runs one test. They write JUnit files into build/junit.
# Labs that they start belong to this run: the next one takes over what is left of it.
suite = $(if $(RDMA_STAGE),,rm -f build/junit/$(1).*.xml;) export RDMA_SUITE=$(1) RDMA_ALONE="$(2)" RDMALAB_RUN=$${RDMALAB_RUN:-$$$$} \
	$(commit); \
	export PYTHONPATH=$(CURDIR)/tests/tools PYTEST_PLUGINS=no_skips,timed ANSIBLE_CALLBACK_PLUGINS=$(CURDIR)/tests/tools/callback_plugins;
# The target that runs a single test, the folder, more arguments. TEST is the node id of a test, or a file.
pytest = $(call suite,$@,make $(1) TEST={}) $(PYTHON) -m pytest "$${TEST:-$(2)}" $(3) $(PYTEST_ARGS)

.PHONY: compatibility help demo test test-all unit unit-all schema lint sanity sanity-quick sanity-rest image molecule
.PHONY: acceptance acceptance-quick acceptance-labs acceptance-fleet acceptance-long acceptance-rest machine machine-tests nightly bench fuzz round-trips stop clean venv collection
.PHONY: web report-test report-picture docs release-check

help:
	@printf '%s\n' \
	  'make demo        a three-node cluster on a simulated fabric: up, provisioned, verified' \
	  'make stop        take the demo down' \
	  'make test        lint, sanity, unit tests, and each promise once on nodes (about 25 minutes)' \
	  'make test-all    all of that, then all but the longest scenarios and acceptance tests (about 80 minutes)' \
	  'make unit        the unit tests with Python 3.11 (about two and a half minutes on two cores)' \
	  'make unit-all    the unit tests with each Python and ansible-core (about ten minutes on two cores)' \
	  'make compatibility  docs/compatibility.md, of what the tests proved since' \
	  'make schema      what follows from a declared variable or option: tables, documentation, defaults' \
	  'make docs        the documentation site, in build/docs/html; its links are checked' \
  'make lint        the linters only' \
  'make release-check  the tarball as Galaxy checks it, execution environments, workflows; RELEASE=v1.0.0 before that tag' \
	  'make sanity      ansible-test sanity only' \
	  'make molecule    the scenarios: the site with restarts, firmware on emulated cards, driver stacks' \
	  'make acceptance  faults, moves of the subnet manager, bad input, 2 and 16 nodes' \
	  'make machine     IPoIB on one virtual machine with a real kernel' \
	  'make nightly     everything, also what takes longest, or a browser: SLICE=1/7 for the first of seven slices; FRESH=1 repeats what has passed' \
	  'make fuzz        damaged text for every parser, for FUZZ_SECONDS (60)' \
	  'make bench       module executions per host, time and memory of an unchanged run; of a fabric of 10,000 hosts; of runs of BENCH_HOSTS=1000 hosts' \
	  'make report-test the HTML pages of a fabric and of the documentation, in Chromium' \
	  'make web         the libraries of that page, with npm' \
	  'make clean       remove what the other targets made'

venv:
	@$(BOOTSTRAP) tests/tools/virtualenvs.py main

collection: venv
	@$(PYTHON) tests/tools/collection.py

demo: collection
	@$(PYTHON) tests/tools/demo.py

stop: venv
	@$(LAB) down

# nightly: everything, or what SLICE=1/7 names, without what has passed on this commit unless FRESH=1.
# They end with the slowest tests, the time of each stage, and the commands that run alone what failed.
test test-all nightly:
	@$(BOOTSTRAP) tests/tools/checks.py $@

unit: collection
	@$(commit) $(PYTHON) tests/tools/units.py $(PYTEST_ARGS)

unit-all: collection
	@$(BOOTSTRAP) tests/tools/virtualenvs.py units
	@$(commit) $(PYTHON) tests/tools/units.py --all $(PYTEST_ARGS)

schema: venv
	@$(PYTHON) tests/tools/schema.py --write

compatibility: venv
	@$(PYTHON) tests/tools/proofs.py

# Not the checkout but what a user gets is documented.
docs: collection
	@$(PYTHON) tests/tools/docs_site.py

release-check: collection
	@$(PYTHON) tests/tools/release_check.py $(RELEASE)

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
	@mypy playbooks/files/rehearse
	@for folder in $(LAB_FOLDERS); do (cd $$folder && MYPYPATH=simulator:stacks:stacks/vendor:.. $(BIN)/mypy --config-file $(CURDIR)/pyproject.toml .); done
	$(call say,ansible-lint)
	@ANSIBLE_COLLECTIONS_PATH=$(CHECKOUT) ansible-lint --offline --strict --nocolor
	$(call say,antsibull-changelog)
	@antsibull-changelog lint
	$(call say,antsibull-docs)
	@cd $(CHECKOUT)/$(COLLECTION) && ANSIBLE_COLLECTIONS_PATH=$(CURDIR)/build/collections antsibull-docs lint-collection-docs --plugin-docs .

# The unit tests feed some texts to each parser. This feeds others for as long as it is told: the seed selects them.
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
fuzz: collection
	@$(PYTHON) tests/fuzz/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_ARGS)

# A few of them run with the unit tests.
ROUND_TRIPS ?= 5000
round-trips: collection
	$(call say,discovery of $(ROUND_TRIPS) random sites)
	@RDMA_ROUND_TRIPS=$(ROUND_TRIPS) $(BIN)/pytest -q -p no:cacheprovider tests/unit/plugins/plugin_utils/_discovery/test_round_trip.py

# quick: the oldest and the newest Python only. rest: what that leaves.
sanity sanity-quick sanity-rest: venv
	@$(PYTHON) tests/tools/sanity.py $@ $(SANITY_ARGS)

# Before all that wants a lab: Molecule looks for a Docker daemon first of all, and two labs at once would both install one.
image: venv
	$(call say,the node image)
	@$(LAB) image

molecule: $(addprefix molecule-,$(SCENARIOS))

molecule-%: collection image
	$(call say,molecule test -s $*)
	@$(call suite,molecule-$*,make molecule-$*) NO_COLOR=1 molecule test -s $*

# quick: the tests with that marker. labs: those that start labs of their own. fleet: those of fleets in which something is broken. rest: the others.
MARKERS_quick := -m quick
MARKERS_labs := -m 'not quick and not long and own_lab and not fleet'
MARKERS_fleet := -m 'not quick and not long and fleet'
MARKERS_long := -m long
MARKERS_rest := -m 'not quick and not long and not own_lab'
acceptance acceptance-quick acceptance-labs acceptance-fleet acceptance-long acceptance-rest: collection
	$(call say,acceptance tests on the lab)
	@$(call pytest,acceptance,tests/acceptance,$(MARKERS_$(subst acceptance-,,$@)))

machine: collection image
	$(call say,one virtual machine)
	@$(call pytest,machine-tests,tests/acceptance_vm,-m quick)

machine-tests: collection image
	$(call say,tests on virtual machines)
	@$(call pytest,$@,tests/acceptance_vm)

bench: collection
	@$(PYTHON) tests/bench/bench.py $(BENCH_ARGS)
	@$(PYTHON) tests/bench/fabric.py
	@$(PYTHON) tests/bench/scale.py

# These want a Chromium, which the other checks do not need.
report-test: docs
	@$(PYTHON) tests/browser/install.py
	@$(call pytest,$@,tests/browser)

report-picture: collection
	@$(PYTHON) tests/browser/install.py
	@$(PYTHON) tests/browser/picture.py

# After a change of the versions in tests/tools/web.
web: venv
	@$(PYTHON) tests/tools/web.py

clean:
	@if [ -x $(PYTHON) ] && [ -e tests/lab/lab ]; then $(LAB) down || true; fi
	rm -rf .venv .cache .lab .ansible .mypy_cache .ruff_cache build
