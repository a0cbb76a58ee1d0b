# Every target works on a fresh machine with Python 3.11 or newer: it builds .venv first, with pinned versions.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench clean

demo: .venv/ready  ## why two forum posts match, in the terminal and as why.html
	$(BIN)/whymatch align examples/question.txt examples/duplicate.txt --html why.html

test: .venv/ready  ## the whole test suite
	$(BIN)/pytest -n auto --dist loadgroup -rs

check: .venv/ready  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/ready  ## ours beside peers, as ratios; lapjv joins in where it can be built
	-$(BIN)/pip install -q -c constraints.txt lapjv
	$(BIN)/python -m benchmarks.exact
	$(BIN)/python -m benchmarks.sinkhorn
	$(BIN)/python -m benchmarks.aligning
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.rules

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
