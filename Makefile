# make demo    explain the smallest self-attention, from a real run of it
# make test    run the tests
# make lint    check formatting, lint and types
# make bench   measure what recording costs, against other tools in the same run
# make clean   remove all that make and the tools have made
#
# A new machine needs only Python 3.11 or later, git and make. The first `make demo` installs
# PyTorch into .venv; PYTHON=python3.12 chooses another Python.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --constraint constraints.txt

.PHONY: demo test lint bench clean

demo: .venv/demo
	@$(BIN)/attnlab explain self_attention_demo.py

test: .venv/test
	@$(BIN)/pytest -n auto

lint: .venv/lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

bench: .venv/bench
	@set -e; for program in bench/*.py; do $(BIN)/python "$$program"; done

clean:
	rm -rf .venv .hypothesis .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each file below is a stamp: it is newer than what it was made from, so a second call is instant.

.venv/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "attnlab needs Python 3.11 or later, and $(PYTHON) is %d.%d: name a newer one, such as make PYTHON=python3.12 demo" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(PIP) --quiet pip
	@touch $@

# attnlab does not need NumPy, but where it is missing PyTorch warns as soon as it is imported.
.venv/demo: .venv/pip pyproject.toml constraints.txt Makefile
	@echo "installing attnlab and PyTorch into .venv; the first time this takes minutes"
	$(PIP) --build-constraint constraints.txt --editable . numpy
	@touch $@

.venv/test .venv/lint .venv/bench: .venv/demo
	$(PIP) --quiet --group $(@F)
	@touch $@
