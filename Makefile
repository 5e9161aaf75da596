# Two commands do everything on a machine with Python 3.11+ and a Rust toolchain:
#   make demo    build, install into .venv, show the library, then protect a survey that ships with the toolkit
#   make test    build and run everything that must pass
PYTHON ?= python3
BIN := .venv/bin

# Modules are compiled when they are first imported; most never are.
export PIP_COMPILE := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-all test-rest python test-oldest test-alone fuzz mutants sanitize bench bench-short bench-engines test-engines test-browser test-clients vectors golden families study adult census paper pictures docs tutorials notebooks licenses fmt build build-test build-bench wheel wheels rust lint types

.venv/ready: pyproject.toml survey/pyproject.toml
	$(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet "maturin>=1.16,<2" && touch $@

# The profile `quick` of Cargo.toml: compiled by two processors at once, and draws as fast. What is measured or given
# away is built with --release.
build: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --profile quick --locked --quiet >/dev/null
	$(BIN)/python -m pip install --quiet -e ./survey

demo: build
	$(BIN)/python examples/library.py
	$(BIN)/bistochastic demo

# The two halves take about as long, until the second one comes to pytest.
test:
	$(MAKE) -j2 rust python

# The second tier: what few changes can break, or takes long. What needs a Java, a browser or emulation has a command of
# its own: test-engines, test-browser, wheels, sanitize. The workflow runs test-rest next to test.
test-all: test
	$(MAKE) test-rest

test-rest:
	$(MAKE) test-alone test-oldest tutorials test-clients fuzz mutants

# Bytecode is kept, whatever the shell says: else each process that a test starts compiles the package again.
python: lint types docs
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto

# qif is an independent judge of leakage and entropy; its tests are skipped where it has no wheel.
build-test: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --profile quick --locked --quiet --extras test >/dev/null
	$(BIN)/python -m pip install --quiet -e "./survey[test,docs]"
	-@$(BIN)/python -m pip install --quiet --only-binary :all: "qif>=1.6" 2>/dev/null

build-bench: build-test
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --locked --quiet >/dev/null

# Without the feature, the tests compile the core once more. Cargo takes both processors, whatever make thinks.
rust:
	cargo fmt --check
	MAKEFLAGS= cargo clippy --locked --all-targets --features python --quiet -- -D warnings
	MAKEFLAGS= cargo clippy --locked --all-targets --quiet -- -D warnings
	MAKEFLAGS= cargo test --locked --quiet
	MAKEFLAGS= RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --quiet

lint: build-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: build-test
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest bistochastic._core

# The library's tests and those of what crosses to Arrow, with the oldest NumPy and pyarrow that both pyproject.toml allow,
# in an environment of its own.
OLDEST := .venv/oldest
test-oldest: build-test
	$(PYTHON) -m venv $(OLDEST)
	grep -ohE '"(numpy|pyarrow)>=[0-9.]+"' survey/pyproject.toml | sed 's/"\(.*\)>=\(.*\)"/\1==\2.*/' > $(OLDEST)/constraint.txt
	PIP_CONSTRAINT=$(OLDEST)/constraint.txt $(OLDEST)/bin/python -m pip install --quiet numpy pyarrow scipy click rich jinja2 \
		pytest hypothesis pytest-timeout pytest-xdist mpmath matplotlib pandas polars duckdb
	cp -R .venv/lib/python3*/site-packages/bistochastic*.dist-info $(OLDEST)/lib/python3*/site-packages/
	PYTHONPATH=python:survey $(OLDEST)/bin/python -m pytest -n auto tests survey/tests/table survey/tests/files/test_parquet.py

# The library's tests as its sdist has them, with NumPy and without the toolkit; what needs more is skipped and counted.
ALONE := .venv/alone
test-alone: build-test
	$(PYTHON) -m venv $(ALONE)
	$(ALONE)/bin/python -m pip install --quiet numpy pytest hypothesis pytest-timeout pytest-xdist mpmath
	PYTHONPATH=python $(ALONE)/bin/python -m pytest -n auto -rs tests

# Fresh cases every time, unless SEED is given; a failure prints the command that shows it again.
SECONDS ?= 60
SEED ?=
fuzz: build-test
	$(BIN)/python survey/tests/fuzz --seconds $(SECONDS) --seed "$(SEED)"

# Faults on purpose, one at a time, in copies below target/mutants; FAULTS= names some of them.
FAULTS ?=
mutants: build-test
	$(BIN)/python -m mutants $(FAULTS)

# What this machine cannot run is said and is no failure. `NIGHTLY=` names another nightly toolchain.
sanitize:
	sh scripts/sanitize.sh

# Real engines in an environment of their own, on the loopback address; Spark needs a Java. PySpark does not support
# pandas 3 yet.
ENGINES := .venv/engines/bin/python
.venv/engines/ready: Makefile
	$(PYTHON) -m venv .venv/engines
	$(ENGINES) -m pip install --quiet pytest pytest-timeout hypothesis numpy scipy click rich jinja2 "pyspark[connect]>=4" \
		"ray[data]>=2.50" "dask[dataframe]>=2025" distributed "duckdb>=1.3" "polars>=1" "pyarrow>=17" "pandas>=2.2,<3"
	touch $@

# Both packages as wheels: engines start processes of their own, which have to find them.
define install-engines
	rm -rf .venv/wheel
	$(BIN)/maturin build $(1) --locked --quiet --out .venv/wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir .venv/wheel ./survey
	$(ENGINES) -m pip install --quiet --force-reinstall --no-deps .venv/wheel/*.whl
endef

test-engines: .venv/ready .venv/engines/ready
	$(call install-engines,--profile quick)
	$(ENGINES) -m pytest -W default $(addprefix survey/tests/release/test_,engine_spark.py engine_ray.py engine_dask.py \
		engine_pages.py engines_light.py)

bench-engines: .venv/ready .venv/engines/ready
	$(call install-engines,--release)
	$(ENGINES) benches/engines.py

# Pages in a real Chromium, driven from an environment of its own; pictures of them are left in .venv/browser/pictures.
# INSTALL=1 installs Debian's Chromium. The tests see the packages of .venv, and selenium and axe-core beside them.
BROWSER := .venv/browser
test-browser: build-test
	@if [ -n "$(INSTALL)" ]; then apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver; fi
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { echo "Chromium is missing: make test-browser INSTALL=1 installs Debian's"; exit 1; }
	@command -v chromedriver || { echo "chromedriver is missing: make test-browser INSTALL=1 installs Debian's chromium-driver"; exit 1; }
	$(PYTHON) -m venv $(BROWSER)
	$(BROWSER)/bin/python -m pip install --quiet "selenium>=4.20" "axe-core-python>=0.1"
	PYTHONPATH=python:survey:$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") \
		BISTOCHASTIC_SCREENSHOTS=$(BROWSER)/pictures $(BROWSER)/bin/python -m pytest survey/tests/report/test_browser.py

# The vectors of docs/protocol.md in every client: Node and Chromium, of Debian or any other.
test-clients: build-test
	BISTOCHASTIC_CLIENTS=1 $(BIN)/python -m pytest survey/tests/test_clients.py survey/tests/test_protocol.py survey/tests/test_service.py

# After a change of docs/protocol.md that adds cases: vectors never change, they are only added to.
vectors: build-test
	$(BIN)/python tools/vectors.py

# After a new family: its schema, exports, rows in the pages, vectors and golden values.
families: build-test
	$(BIN)/python tools/families.py && $(BIN)/python tools/vectors.py && $(BIN)/python tools/golden.py

# After a new case: golden values never change, they are only added to.
golden: build-test
	$(BIN)/python tools/golden.py

# All that README and pages publish, measured and written there: at most ten minutes, if nothing else runs.
bench-short: build-bench
	$(BIN)/python benches/performance.py
	$(BIN)/python benches/frequency.py

bench: bench-short
	$(BIN)/python benches/compare.py
	$(BIN)/python benches/randomize.py
	$(BIN)/python benches/ids.py
	$(BIN)/python benches/birkhoff.py
	$(BIN)/python benches/estimate.py
	$(BIN)/python benches/mdav_numpy.py
	$(BIN)/python benches/numeric.py
	$(BIN)/python benches/tables_numpy.py
	$(BIN)/python benches/models.py
	$(BIN)/python benches/plan.py
	$(BIN)/python benches/protect.py
	$(BIN)/python benches/units.py
	$(BIN)/python benches/audit.py
	$(BIN)/python benches/pages.py
	$(BIN)/python benches/choose.py
	$(BIN)/python benches/shuffled.py
	$(BIN)/python benches/clients.py
	$(MAKE) bench-engines

# Needs adult.csv (UCI) in the folder that BISTOCHASTIC_DATA names.
adult: build-bench
	$(BIN)/python benches/adult.py --plot docs/pictures/adult.png > .venv/adult.md
	sed -i '/^## Methods compared on census data/,$$d' docs/explanation/estimation.md
	cat .venv/adult.md >> docs/explanation/estimation.md

# Coverage of intervals over keys and resamples of Adult and of a household survey, levels of tests, and intervals that are
# watched; needs adult.csv and sdcmicro_testdata.csv in the same folder.
study: build-test
	$(BIN)/python benches/coverage.py
	$(BIN)/python benches/households.py
	$(BIN)/python benches/levels.py

# Needs census.csv (CASC) in the same folder; writes the table of docs/howto/numeric.md.
census: build-bench
	$(BIN)/python benches/census.py
	$(BIN)/python benches/three_ways.py

paper: build
	$(BIN)/python docs/paper/recompute.py > docs/explanation/paper.md

pictures: build-test
	$(BIN)/python examples/pictures.py docs/pictures

# The site, in .venv/site: offline, and any warning is an error. Tests look at it if it is there.
docs: build-test
	rm -rf .venv/site
	$(BIN)/python -m sphinx -q -E -W --keep-going -j 2 -b html -d .venv/doctrees docs .venv/site

# Runs the tutorials and compares what they show with what is stored in them.
tutorials: build-test
	$(BIN)/python tools/notebooks.py --check docs/tutorials/*.ipynb

# Runs the tutorials and stores what they show; needs no Jupyter.
notebooks: build-test
	$(BIN)/python tools/notebooks.py docs/tutorials/*.ipynb

# After a change of Cargo.lock.
licenses:
	$(PYTHON) tools/licenses.py

fmt: build-test
	cargo fmt
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: .venv/ready
	$(BIN)/maturin build --release --locked --out dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist ./survey

# What a release gives away of both, for Linux on x86-64 and ARM: built, checked, and tried where there is no Rust.
wheels:
	$(PYTHON) tools/wheels.py
