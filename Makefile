# Every target works on a fresh machine with git, make and Python >= 3.12 (or pyenv with 3.13).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

UV_VERSION := 0.13.9
UV := .tools/bin/uv
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WHEEL_VENV := .cache/wheel-venv

# python3 as seen from the checkout (pyenv honours .python-version); empty lets uv look for one.
UV_PYTHON ?= $(shell python3 -c 'import sys; print(sys.executable if (3, 12) <= sys.version_info[:2] < (3, 15) else "")' 2>/dev/null)

# Compile caches stay inside the checkout.
comma := ,
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
# PyTensor splits its flags at commas, unless quoted: a checkout's path may hold commas and blanks.
export PYTENSOR_FLAGS := base_compiledir="$(CURDIR)/.cache/pytensor"$(if $(PYTENSOR_FLAGS),$(comma)$(PYTENSOR_FLAGS))
# Bytecode caches make every start several seconds faster.
unexport PYTHONDONTWRITEBYTECODE
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONHOME PYTHONPATH UV_PYTHON

NOTEBOOKS := $(wildcard notebooks/*.ipynb)

.PHONY: help install demo test test-slow calibrate check lock wheel clean distclean

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 20

install: $(READY)  ## create the environment from the lock

demo: $(READY)  ## the story on real safety labels
	@$(BIN)/hero-bayes demo

test: $(READY)  ## fast tests and doctests
	@$(BIN)/pytest -m "not slow" --doctest-modules hero_bayes tests

test-slow: $(READY)  ## recovery, calibration and packaging tests, notebooks
	@$(BIN)/pytest -m slow tests
ifneq ($(NOTEBOOKS),)
	@$(BIN)/pytest --nbmake --nbmake-timeout=300 $(NOTEBOOKS)
endif

calibrate: $(READY)  ## ranks and coverage of every posterior (about 15 minutes), into benchmarks/results
	@$(BIN)/python benchmarks/calibrate.py
	@$(BIN)/python benchmarks/calibrate_difficulty.py

check: $(READY)  ## lint, format, types, spelling
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/codespell

lock: $(UV)  ## regenerate requirements.lock
	@$(UV) pip compile pyproject.toml --group dev --universal --generate-hashes \
		--no-emit-index-url --python-version 3.12 --quiet -o requirements.lock
	@! grep -n '://' requirements.lock || { echo "requirements.lock names an address" >&2; exit 1; }

wheel: $(READY)  ## build, install into a clean environment, import
	@rm -rf dist $(WHEEL_VENV)
	@$(BIN)/hatchling build -d dist
	@$(UV) venv --quiet --python $(BIN)/python $(WHEEL_VENV)
	@$(UV) pip sync --quiet --python $(WHEEL_VENV)/bin/python --require-hashes requirements.lock
	@$(UV) pip install --quiet --python $(WHEEL_VENV)/bin/python --no-deps dist/*.whl
	@cd / && "$(CURDIR)/$(WHEEL_VENV)/bin/python" -I -c 'import hero_bayes.models as m; assert "site-packages" in m.__file__, m.__file__; print("wheel: hero_bayes.models imported from a clean environment")'

clean:  ## remove builds and caches (the environment stays)
	@rm -rf .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	@find hero_bayes models tests scripts -name __pycache__ -prune -exec rm -rf {} +

distclean: clean  ## clean, and remove the environment and uv
	@rm -rf $(VENV) .tools

$(UV):
	@echo "Installing uv $(UV_VERSION) into .tools"
	@python3 -m venv .tools
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(READY): requirements.lock pyproject.toml | $(UV)
	@echo "Preparing $(VENV) from requirements.lock"
	@test -x $(BIN)/python || $(UV) venv --quiet $(if $(UV_PYTHON),--python "$(UV_PYTHON)") $(VENV)
	@$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@
