# The targets of driftline. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
NATIVE := $(wildcard cpp/*/*.cpp cpp/*/*.hpp cpp/include/driftline/*.hpp cpp/include/driftline/*/*.hpp) CMakeLists.txt

# Tests and commands start Python hundreds of times: without compiled files each start takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo pictures test wheels test-native test-spark test-sktime attack search lint format bench bench-quick bench-capymoa bench-auto bench-auto-peers bench-rivals rivals papers docs clean test-services

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

demo: $(VENV)/core  ## run the main commands on a drifting stream, and compare learners; output goes to demo/
	$(BIN)/driftline demo
	$(BIN)/python -m driftline.demo.tracking
	$(BIN)/python -m driftline.demo.forecasting
	$(BIN)/python -m driftline.demo.how_sure

pictures: $(VENV)/test demo  ## redraw the pictures of README and docs; the one of the report needs Chromium
	$(BIN)/python -m tests.test_report.photograph demo/report.html docs/_static/report.png
	cp demo/tracking.png demo/forecast.png demo/how_sure.png docs/_static

test: $(VENV)/test test-native  ## the whole test suite
	$(BIN)/python -m pytest

test-native: $(VENV)/test  ## the tests of the native core, under address and undefined-behaviour sanitizers
	cmake -S . -B build/native -DDRIFTLINE_TESTS=ON -DDRIFTLINE_SANITIZE=ON > build/native.log || (cat build/native.log; false)
	cmake --build build/native --parallel 2 >> build/native.log || (cat build/native.log; false)
	ctest --test-dir build/native --parallel 2 --output-on-failure

test-spark: .venv-spark/ready  ## the tests of driftline.spark on a local Spark; skipped if Java 17 cannot be installed
	java -version 2> build/java.log || apt-get install -y --no-install-recommends openjdk-17-jre-headless > build/java.log 2>&1 || true
	if java -version 2> build/java.log; then .venv-spark/bin/python -m pytest -o addopts="" -q tests/test_spark; else echo "skipped: Spark needs Java, which is not here"; fi

