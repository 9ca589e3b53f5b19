# Everything that a checkout can do. Each target sets up what it needs, in
# .venv and target/, and starts at once when nothing has changed.

SHELL := /bin/bash -o pipefail
VENV := .venv
BIN := $(VENV)/bin
NARTHEX := $(BIN)/narthex
PYTHON ?= $(shell for each in python3.11 python3 python3.12 python3.13; do \
	"$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$each" && break; done)
C_FILES = $(shell find guest -name '*.[ch]')
# All of them: cargo does not see models and protocols, which build scripts find.
RUST_FILES = $(shell find . \( -name target -o -name .venv \) -prune -o -name '*.rs' -print)
RUST_SOURCES := $(shell find kernel memory cores fabrics interfaces machine schedules observation checking python/src \
	-name target -prune -o \( -name '*.rs' -o -name '*.toml' \) -print) python/Cargo.toml Cargo.toml Cargo.lock
# Interfaces of the user's own: make setup MODELS=/path/to/folder.
export NARTHEX_MODELS := $(if $(MODELS),$(abspath $(MODELS)))
# The same for interconnects: make setup INTERCONNECTS=/path/to/folder.
export NARTHEX_INTERCONNECTS := $(if $(INTERCONNECTS),$(abspath $(INTERCONNECTS)))
OWN_FOLDERS = $(NARTHEX_MODELS)$(addprefix :,$(NARTHEX_INTERCONNECTS))

