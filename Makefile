# Two commands matter: `make demo` and `make test`. Both set up whatever they need on a fresh machine.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Names that are not defined, and the like: what tests of Python code find only where they run it.
RUFF := ruff@0.14.6

# The interpreter that runs kernels: the user's own, or an environment made here.
VENV := .venv
REQUIREMENTS := tools/harness/python/requirements.txt
ifdef KERNELWRIGHT_PYTHON
PYTHON := $(KERNELWRIGHT_PYTHON)
ENV_READY :=
else
PYTHON := $(CURDIR)/$(VENV)/bin/python
ENV_READY := $(VENV)/.ready
endif
export KERNELWRIGHT_PYTHON := $(PYTHON)

QUICK := target/debug/kernelwright

# The programs of tests/: built here, or taken from a folder (BUILT=DIR) on a machine that has a GPU and no Rust.
ifdef BUILT
PROGRAMS := $(BUILT)
BUILD_PROGRAMS := @:
else
PROGRAMS := target/debug
BUILD_PROGRAMS := cargo build --locked --quiet -p kernelwright -p kernelwright-tests --bins
endif
TARGET ?= cpu
JOBS ?= 4
COUNT ?= 500

.PHONY: help demo test test-gpu adversarial soak bench bench-evaluator bench-profiler lint deny env build clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: ## Optimize two problems on this machine's CPU: no GPU and no API key needed
	@$(MAKE) --no-print-directory --jobs=2 $(ENV_READY) $(QUICK)
	@examples/demo.sh $(QUICK)

# Not optimized, which takes half the time: what the demo waits for is Python and compilers, not our own code. `make test` builds on it.
# Without make's own job server, which would leave cargo one of the two jobs.
.PHONY: $(QUICK)
$(QUICK):
	env --unset=MAKEFLAGS cargo build --locked -p kernelwright

build: ## Build the executable (target/release/kernelwright)
	cargo build --release --locked -p kernelwright

env: $(ENV_READY) ## Make the Python environment (.venv), unless KERNELWRIGHT_PYTHON names one

# uv is fetched into the environment itself: it installs torch several times faster than pip.
$(VENV)/.ready: $(REQUIREMENTS)
	python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python -r $(REQUIREMENTS)
	$(VENV)/bin/python -c 'import torch; print("torch", torch.__version__)'
	touch $@

# Programs and tests at once: with features that only tests ask for, libraries would be built once more for the programs.
test: $(ENV_READY) ## Run every test that needs no GPU
	cargo build --locked --workspace --bins --tests
	cargo test --locked --workspace --quiet
	@$(MAKE) --no-print-directory --jobs=$$(nproc) --keep-going --output-sync=target $(PYTHON_TESTS)

# One process for each file. The two that take minutes begin first.
PYTHON_TESTS_FOLDER := tools/harness/python/tests
SLOWEST := test_suites.py test_compile.py
PYTHON_TESTS := $(SLOWEST) $(filter-out $(SLOWEST),$(notdir $(wildcard $(PYTHON_TESTS_FOLDER)/test_*.py)))
.PHONY: $(PYTHON_TESTS)
$(PYTHON_TESTS):
	$(PYTHON) -m unittest discover --start-directory $(PYTHON_TESTS_FOLDER) --pattern $@

adversarial: $(ENV_READY) ## Run the cheats, faults and honest kernels (TARGET=cpu, or TARGET=cuda on a machine that has one)
	$(BUILD_PROGRAMS)
	$(PROGRAMS)/adversarial --target $(TARGET) --verbose

test-gpu: GPU := $(if $(filter cpu,$(TARGET)),cuda,$(TARGET))
test-gpu: $(ENV_READY) ## Judge the adversarial suite, the packs' example kernels, what profiles say of planted bottlenecks and what the deep check finds on this machine's GPU (TARGET=cuda:N names another one, BUILT=DIR has the programs, JOBS=N cases of the suite at once)
	$(BUILD_PROGRAMS)
	$(PROGRAMS)/adversarial --target $(GPU) --jobs $(JOBS)
	$(PROGRAMS)/pack_examples --target $(GPU)
	$(PROGRAMS)/bottlenecks --target $(GPU)
	$(PROGRAMS)/deep_check --target $(GPU)
	$(if $(BUILT),,cargo test --locked --quiet -p kernelwright-tests --test it -- --ignored a_forked_worker_uses_the_gpu)

soak: $(ENV_READY) ## Run COUNT evaluations by one server, a tenth of them meant to harm it, and look for what is left (TARGET=cpu or cuda)
	$(BUILD_PROGRAMS)
	$(PROGRAMS)/soak --target $(TARGET) --count $(COUNT)

bench: $(ENV_READY) build ## Measure what the product itself costs: start, memory, time per step
	cargo bench --locked --quiet -p kernelwright-tests --bench agent

bench-evaluator: $(ENV_READY) ## Measure the evaluator: time of a verdict, verdicts a minute, repeatability (TARGET=cpu or cuda, KERNELBENCH=DIR for its evaluator beside ours)
	cargo build --release --locked -p kernelwright -p kernelwright-tests --bins
	target/release/bench_evaluator --target $(TARGET) $(if $(KERNELBENCH),--kernelbench $(KERNELBENCH))

bench-profiler: $(ENV_READY) ## Measure how long profiles take, and the same taken by hand (TARGET=cpu or cuda)
	cargo build --release --locked -p kernelwright -p kernelwright-tests --bins
	target/release/bench_profiler --target $(TARGET)

lint: $(ENV_READY) ## Check formatting and lints
	$(if $(ENV_READY),$(VENV)/bin/uv tool run --quiet $(RUFF) check --quiet --isolated --select E9 --select F tools/harness/python)
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

deny: ## Check licences, advisories and sources of the dependencies (needs cargo-deny)
	cargo deny check

clean: ## Remove what was built here, the Python environment included
	cargo clean
	rm -rf $(VENV)
