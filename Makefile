# Everything runs in .venv, which the first target creates. `make help` lists the targets.

PYTHON ?= python3
# The oldest that pyproject.toml allows.
OLDEST_PYTHON ?= python3.11
VENV ?= .venv
# Folder with the data sets of the paper's tables, for the benchmarks; empty where there is none.
AMCLUST_DATA ?= $(wildcard ../shared/data)
# Arguments for pytest: make test PYTEST_ARGS="-k energy"
PYTEST_ARGS ?= -n auto

BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP_INSTALL := $(BIN)/python -m pip install -qq -c constraints.txt

# All cores, also where CMake falls back from Ninja to Make.
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell getconf _NPROCESSORS_ONLN)
# CMake and Ninja are the system's, or those of the venv where the system has none.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo docs test lint format bench bench-quality bench-deep bench-scale bench-missing paper paper-quick sanitize sanitize-threads fuzz test-native test-lowest wheel clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- installation -------------------------------------------------------------------------------
# One stamp for each set of extras. The install is editable: only C++ and build files call for a new
# one, Python files do not.

EXTRAS_demo := plot,table
EXTRAS_test := test,torch,plot
EXTRAS_lint := dev
EXTRAS_bench := bench,torch
EXTRAS_docs := docs,torch
# Seconds for each target of make fuzz.
FUZZ_SECONDS ?= 20
# The same cases again; empty: others each time.
FUZZ_SEED ?=
INSTALLS := $(addprefix $(STAMPS)/,demo test lint bench docs)

BUILD_FILES := CMakeLists.txt pyproject.toml constraints.txt
NATIVE_SOURCES := $(shell find src/amclust/_core -type f)

# The list in [build-system] of pyproject.toml, quoted for the shell.
BUILD_REQUIRES := $(shell sed -n 's/^requires = \[\(.*\)\]$$/\1/p' pyproject.toml | tr ',' ' ')
MISSING_TOOLS := $(foreach tool,cmake ninja,$(if $(shell command -v $(tool)),,$(tool)))

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/build-tools: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the build tools into $(VENV)"
	$(PIP_INSTALL) $(BUILD_REQUIRES) $(MISSING_TOOLS)
	@mkdir -p $(@D) && touch $@

# Without build isolation, so that a rebuild compiles only what changed.
$(INSTALLS): $(STAMPS)/%: $(BUILD_FILES) $(NATIVE_SOURCES) $(STAMPS)/build-tools
	@echo "Building and installing amclust[$(EXTRAS_$*)] into $(VENV)"
	$(PIP_INSTALL) --no-build-isolation -e ".[$(EXTRAS_$*)]"
	@touch $@

# --- use ----------------------------------------------------------------------------------------

demo: $(STAMPS)/demo ## cluster the digits, print a table, draw the memories
	$(BIN)/amclust demo

bench: $(STAMPS)/bench ## time amclust beside its peers (data: AMCLUST_DATA)
	AMCLUST_DATA="$(abspath $(AMCLUST_DATA))" $(BIN)/python -m benchmarks.speed

bench-quality: $(STAMPS)/bench ## compare partitions with the peers' (data: AMCLUST_DATA)
	AMCLUST_DATA="$(abspath $(AMCLUST_DATA))" $(BIN)/python -m benchmarks.quality --jobs 2

bench-deep: $(STAMPS)/bench ## compare deep clustering with the peers' (data: AMCLUST_DATA)
	AMCLUST_DATA="$(abspath $(AMCLUST_DATA))" $(BIN)/python -m benchmarks.deep

bench-scale: $(STAMPS)/bench ## measure amclust.dask beside dask-ml and the local fit
	$(BIN)/python -m benchmarks.scale

bench-missing: $(STAMPS)/bench ## compare rows with missing values with imputers (data: AMCLUST_DATA)
	AMCLUST_DATA="$(abspath $(AMCLUST_DATA))" $(BIN)/python -m benchmarks.missing --jobs 2

paper: $(STAMPS)/bench ## the paper's tables and figures: runs what is missing (data: AMCLUST_DATA)
	AMCLUST_DATA="$(abspath $(AMCLUST_DATA))" $(BIN)/python -m paper --jobs 2 $(PAPER_ARGS)

paper-quick: $(STAMPS)/bench ## the same on small budgets, to see that it works
	AMCLUST_DATA="$(abspath $(AMCLUST_DATA))" $(BIN)/python -m paper --quick --jobs 2 $(PAPER_ARGS)

docs: $(STAMPS)/docs ## build the documentation into docs/_build/html, warnings are errors
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

wheel: $(STAMPS)/build-tools ## build a source archive, and a wheel of it, into dist/
	rm -rf dist
	$(BIN)/python -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")'
	$(BIN)/python -m pip wheel -qq --no-build-isolation --no-deps --wheel-dir dist dist/amclust-*.tar.gz

