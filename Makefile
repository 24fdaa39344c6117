# Every target sets itself up: the first run makes .venv from requirements.txt, later ones reuse it.
# What a machine cannot provide (no apt, no root) is said, and its tests are reported as skipped;
# with CI=true it is an error instead.
PYTHON ?= python3
PORT ?= 8000
JOBS ?= 2
BIN := .venv/bin
READY := .venv/.ready
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(JOBS) --dist loadscope # and what they start
CORE := $(wildcard $(patsubst posenc/%.py,tests/test_%.py,$(wildcard posenc/[a-z]*.py))) tests/test_refusals.py
SITE := _build/html
PDF := _build/where-am-i.pdf
CHAPTERS := $(wildcard chapters/*.ipynb)
NOTEBOOKS := $(CHAPTERS) $(wildcard chapters/exercises/*.ipynb)
STUDENT := _build/student
GRADING := .venv-grading/bin
BROWSER := $(PYTHON) -c 'from _ext import browser; raise SystemExit(browser.find() is None)'

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help book pdf test test-all built compared quick lint mutants tools browser colab serve student notebooks gpu bench clean grader assignment grade

help:
	@echo "make book       execute the chapters and build the site in $(SITE)"
	@echo "make pdf        the whole book as one PDF (needs a browser)"
	@echo "make test       provides what the tests need, builds the book and tests it: 25 minutes"
	@echo "make test-all   all of it: what takes long, measures time, asks of every page: as in CI, an hour"
	@echo "make quick      lint and the tests of posenc's core, in a minute: for every save"
	@echo "make serve      open the built site on http://localhost:$(PORT)"
	@echo "make student    the exercises without their solutions, in $(STUDENT)"
	@echo "make notebooks  execute the chapters in place and tidy them for a commit"
	@echo "make gpu        run and record the chapters' GPU sections (needs CUDA)"
	@echo "make bench      posenc beside its peers and beside the machine's limits"
	@echo "make grader     an environment and a sandbox for grading, for instructors"
	@echo "make assignment NAME=02_sinusoidal    what to hand out, and what to grade it with"
	@echo "make grade SUBMISSIONS=folder         grades and feedback for a folder of notebooks"
	@echo "make mutants    plant small faults in posenc and count those that its tests notice: hours"
	@echo "make tools      what only tests and graders need: Chromium, Colab's versions, the grader's, a sandbox"
	@echo "make clean      remove everything that was built"
	@echo
	@echo "On Linux the plain torch brings gigabytes of CUDA libraries, which only 'make gpu' needs."
	@echo "To set up without them, put this before the first command:"
	@echo "    export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu"

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Python 3.11 or later is needed, this is %d.%d; try: make PYTHON=python3.12 ..." % v[:2])'
	@echo "==> Setting up .venv (the first time takes a few minutes)"
	@$(PYTHON) -m venv .venv || { echo "On Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/pip install --quiet -r requirements.txt
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

book: $(READY)
	@echo "==> Executing what changed and building the site (up to 10 minutes the first time)"
	@OMP_NUM_THREADS=1 $(BIN)/jupyter-book build . -nW --keep-going # a chapter a core
	@echo "==> The book is in $(SITE)"
	@echo "    open $(SITE)/index.html in a browser, or type: make serve"

pdf: $(READY)
	@echo "==> Building the book as one page and printing it"
	@$(BIN)/jupyter-book build . -nW --keep-going --builder custom --custom-builder singlehtml
	@$(BIN)/python -m _ext.pdf _build/singlehtml/chapters/index.html $(PDF)
	@echo "==> The book is in $(PDF)"

test: SOME := --some
test test-all: $(READY) lint tools
	@echo "==> The book, and notebooks strictly compared with what is committed: minutes"
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target built compared SOME=$(SOME)
	@echo "==> Unit, parity and property tests, and the built site in a browser"
	@$(PYTEST) --no-loadscope-reorder -n $$(($(JOBS) + 1)) -m "not alone" $(SOME) tests # one more, for some wait
	@test "$(SOME)" || $(BIN)/python -m pytest -q -m alone $$(grep -l mark.alone tests/test_*.py)

built: book
	@if $(BROWSER); then $(MAKE) --no-print-directory pdf; \
	else $(call without,the PDF (it needs a browser),its tests); fi

# Beside the book, which is let go before, for one core alone does the last part of it. Chapters as
# the book executes them are compared by tests/test_chapters.py; for test-all nbval executes all.
compared: $(READY)
	@nice -n 5 env $(PYTEST) -rs --nbval $(if $(SOME),chapters/exercises,chapters)

quick: $(READY) lint
	@echo "==> The tests of posenc's core"
	@$(PYTEST) --tb=short -m "not alone" $(CORE)

mutants: $(READY)
	@$(BIN)/pip install --quiet mutmut==3.8.1
	@$(BIN)/mutmut run $(MUTANTS)
	@$(BIN)/mutmut results

lint: $(READY)
	@echo "==> Lint and format"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/python -m _ext.notebooks check $(NOTEBOOKS)
	@$(BIN)/actionlint

tools: browser colab grader

# What is missing, and what is skipped without it: fails in CI, elsewhere it only says so
define without
{ echo "==> Not provided: $(1). Skipped without it: $(2)."; test -z "$$CI"; }
endef

browser:
	@$(BROWSER) \
	|| { echo "==> Installing Chromium"; apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } \
	|| $(call without,Chromium (install it, or set CHROMIUM to a browser's path),the tests of the site and of the PDF)

colab: .venv-colab/.ready

.venv-colab/.ready: tests/colab-requirements.txt
	@echo "==> Setting up .venv-colab, with what Colab has installed (a few minutes)"
	@$(PYTHON) -m venv .venv-colab
	@.venv-colab/bin/python -m pip install --quiet -r $<
	@touch $@

grader: .venv-grading/.ready
	@command -v bwrap >/dev/null \
	|| { echo "==> Installing bubblewrap"; apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap libseccomp2; } \
	|| $(call without,bubblewrap (install the packages bubblewrap and libseccomp2),the tests that grade submissions)

.venv-grading/.ready: grading/requirements.txt pyproject.toml README.md $(shell find posenc -type f -not -name '*.pyc')
	@echo "==> Setting up .venv-grading, which grades, with posenc as it is now"
	@test -d .venv-grading || $(PYTHON) -m venv .venv-grading
	@$(GRADING)/python -m pip install --quiet -r $<
	@$(GRADING)/python -m pip install --quiet --no-deps --force-reinstall $$($(GRADING)/python -m _ext.wheel .venv-grading/wheels)
	@touch $@

assignment: grader
	@$(GRADING)/python -m grading.assign "$(NAME)"

grade: grader
	@$(GRADING)/python -m grading.grade "$(SUBMISSIONS)" --name "$(NAME)" --out "$(OUT)" \
		--gradebook "$(GRADEBOOK)" --jobs $(JOBS) $(OPTIONS)

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
	rm -rf _build .venv .venv-colab .venv-grading .pytest_cache .ruff_cache .hypothesis mutants *.egg-info
