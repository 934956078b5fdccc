# make demo: the whole pipeline on the embedded sample.   make test: the test suite.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test core coverage other-kernels docs docs-figures notebooks lint slow kills fuzz hostile journeys mutants bench tables peers clean

demo: .venv/.stamp
	$(BIN)/ssi demo

# Where an image turns it off, every process that a test starts would compile its Python anew.
export PYTHONDONTWRITEBYTECODE :=

# A file of tests is of one worker, and the longest begin (tests/conftest.py).
PYTEST := $(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder

KERNELS := tests/kernels tests/guests/clickthrough/test_topics.py tests/guests/clickthrough/test_logistic.py tests/guests/reranking/test_ranknet.py

# Kernels as Python are tested while the workers load; what that prints comes last.
test: .venv/.stamp
	@log=$$(mktemp); trap 'rm -f $$log' EXIT; \
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q $(KERNELS) >$$log 2>&1 & kernels=$$!; \
	$(PYTEST); suite=$$?; \
	wait $$kernels; kernels=$$?; \
	if [ $$kernels = 0 ]; then echo "kernels as Python: $$(tail -n 1 $$log)"; else cat $$log; fi; \
	[ $$suite = 0 ] && [ $$kernels = 0 ]

# The tests of the core on a copy of the tree without guests.
core: .venv/.stamp
	tests/without_guests.sh

# All tests, and the share of the lines that they run; it takes a third longer.
coverage: .venv/.stamp
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q --cov --cov-report= $(KERNELS)
	$(PYTEST) --cov --cov-append --cov-report=term:skip-covered --cov-fail-under=90

# Trainings on kernels of a processor without AVX: no result may depend on the last bits. One small
# training of each model; all tests that train with TRAININGS= (before a release).
TRAININGS := tests/models/test_every_model.py tests/models/test_across.py tests/training
other-kernels: .venv/.stamp
	OPENBLAS_CORETYPE=Prescott NUMBA_CPU_NAME=x86-64 NUMBA_CPU_FEATURES= \
	  $(PYTEST) -m "trains and not slow" $(TRAININGS)

# The documentation as a site, in site/, with its search: a link to nowhere is an error. The builder keeps pages in files of
# .cache, although docstrings have changed.
docs: .venv/.stamp
	rm -rf site
	mkdir -p .cache && find .cache -maxdepth 1 -type f -delete
	$(BIN)/python -m zensical build --strict
	$(BIN)/ssi site site --out site/search
	$(BIN)/pytest -q -m "slow or not slow" tests/docs/test_site.py

# Figures of the pages, from docs/results (docs/numbers.md).
docs-figures: .venv/.stamp
	$(BIN)/python -m tests.docs

slow: .venv/.stamp
	$(PYTEST) -m "slow and not kill"

# SSI_KILLS=100 for more of them; a line for each tells the write that it came before.
kills: .venv/.stamp
	$(BIN)/pytest -q -s -m kill

# Properties on more examples, and damaged files.
fuzz: .venv/.stamp
	SSI_EXAMPLES=1000 $(BIN)/pytest -q -n 2 -m hypothesis --ignore=tests/robust
	SSI_FUZZ_EXAMPLES=2000 SSI_FLIPS=500 $(BIN)/pytest -q -s tests/robust/test_fuzz.py tests/robust/test_flips.py tests/corpus/test_hostile.py

# Folders, archives and requests of strangers.
hostile: .venv/.stamp
	$(BIN)/pytest -q -m hostile

# One change of the code at a time, and whether a test of its room fails: an hour, after the half of
# one that tells which tests run a line. MUTANTS="--number 20".
MUTANTS := --number 150
mutants: .venv/.stamp
	$(BIN)/python -m tests.reach
	$(BIN)/python -m tests.mutants $(MUTANTS)

# Pages typed by a stranger on a terminal, in a table: seven minutes, which need the ports of the pages.
journeys: .venv/.stamp
	$(BIN)/python -m tests.flows.journeys

bench: .venv/.stamp
	$(BIN)/python -m benchmarks

# All tables of docs/results with three seeds, cheapest first: days. DATA=/data TABLES="--hours 2", or --list for the hours alone.
TABLES :=
tables: .venv/.stamp
	$(BIN)/python -m benchmarks.tables "$(or $(DATA),$(SSI_REAL_DATA))" $(TABLES)

# Engines and programs that tests compare with are installed, and these tests run. Tests of those
# of npm are skipped where it is missing.
PEERS_OF_NPM := @electric-sql/pglite@0.5.14 @electric-sql/pglite-pgvector@0.0.15
peers: .venv/.stamp
	$(BIN)/python -m pip install -q --require-hashes -r requirements-peers.lock
	npm install --silent --no-save --prefix .cache/peers $(PEERS_OF_NPM) || true
	$(PYTEST) -m "not kill" tests/guests/export tests/guests/clickthrough/test_translation_model.py \
	  tests/guests/clickthrough/test_projection.py tests/guests/pyterrier tests/docs/test_engines.py \
	  tests/guests/trec_run/test_runs.py tests/views/test_bm25.py tests/datasets/test_irds.py \
	  tests/face/test_found.py tests/corpus/test_progress.py

# What the notebooks show, which tests/face/test_pages.py compares.
notebooks: .venv/.stamp
	$(BIN)/python -m tests.face.notebooks

lint: .venv/.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv .ssi .cache build *.egg-info

# The lock holds exact versions with hashes; uv installs it faster and is used when it is there.
.venv/.stamp: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "ssi needs Python 3.11, 3.12 or 3.13: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	uv pip install -q --python $(BIN)/python --require-hashes -r requirements.lock 2>/dev/null || { \
	  $(BIN)/python -m pip install -q --upgrade pip && \
	  $(BIN)/python -m pip install -q --require-hashes -r requirements.lock; }
	$(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .
	touch $@

requirements-peers.lock: | requirements.lock
	uv pip compile -q --universal --extra peers --constraint requirements.lock --generate-hashes --no-emit-index-url --no-annotate --no-header pyproject.toml -o $@

requirements.lock: | pyproject.toml
	uv pip compile -q --universal --extra dev --generate-hashes --no-emit-index-url --no-annotate --no-header pyproject.toml -o $@