# --- checks -------------------------------------------------------------------------------------

test: $(STAMPS)/test ## run the tests and the doctests
	OMP_NUM_THREADS=1 $(BIN)/pytest $(CURDIR)/tests --pyargs amclust --doctest-modules $(PYTEST_ARGS)

# Those that stand on other packages most: frames, files, plots, tables.
LOWEST_TESTS := $(addprefix tests/,test_clam_sklearn.py test_frames.py test_kinds.py test_model_file.py test_bad_input.py \
  test_completion.py test_shared_state.py test_packaging.py plotting/test_basins_display.py plotting/test_shape_displays.py \
  plotting/test_search_display.py tables/test_table_round_trips.py tables/test_other_formats.py)

test-lowest: wheel ## run a part of the tests with the oldest versions of everything (constraints-lowest.txt)
	$(OLDEST_PYTHON) -m venv --clear build/lowest
	build/lowest/bin/python -m pip install -qq -r constraints-lowest.txt dist/amclust-*.whl
	OMP_NUM_THREADS=1 build/lowest/bin/python -m pytest -q $(PYTEST_ARGS) $(LOWEST_TESTS)

lint: $(STAMPS)/lint ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMPS)/lint ## format Python and C++, apply safe fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	find src tests -name '*.[ch]pp' -exec $(BIN)/clang-format -i {} +

# $(1): build folder, $(2): more CMake arguments
define native_tests
	cmake -S . -B build/$(1) -G Ninja -DAMCLUST_BUILD_TESTS=ON -DAMCLUST_BUILD_PYTHON=OFF \
	  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON $(2)
	cmake --build build/$(1)
	ctest --test-dir build/$(1) --output-on-failure --no-tests=error
endef

test-native: $(STAMPS)/build-tools ## run the C++ tests, warnings are errors
	$(call native_tests,native,-DCMAKE_BUILD_TYPE=Release)

sanitize: export ASAN_OPTIONS = halt_on_error=1:abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=1:check_initialization_order=1:strict_string_checks=1
sanitize: export UBSAN_OPTIONS = halt_on_error=1:abort_on_error=1:print_stacktrace=1
sanitize: $(STAMPS)/build-tools ## run the C++ tests under address and undefined-behaviour sanitizers
	$(call native_tests,sanitize,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DAMCLUST_SANITIZE=ON)

sanitize: sanitize-threads

# Sanitizers cost more than optimisation gains.
FAST_BUILD := -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1"

# Not in one program with the others. Slow: only the team itself; TEAM_TESTS="kmeans|trainer" takes others.
TEAM_TESTS ?= team|supervise
sanitize-threads: export TSAN_OPTIONS = halt_on_error=1:second_deadlock_stack=1
sanitize-threads: $(STAMPS)/build-tools ## run the C++ tests of the team under the sanitizer of threads
	cmake -S . -B build/sanitize-threads -G Ninja -DAMCLUST_BUILD_TESTS=ON -DAMCLUST_BUILD_PYTHON=OFF \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DAMCLUST_SANITIZE_THREADS=ON $(FAST_BUILD)
	cmake --build build/sanitize-threads --target $(foreach test,$(subst |, ,$(TEAM_TESTS)),core_$(test))
	ctest --test-dir build/sanitize-threads -R '^core_($(TEAM_TESTS))$$' --output-on-failure --no-tests=error

# A clang that can link libFuzzer, if there is one.
FUZZ_CXX ?= $(shell for cxx in clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14; do \
  command -v $$cxx >/dev/null && echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' \
  | $$cxx -x c++ -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null && echo $$cxx && break; done)
fuzz: $(STAMPS)/test ## make up tables, parameters, files and rows for a while (FUZZ_SECONDS each)
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))
ifeq ($(FUZZ_CXX),)
	@echo "The core is not fuzzed: no clang++ here links libFuzzer (Debian: apt-get install clang libclang-rt-14-dev)."
else
	cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=$(FUZZ_CXX) -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DAMCLUST_BUILD_FUZZERS=ON -DAMCLUST_BUILD_PYTHON=OFF -DAMCLUST_SANITIZE=ON $(FAST_BUILD)
	cmake --build build/fuzz --target fuzz_core
	mkdir -p build/fuzz/corpus
	build/fuzz/fuzz/core/fuzz_core build/fuzz/corpus -max_total_time=$(FUZZ_SECONDS) -max_len=2048 -timeout=60 \
	  -rss_limit_mb=4096 -artifact_prefix=build/fuzz/ -print_final_stats=1 $(if $(FUZZ_SEED),-seed=$(FUZZ_SEED))
endif

clean: ## remove what was built, keep .venv's packages
	rm -rf build dist docs/_build docs/gallery docs/generated $(STAMPS) .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks paper -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf $(VENV)
