# Every target sets itself up: the first run makes .venv from requirements.txt, later ones reuse it.
PYTHON ?= python3
PORT ?= 8000
JOBS ?= 2
BIN := .venv/bin
READY := .venv/.ready
SITE := _build/html
PDF := _build/where-am-i.pdf
CHAPTERS := $(wildcard chapters/*.ipynb)
NOTEBOOKS := $(CHAPTERS) $(wildcard chapters/exercises/*.ipynb)
STUDENT := _build/student
GRADING := .venv-grading/bin

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help book pdf test lint browser colab serve student notebooks gpu bench clean grader assignment grade

help:
	@echo "make book       execute the chapters and build the site in $(SITE)"
	@echo "make pdf        the whole book as one PDF (needs a browser)"
	@echo "make test       lint, unit and parity tests, the site in a browser, and every notebook"
	@echo "make colab      an environment with Colab's versions, for the tests of the Colab copies"
	@echo "make browser    install Chromium, on Debian and Ubuntu"
	@echo "make serve      open the built site on http://localhost:$(PORT)"
	@echo "make student    the exercises without their solutions, in $(STUDENT)"
	@echo "make notebooks  execute the chapters in place and tidy them for a commit"
	@echo "make gpu        run and record the chapters' GPU sections (needs CUDA)"
	@echo "make bench      posenc beside its peers and beside the machine's limits"
	@echo "make grader     an environment and a sandbox for grading, for instructors"
	@echo "make assignment NAME=02_sinusoidal    what to hand out, and what to grade it with"
	@echo "make grade SUBMISSIONS=folder         grades and feedback for a folder of notebooks"
	@echo "make clean      remove everything that was built"

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Python 3.11 or later is needed, this is %d.%d; try: make PYTHON=python3.12 ..." % v[:2])'
	@echo "==> Setting up .venv (the first time takes a few minutes)"
	@$(PYTHON) -m venv .venv || { echo "On Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/pip install --quiet -r requirements.txt
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

book: $(READY)
	@echo "==> Executing what changed and building the site (up to 10 minutes the first time)"
	@$(BIN)/jupyter-book build . -nW --keep-going
	@echo "==> The book is in $(SITE)"
	@echo "    open $(SITE)/index.html in a browser, or type: make serve"

pdf: $(READY)
	@echo "==> Building the book as one page and printing it"
	@$(BIN)/jupyter-book build . -nW --keep-going --builder custom --custom-builder singlehtml
	@$(BIN)/python -m _ext.pdf _build/singlehtml/chapters/index.html $(PDF)
	@echo "==> The book is in $(PDF)"

test: $(READY) lint
	@echo "==> Unit, parity and property tests, and the built site in a browser"
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist loadscope -m "not alone" tests
	@$(BIN)/python -m pytest -q -m alone tests
	@echo "==> Every notebook, strictly compared with what is committed"
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist loadscope -rs --nbval chapters

lint: $(READY)
	@echo "==> Lint and format"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/python -m _ext.notebooks check $(NOTEBOOKS)
	@$(BIN)/actionlint

browser:
	@$(PYTHON) -c 'from _ext import browser; raise SystemExit(browser.find() is None)' || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }

colab: .venv-colab/.ready

.venv-colab/.ready: tests/colab-requirements.txt
	@echo "==> Setting up .venv-colab, with what Colab has installed (a few minutes)"
	@$(PYTHON) -m venv .venv-colab
	@.venv-colab/bin/python -m pip install --quiet -r $<
	@touch $@

grader: .venv-grading/.ready
	@command -v bwrap >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap; }

.venv-grading/.ready: grading/requirements.txt pyproject.toml README.md $(shell find posenc -type f -not -name '*.pyc')
	@echo "==> Setting up .venv-grading, which has Otter, and posenc as it is now"
	@test -d .venv-grading || $(PYTHON) -m venv .venv-grading
	@$(GRADING)/python -m pip install --quiet -r $<
	@$(GRADING)/python -m pip install --quiet --no-deps --force-reinstall $$($(GRADING)/python -m _ext.wheel .venv-grading/wheels)
	@touch $@

assignment: grader
	@$(GRADING)/python -m grading.assign "$(NAME)"

grade: grader
	@$(GRADING)/python -m grading.grade "$(SUBMISSIONS)" --name "$(NAME)" --out "$(OUT)" --jobs $(JOBS)

serve: $(READY)
	@test -d $(SITE) || { echo "Nothing is built yet; type: make book"; exit 1; }
	@echo "==> http://localhost:$(PORT) (Ctrl-C stops)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

student: $(READY)
	@$(BIN)/python -m _ext.student $(STUDENT)

notebooks: $(READY)
	@$(BIN)/ruff check --fix --quiet chapters
	@$(BIN)/ruff format --quiet chapters
	@$(BIN)/python -m _ext.notebooks run $(NOTEBOOKS)

gpu: $(READY)
	@$(BIN)/python -c 'import sys, torch; torch.cuda.is_available() or sys.exit("No CUDA device: the GPU sections stay skipped.")'
	@$(BIN)/python -m _ext.notebooks run --gpu $(CHAPTERS)
	@$(BIN)/python -m pytest -q -rs --nbval chapters

bench: $(READY)
	@$(BIN)/python -m benchmarks

clean:
	rm -rf _build .venv .venv-colab .venv-grading .pytest_cache .ruff_cache .hypothesis *.egg-info
