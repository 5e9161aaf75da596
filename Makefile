# Two commands do everything on a machine with Python 3.11+ and a Rust toolchain:
#   make demo    build, install into .venv, run the main job on data that ships with the package
#   make test    build and run everything that must pass
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test fuzz mutants sanitize bench study adult census paper pictures licenses fmt build build-test wheel rust lint types

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet "maturin>=1.16,<2" && touch $@

build: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --locked --quiet >/dev/null

demo: build
	$(BIN)/bistochastic demo

test: rust build-test lint types
	$(BIN)/python -m pytest -n auto

# qif is an independent judge of leakage and entropy; its tests are skipped where it has no wheel.
build-test: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --locked --quiet --extras test >/dev/null
	-@$(BIN)/python -m pip install --quiet --only-binary :all: "qif>=1.6" 2>/dev/null

rust:
	cargo fmt --check
	cargo clippy --locked --all-targets --quiet -- -D warnings
	cargo clippy --locked --all-targets --features python --quiet -- -D warnings
	cargo test --locked --quiet

lint: build-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: build-test
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest bistochastic._core

# Fresh cases every time, unless SEED is given; a failure prints the command that shows it again.
SECONDS ?= 60
SEED ?=
fuzz: build-test
	$(BIN)/python tests/fuzz --seconds $(SECONDS) --seed "$(SEED)"

# A build of its own below target/, with every fault on purpose; a table of who finds them.
mutants: build-test
	$(BIN)/python -m mutants

# What this machine cannot run is said and is no failure. `NIGHTLY=` names another nightly toolchain.
sanitize:
	sh scripts/sanitize.sh

bench: build-test
	$(BIN)/python benches/compare.py
	$(BIN)/python benches/randomize.py
	$(BIN)/python benches/birkhoff.py
	$(BIN)/python benches/estimate.py
	$(BIN)/python benches/mdav_numpy.py
	$(BIN)/python benches/numeric.py
	$(BIN)/python benches/tables_numpy.py
	$(BIN)/python benches/plan.py

# Needs adult.csv (UCI) in the folder that BISTOCHASTIC_DATA names.
adult: build-test
	$(BIN)/python benches/adult.py --plot docs/pictures/adult.png > .venv/adult.md
	mv .venv/adult.md docs/adult.md

# Coverage of intervals over keys and resamples of Adult; needs adult.csv in the same folder.
study: build-test
	$(BIN)/python benches/coverage.py

# Needs census.csv (CASC) in the same folder; writes the table of docs/numeric.md.
census: build-test
	$(BIN)/python benches/census.py

paper: build
	$(BIN)/bistochastic paper --markdown > docs/paper.md

pictures: build-test
	$(BIN)/python examples/pictures.py docs/pictures

# After a change of Cargo.lock.
licenses:
	$(PYTHON) tools/licenses.py

fmt: build-test
	cargo fmt
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: .venv/ready
	$(BIN)/maturin build --release --locked --out dist
