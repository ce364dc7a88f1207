# The course's commands: `make help`. Each sets up .venv first when it is missing or out of date.

PYTHON ?= python3
LABS ?=
JOBS ?= 1

RUN := .venv/bin/python

# The stamp is named after Python's version and the contents of requirements.txt: another Python,
# another requirement, or an installation that was interrupted, and the environment is made anew.
KEY := $(shell $(PYTHON) -c 'import hashlib, sys; print("%d.%d-" % sys.version_info[:2] + hashlib.sha256(open("requirements.txt", "rb").read()).hexdigest()[:16])' 2>/dev/null)
STAMP := .venv/installed-$(or $(KEY),nothing)

.PHONY: help results notebooks check test figures slow ci clean
.NOTPARALLEL:

help:
	@echo 'make results     run the labs that changed and write data/results (LABS="mnist_dpsgd"'
	@echo '                 for one; JOBS=4 for several side by side)'
	@echo 'make notebooks   make the notebooks from the sources, catalogs and results'
	@echo 'make check       say which results and notebooks are out of date, and why'
	@echo 'make test        lint the code, then run the fast tests'
	@echo 'make figures     run the fast labs in full, and compare with the committed results'
	@echo 'make ci          check, test and figures: what continuous integration runs'
	@echo 'make slow        run the slow tests'
	@echo 'make clean       delete .venv and what the commands leave behind (not the results)'
	@echo 'PYTHON=python3.12 picks the Python to use: 3.11, 3.12 or 3.13'

results: $(STAMP)
	$(RUN) build_results.py --jobs $(JOBS) $(LABS)

notebooks: $(STAMP)
	$(RUN) build_notebooks.py

check: $(STAMP)
	$(RUN) build_results.py --check

test: $(STAMP)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m pytest

figures: $(STAMP)
	$(RUN) -m pytest -m slow tests/notebooks/test_quick_runs.py::test_figures_are_the_committed_ones

ci: check test figures

slow: $(STAMP)
	$(RUN) -m pytest -m slow

clean:
	rm -rf .venv build .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP):
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no $(PYTHON) here: install Python 3.11, 3.12 or 3.13, or name one: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "The course needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is $$($(PYTHON) -c 'import platform; print(platform.python_version())'). Name another: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up .venv from requirements.txt ..."
	@rm -f .venv/installed-*
	@$(PYTHON) -m venv --clear .venv
	@$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@
