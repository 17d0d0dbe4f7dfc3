# Everything here needs only make and Python 3.11 or newer. `make` alone lists the targets.
VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
# Bytecode makes every start several times faster, whatever the caller's environment says.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

.DEFAULT_GOAL := help
.PHONY: help demo test fast bench soak mutation lint format docs lock install clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# The demo keeps its database in the clone, so that two clones never share one.
demo: export THREADWRIGHT_STATE_DIR ?= $(CURDIR)/var
demo: $(STAMP) ## run Threadwright with an embedded database and a scripted model
	@$(VENV)/bin/threadwright demo

test: $(STAMP) ## format, lint, types, import contracts and every test
	@$(PYTHON) -m tests.check

fast: $(STAMP) ## the same with the unit and architecture tests alone
	@$(PYTHON) -m tests.check --fast

bench: $(STAMP) ## measure beside the floor, in one run
	@$(PYTHON) -m tests.benchmarks
	@$(PYTHON) -m tests.benchmarks.sdk_run
	@$(PYTHON) -m tests.benchmarks.render_run
	@$(PYTHON) -m tests.benchmarks.scale

soak: $(STAMP) ## talk for minutes while replicas are killed (SOAK="--minutes 30 --rate 50")
	@$(PYTHON) -m tests.soak $(SOAK)

mutation: $(STAMP) ## break the pure rooms sign by sign and see the tests notice (MUTATION=engine/chat/form.py)
	@nice $(PYTHON) -m tests.mutation $(MUTATION)

lint: $(STAMP) ## the static checks alone
	@$(PYTHON) -m tests.check --static

format: $(STAMP) ## format, and mend what the linter can
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

docs: $(STAMP) ## rewrite what is generated from the code
	@$(PYTHON) -m config

lock: $(STAMP) ## pin the newest versions that pyproject.toml allows, with hashes
	@$(PYTHON) -m pip install --quiet uv
	@$(VENV)/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-annotate --no-emit-index-url --extra dev pyproject.toml -o constraints.txt

install: $(STAMP) ## make the virtual environment

$(STAMP): constraints.txt pyproject.toml
	@for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    found="$$candidate"; break; \
	  fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "Threadwright needs Python 3.11 or newer with its venv module (Debian: apt install python3-venv)." >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$($$found --version); the first time takes a minute or two ..."; \
	"$$found" -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(PYTHON) -m compileall -q -j 0 bots engine adapters config
	@touch $@

clean: ## remove the virtual environment and caches, not the demo's chats
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
