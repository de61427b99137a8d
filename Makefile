# Everything a checkout needs, with Python 3.11 or newer and pip. `make` alone lists the targets.

PYTHON ?= python3
# Address of PyTorch's index of CPU wheels; without it pip may load the CUDA build. docs/install.md
TORCH_INDEX ?=
# `VLLM=no` leaves vLLM and torch out: enough to edit, check and run the tests that need no model.
VLLM ?= yes

BIN := .venv/bin
READY := .venv/ready-$(if $(filter no,$(VLLM)),light,vllm)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast check clean clean-all
export TORCH_INDEX

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(READY) ## make or renew .venv; the other targets do it when it is wanted

$(READY): pyproject.toml scripts/setup_env.py
	@$(PYTHON) scripts/setup_env.py $(if $(filter no,$(VLLM)),--no-vllm)
	@touch $@

demo: $(READY) ## label solutions of a tiny model, run by real vLLM on the CPU
	@$(BIN)/stepmill run examples/demo.yaml --out runs/demo

test: $(READY) ## all tests
	@$(BIN)/pytest

test-fast: $(READY) ## the tests that take seconds
	@$(BIN)/pytest -m "not slow"

check: $(READY) ## style, types and the direction of imports
	@bash scripts/check

clean: ## remove caches and build products
	rm -rf build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

clean-all: clean ## remove .venv as well; runs/ stays
	rm -rf .venv
