# Every target works on a fresh machine with Python 3.11 or newer: it builds .venv first, from files whose SHA-256 is locked.
PYTHON ?= python3
BIN := .venv/bin
LOCKED := $(BIN)/pip install -q --require-hashes --no-deps

.PHONY: demo test check bench lock clean

demo: .venv/ready  ## why two forum posts match, in the terminal and as why.html
	$(BIN)/whymatch align examples/question.txt examples/duplicate.txt --html why.html

test: .venv/ready  ## the whole test suite
	$(BIN)/pytest -n auto -rs

check: .venv/ready  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/ready  ## ours beside peers, as ratios; lapjv joins in where it can be built
	-$(LOCKED) --no-build-isolation -r locks/bench.txt
	$(BIN)/python -m benchmarks.exact
	$(BIN)/python -m benchmarks.sinkhorn
	$(BIN)/python -m benchmarks.aligning
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.rules

# Which build of torch fits a machine is for its pip to say: it downloads one, and that must be among those of the lock. A
# build for CUDA requires NVIDIA's libraries, one for CPUs does not. `pip check` finds any package that the locks lack.
# whymatch is built by the hatchling that is installed: otherwise pip would fetch one that nobody has checked.
.venv/ready: pyproject.toml constraints.txt $(wildcard locks/*.txt)
	$(PYTHON) -m venv .venv
	$(BIN)/pip download -q --no-deps --only-binary :all: -c constraints.txt -d .venv/torch torch
	$(LOCKED) --no-index -f .venv/torch -r locks/torch.txt
	rm -r .venv/torch
	if $(BIN)/pip show torch | grep -q '^Requires:.*nvidia'; then $(LOCKED) -r locks/cuda.txt; fi
	$(LOCKED) -r locks/develop.txt
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	$(BIN)/pip check
	touch $@

lock: .venv/ready  ## locks/*.txt anew, from pyproject.toml and constraints.txt
	$(LOCKED) -r locks/uv.txt
	PATH="$(BIN):$$PATH" $(BIN)/python .ci/lock

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