test-sktime: .venv-sktime/ready  ## the tests of driftline.sktime, which are sktime's own and a few more
	.venv-sktime/bin/python -m pytest -o addopts="" -o filterwarnings="" -q --doctest-modules tests/test_sktime .venv-sktime/lib/*/site-packages/driftline/sktime

test-services: $(VENV)/test  ## tests with PostgreSQL, Redis, Mosquitto, nginx, Prometheus and Chromium, installed first if root on Debian; fails if one is missing
	$(BIN)/python -m tests.services
	$(BIN)/python -m pytest -m services --services -rs tests

wheels:  ## an sdist and wheels for the installed Pythons, in dist/, each tested without compiler, npm and network; minutes
	$(PYTHON) packaging/wheels.py $(PYTHONS)

attack: $(VENV)/test  ## ten minutes of interrupts, forged files, killed and competing processes, extreme numbers and damaged requests; SEED=1
	$(BIN)/python -m tests.attack --seconds 600 --seed $(or $(SEED),0)

search: $(VENV)/test  ## ten minutes of property tests on new examples, and a list of what failed; SECONDS=600, SEED=1
	$(BIN)/python -m tests.search --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

lint: $(VENV)/lint  ## ruff, mypy, import-linter and clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m nanobind.stubgen -q -m driftline._core -o src/driftline/_core.pyi
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@$(BIN)/clang-format --dry-run --Werror $(filter %.cpp %.hpp,$(NATIVE) $(wildcard cpp/tests/*))

format: $(VENV)/lint  ## format the sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	@$(BIN)/clang-format -i $(filter %.cpp %.hpp,$(NATIVE) $(wildcard cpp/tests/*))

bench: .venv-peers/ready  ## speed, memory, endurance and accuracy compared with other libraries; about an hour
	.venv-peers/bin/python -m benchmarks
	if java -version 2> build/java.log; then $(MAKE) bench-capymoa; else echo "CapyMOA needs Java, which is not here"; fi

bench-capymoa: .venv-capymoa/ready  ## the cost of a row in CapyMOA, which needs Java 17 or later
	.venv-capymoa/bin/python -m benchmarks capymoa_rows

bench-quick: .venv-peers/ready  ## the benchmarks of `make bench` in a few minutes
	.venv-peers/bin/python -m benchmarks --quick

bench-auto: $(VENV)/core  ## Auto compared with the best learner in hindsight on generated streams; minutes, less once build/hindsight exists
	$(BIN)/python -m benchmarks.auto --cache build/hindsight
	$(BIN)/python -m benchmarks.auto --cache build/hindsight --held-out
	$(BIN)/python -m benchmarks.auto --cost

bench-auto-peers: .venv-peers/ready .venv-capymoa/ready  ## Auto, River and CapyMOA on the files of DATA=DIR; hours
	.venv-peers/bin/python -m benchmarks.auto_peers $(DATA)
	.venv-capymoa/bin/python -m benchmarks.auto_peers $(DATA)

bench-rivals: .venv-lightgbm/ready  ## Auto, LightGBM, ridge, AutoReg and River on the files of DATA=DIR; half an hour; results in build/bench_rivals
	.venv-lightgbm/bin/python -m pytest -o addopts="" -q tests/test_bench_rivals.py tests/test_ensembles/test_refit_lightgbm.py
	.venv-lightgbm/bin/python -m benchmarks.bench_rivals $(DATA)

rivals: .venv-rivals/ready .venv-capymoa/ready  ## the DFOP paper's rivals on the files of DATA=DIR; an hour or two; results in build/rivals
	.venv-rivals/bin/python -m benchmarks.rivals $(DATA)
	if java -version 2> build/java.log; then .venv-capymoa/bin/python -m benchmarks.rivals $(DATA); else echo "CapyMOA needs Java, which is not here"; fi
	.venv-rivals/bin/python -m benchmarks.rivals $(DATA) --gather

papers: $(VENV)/core  ## recompute the papers' figures and tables in reproduced/; DATA=DIR has the files of some, QUICK=1 makes a smoke test
	$(BIN)/python -m papers $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

docs: $(VENV)/docs  ## the documentation, in docs/_build/html
	$(BIN)/python -m sphinx -q -W -b doctest docs docs/_build/doctest
	$(BIN)/python -m sphinx -q -W -b html docs docs/_build/html

clean:  ## remove everything that the other targets created
	rm -rf src/driftline/report/vendor .venv .venv-peers .venv-lightgbm .venv-rivals .venv-capymoa .venv-forecasts .venv-spark .venv-sktime build dist demo reproduced docs/_build docs/cli docs/learners

$(VENV)/made:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "pip>=24"
	touch $@

# The package itself is installed once for each change of the native core; its Python files are used in place.
$(VENV)/core: $(VENV)/made pyproject.toml $(NATIVE)
	$(PIP) install "scikit-build-core>=0.11" "nanobind>=2.4" "numpy>=2.0" cmake ninja
	$(PIP) install --no-build-isolation --editable ".[all]"
	mkdir -p build
	touch $@

# driftline is there already: these bring what its extras name, and build nothing.
$(VENV)/test: $(VENV)/core
	$(PIP) install "driftline[test]"
	touch $@

$(VENV)/lint: $(VENV)/core
	$(PIP) install "driftline[lint]"
	touch $@

$(VENV)/docs: $(VENV)/core
	$(PIP) install "driftline[docs]"
	touch $@

# The core that .venv has compiled, as a wheel for the environments of Spark and of the libraries we compare with.
build/wheel/ready: $(VENV)/core $(wildcard src/driftline/*.py src/driftline/*/*.py src/driftline/report/templates/*)
	rm -rf build/wheel
	$(PIP) wheel --no-build-isolation --no-deps --wheel-dir build/wheel .
	touch $@

# $(call environment,DIR,REQUIREMENTS): a virtual environment with driftline and the requirements.
define environment
	$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip --disable-pip-version-check --quiet install --force-reinstall --no-deps build/wheel/*.whl
	$(1)/bin/python -m pip --disable-pip-version-check --quiet install $(2)
	touch $(1)/ready
endef

.venv-peers/ready: build/wheel/ready benchmarks/requirements.txt
	$(call environment,.venv-peers,-r benchmarks/requirements.txt driftline)

.venv-lightgbm/ready: build/wheel/ready benchmarks/requirements-lightgbm.txt
	$(call environment,.venv-lightgbm,-r benchmarks/requirements-lightgbm.txt driftline)

.venv-rivals/ready: build/wheel/ready benchmarks/requirements-rivals.txt
	$(call environment,.venv-rivals,-r benchmarks/requirements-rivals.txt driftline)

.venv-forecasts/ready: build/wheel/ready benchmarks/requirements-forecasts.txt
	$(call environment,.venv-forecasts,-r benchmarks/requirements-forecasts.txt driftline)

.venv-spark/ready: build/wheel/ready
	$(call environment,.venv-spark,"driftline[spark]" "pyspark[connect]" hypothesis pytest)

.venv-sktime/ready: build/wheel/ready
	$(call environment,.venv-sktime,"driftline[sktime]" hypothesis pytest)

# CapyMOA needs Java 17 or later, which pip does not install.
.venv-capymoa/ready: build/wheel/ready benchmarks/requirements-capymoa.txt
	$(call environment,.venv-capymoa,-r benchmarks/requirements-capymoa.txt driftline)