# What has tests with values of chance.
PROPERTY_CRATES = $(addprefix -p narthex-,$(patsubst %/Cargo.toml,%,$(shell grep -l '^proptest' */Cargo.toml)))
PROPERTY_FILES = $(shell grep -l '^@given' python/tests/*.py)

.PHONY: help demo test lint rust-lint rust-test python-test hardware bench fuzz properties mutants directory-mutants identity experiments headers pages fmt docs guide lock \
	wheel wheel-test setup clean
.DEFAULT_GOAL := help

help: ## Print this.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-13s %s\n", $$1, $$2}'

# --- set-up -------------------------------------------------------------------

INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --quiet

$(VENV)/.packages: requirements.lock
	@test -n "$(PYTHON)" || { echo "Narthex needs Python 3.11 or newer; name one with make PYTHON=..."; exit 1; }
	@echo "[1/2] Python packages into $(VENV) (once, about half a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) -r requirements.lock
	@touch $@

# What only developers need, of the same versions.
$(VENV)/.develop: requirements-develop.lock $(VENV)/.packages
	@echo "Developers' packages into $(VENV) (once, about half a minute)"
	@$(INSTALL) -r requirements-develop.lock
	@touch $@

$(VENV)/.models: $(if $(shell test "$(OWN_FOLDERS)" = "$$(cat $(VENV)/.models 2>/dev/null)" || echo changed),changed)
	@mkdir -p $(VENV) && echo "$(OWN_FOLDERS)" > $@

.PHONY: changed
changed:

$(VENV)/.native: $(VENV)/.packages $(VENV)/.models pyproject.toml $(RUST_SOURCES) $(wildcard $(NARTHEX_MODELS)/*.rs $(NARTHEX_INTERCONNECTS)/*.rs)
	@command -v cargo >/dev/null || { echo "Narthex needs a Rust toolchain (cargo, 1.90 or newer) on the PATH"; exit 1; }
	@echo "[2/2] The simulator (Rust, release build; about four minutes on two processors the first time)"
	@VIRTUAL_ENV="$(abspath $(VENV))" PATH="$(abspath $(BIN)):$$PATH" \
		$(BIN)/maturin develop --release --locked 2>&1 | grep -v '^Requirement already'
	@touch $@

setup: $(VENV)/.native ## Set up .venv, with .venv/bin/narthex; MODELS=folder adds interfaces of your own, INTERCONNECTS=folder interconnects.

# --- what a user runs ---------------------------------------------------------

demo: setup ## Print round-trip latency and bandwidth of three NIs beside the published values.
	@$(NARTHEX) experiment hpca98/roundtrip hpca98/bandwidth --interface NI2w,CNI512Q,CNI32Qm

experiments: setup ## Run every experiment: results into results/experiments.json, fidelity into docs/fidelity.md.
	@mkdir -p results
	@$(NARTHEX) experiment all --json results/experiments.json; code=$$?; \
		$(BIN)/python -m narthex.documentation fidelity && exit $$code

# --- what a developer runs ----------------------------------------------------

# Two at a time: clippy has the processors while packages are installed, and the release build what
# clippy and the tests' build leave idle.
test: ## Run every check and test.
	@$(MAKE) --no-print-directory --jobs=2 rust-lint lint rust-test python-test

lint: rust-lint $(VENV)/.develop ## Check formats, run clippy, ruff and mypy.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@$(BIN)/clang-format --dry-run --Werror $(C_FILES)

# What needs no Python: `make test` begins with it.
rust-lint:
	@rustfmt --check $(RUST_FILES)
	cargo clippy --locked --workspace --all-targets -- -D warnings

# A seed that is fixed: a change is not refused for an older mistake that chance finds. Of the examples
# only the one is built that the tests of the benchmarks run; clippy looks at all of them. The whole workspace,
# as for clippy: with fewer packages cargo chooses other features, and compiles procedural macros anew.
rust-test: setup ## Run the Rust tests.
	PATH="$(abspath $(BIN)):$$PATH" PROPTEST_RNG_SEED=1 cargo test --locked --workspace --tests --example run
	cargo test --locked --workspace --doc

python-test: setup $(VENV)/.develop ## Run the Python tests.
	$(BIN)/pytest -n auto

# The tests of the hardware, those that take minutes too, and the cost of every design. Without the
# extra `hardware`, which the developers' packages have, `make test` says that it skips them.
hardware: setup $(VENV)/.develop ## Test the hardware, synthesise every design (results/area.json), prove its properties.
	$(BIN)/pytest -n auto -m 'long or not long' python/tests/test_hardware*.py python/tests/test_synthesis.py \
		python/tests/test_cosimulation.py python/tests/test_lockstep.py
	@mkdir -p results
	$(NARTHEX) hardware area --frequency --json results/area.json
	$(NARTHEX) hardware prove

bench: setup ## Measure the simulator's speed: QUICK=1, ONLY=steps, AGAINST=earlier.json, JSON=file.
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick) $(if $(ONLY),--only '$(ONLY)') \
		$(if $(AGAINST),--against '$(AGAINST)') $(if $(JSON),--json '$(JSON)')

identity: setup $(VENV)/.develop ## Run every program over every interface on threads and with wait loops executed: the same bytes.
	$(BIN)/pytest python/tests/test_identity.py -m long

fuzz: setup $(VENV)/.develop ## Try random programs, files, accesses, checkpoints, results and sweeps: SECONDS=300 for each class, CLASS=elf, SEED=1.
	@mkdir -p results
	cargo run --locked --release -p narthex-fuzz -- $(or $(CLASS),all) --seconds $(or $(SECONDS),300) \
		--seed $(or $(SEED),1) --keep results --qemu "$$(bash fuzz/reference.sh)"
	$(BIN)/pytest -s python/tests/test_damaged_results.py python/tests/test_sweep_fuzz.py -m long
	$(if $(CLASS),,$(MAKE) --no-print-directory properties)

properties: setup $(VENV)/.develop ## Run the property tests, Rust's and Python's, with seeds of their own: ROUNDS=3.
	@for round in $$(seq $(or $(ROUNDS),3)); do \
		export PROPTEST_RNG_SEED=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); \
		echo "Round $$round: PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED"; \
		PATH="$(abspath $(BIN)):$$PATH" cargo test --locked --quiet $(PROPERTY_CRATES) --lib --tests && \
		$(BIN)/pytest -q --hypothesis-profile=default --hypothesis-seed=$$PROPTEST_RNG_SEED $(PROPERTY_FILES) || exit; \
	done

mutants: setup ## Change the code of memory, fabrics and interfaces in small ways; their own tests have to notice 85 %: CRATE=fabrics, SAMPLE=1/8.
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python .ci/mutants.py $(CRATE) $(if $(SAMPLE),--sample $(SAMPLE))

directory-mutants: ## Change each entry of the directories' tables; the checker has to notice, or have a reason.
	cargo test --locked --release -p narthex-checking --lib directory -- --ignored --nocapture

headers: ## Generate the guest's register header from the simulator's register map.
	cargo run --locked --quiet -p narthex-interfaces --example registers_header > target/registers.h
	mv target/registers.h guest/runtime/registers.h
	cargo run --locked --quiet -p narthex-interfaces --example registers_header firmware > target/devices.h
	mv target/devices.h guest/firmware/devices.h

pages: setup $(VENV)/.develop ## Make the generated tables of the documentation, and the notebooks' outputs, anew.
	$(BIN)/python -m narthex.documentation
	$(BIN)/python -m narthex.notebooks

docs: $(VENV)/.develop ## Build the guide as a web site into target/site.
	@NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet
	@echo "The guide is in target/site; $(BIN)/mkdocs serve shows it."

guide: setup $(VENV)/.develop ## Run every command of the guide, those that take long too.
	NARTHEX_GUIDE=long $(BIN)/pytest python/tests/test_guide.py

fmt: $(VENV)/.develop ## Format all sources.
	rustfmt $(RUST_FILES)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(C_FILES)

wheel: setup ## Build a wheel into target/wheels that installs on any Linux, with the programs compiled.
	@$(BIN)/python -m narthex.prebuilt python/narthex/prebuilt.zip
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --release --locked --strip --zig --compatibility manylinux2014; \
		built=$$?; rm -f python/narthex/prebuilt.zip; exit $$built

wheel-test: wheel ## Install the wheel into a fresh environment of PYTHON, without extras, and run from it.
	@rm -rf target/fresh && $(PYTHON) -m venv target/fresh
	@target/fresh/bin/pip install --disable-pip-version-check --quiet target/wheels/narthex-*.whl
	@du -sm target/fresh/lib/python3*/site-packages
	@cd target/fresh && export NARTHEX_CACHE="$$PWD/cache" && bin/narthex doctor && \
		bin/narthex compare roundtrip 64 --interface NI2w,CNI32Qm && bin/narthex explain CNI32Qm >/dev/null && \
		bin/narthex experiment hpca98/roundtrip --interface NI2w

COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header pyproject.toml

lock: $(VENV)/.packages ## Renew requirements.lock and requirements-develop.lock from pyproject.toml.
	$(INSTALL) uv
	$(COMPILE) --group develop --all-extras --output-file requirements-develop.lock --upgrade
	$(COMPILE) --group setup --extra compiler --extra report --constraint requirements-develop.lock \
		--output-file requirements.lock

clean: ## Remove everything that was made.
	rm -rf $(VENV) target results build
