# Every target works from a fresh clone: it makes .venv with the pinned dependencies first.
# `make` alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# A Python 3.11 or 3.12 that starts; PYTHON=/path/to/python chooses another.
SUITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))
PYTHON ?= $(shell for python in python3.12 python3.11 python3 python; do \
  if $$python -c '$(SUITS)' 2>/dev/null; then echo $$python; break; fi; done)
# Options for the command, as one would type them: ARGS="seed=2 training.max_steps=100"
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
# Tests run in as many processes as there are cores, at most four; ARGS="-n0 --pdb" runs them in one.
WORKERS := --numprocesses=auto --maxprocesses=4 --dist=worksteal
READY := $(VENV)/.ready
# The systems that benchmarks compare with have an environment of their own.
SYSTEMS := .venv-systems
# So have the clients of the server, and the tools that it is tested with.
CLIENTS := .venv-clients

# SRC, RUN, FROM, OUT and PROMPT may hold any text: they are not expanded, and reach commands through the environment.
unexport SRC RUN FROM OUT PROMPT
export MT_SOURCE := $(value SRC)
export MT_PROMPT := $(value PROMPT)
export MT_RUN := $(value RUN)
export MT_FROM := $(value FROM)
export MT_OUT := $(value OUT)
FORMAT ?= huggingface
# Of sweep and table3: the rows to train, all by default, and the seeds.
COMMA := ,
LIST = [$(subst $() $(),$(COMMA),$(strip $(1)))]
SWEEP = $(BIN)/mt-sweep $${MT_RUN:+run_dir="$$MT_RUN"} $(if $(ROWS),'rows=$(call LIST,$(ROWS))') \
  $(if $(SEEDS),'seeds=$(call LIST,$(SEEDS))')

.PHONY: help setup train translate generate serve evaluate compare sweep table3 average attention inspect export import benchmark benchmark-decode benchmark-gpu check lint types test test-long test-clients clean

help: ## list the targets
	@printf 'make TARGET [ARGS="key=value ..."]\n\n'
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-13s %s\n", $$1, $$2 }'

setup: $(READY) ## make .venv with pinned dependencies, and compile the kernels

$(READY): pyproject.toml constraints.txt
	@python='$(PYTHON)'; "$${python:-false}" -c '$(SUITS)' \
	  || { echo 'error: Python 3.11 or 3.12 is needed; name one with make PYTHON=/path/to/python' >&2; exit 2; }
	@echo 'Setting up $(VENV) with the pinned dependencies (once; minutes on a slow line) ...'
	@test -x $(BIN)/pip || "$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -c 'import matplotlib.font_manager; from mt.fast.native.library import kernels; kernels()'
	@touch $@

train: $(READY) ## train a translator; the built-in corpus unless ARGS say otherwise
	@$(BIN)/mt-train $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

translate: $(READY) ## translate SRC="A sentence." with the newest finished run, or RUN=folder
	@if [ -z "$$MT_SOURCE" ]; then echo 'error: give a sentence: make translate SRC="..."; a file: $(BIN)/mt-translate input=FILE output=FILE' >&2; exit 2; fi
	@printf '%s\n' "$$MT_SOURCE" | $(BIN)/mt-translate input=- $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

generate: $(READY) ## continue PROMPT="...", or fill [MASK] in it, with the newest run, a language model, or RUN=folder
	@$(BIN)/mt-generate "prompt=$$MT_PROMPT" $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

serve: $(READY) ## answer LibreTranslate's and DeepL's clients on port 5000 with the newest finished run, or RUN=folder
	@$(BIN)/mt-serve $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

evaluate: $(READY) ## score the newest finished run, or RUN=folder, on its test split
	@$(BIN)/mt-evaluate $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

compare: $(READY) ## whether runs differ by more than chance: ARGS="runs/a runs/b"
	@$(BIN)/mt-compare $(ARGS)

sweep: $(READY) ## train the rows of a table and compare: ROWS="base pre" SEEDS="1 2" ARGS="sweep=table3_small"
	@$(SWEEP) $(ARGS)

table3: $(READY) ## train rows of the paper's table 3 and compare: ROWS="base a_h1" SEEDS="1 2"
	@$(SWEEP) sweep=table3 $(ARGS)

average: $(READY) ## average the newest checkpoints of the newest run, or RUN=folder
	@$(BIN)/mt-average $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

attention: $(READY) ## draw attention.png and attention.html for SRC="A sentence.", newest finished run or RUN=folder
	@if [ -z "$$MT_SOURCE" ]; then echo 'error: give a sentence: make attention SRC="..."' >&2; exit 2; fi
	@$(BIN)/mt-attention "source=$$MT_SOURCE" $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

inspect: $(READY) ## examine the corpora that the same ARGS would train on; writes report.html and architecture.svg
	@$(BIN)/mt-inspect $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

benchmark: $(READY) $(SYSTEMS)/.ready ## measure training against other systems; ARGS as for train, or rounds=3
	@$(BIN)/mt-benchmark systems_python=$(SYSTEMS)/bin/python $(ARGS)

benchmark-decode: $(READY) $(SYSTEMS)/.ready ## measure decoding against other systems with the weights of RUN=folder
	@$(BIN)/mt-benchmark-decode $${MT_RUN:+run_dir="$$MT_RUN"} systems_python=$(SYSTEMS)/bin/python $(ARGS)

benchmark-gpu: $(READY) $(SYSTEMS)/.ready ## everything that needs a GPU: tests, training and decoding speed, a training; results in docs/
	@scripts/gpu.sh $(ARGS)

$(SYSTEMS)/.ready: requirements-systems.txt
	@echo 'Setting up $(SYSTEMS) with the systems to compare with (once; minutes on a slow line) ...'
	@test -x $(SYSTEMS)/bin/pip || "$(PYTHON)" -m venv $(SYSTEMS)
	@$(SYSTEMS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

export: $(READY) ## write the newest finished run, or RUN=folder, for FORMAT=huggingface or ctranslate2 into OUT=folder
	@$(BIN)/mt-export format=$(FORMAT) $${MT_RUN:+run_dir="$$MT_RUN"} $${MT_OUT:+output="$$MT_OUT"} $(ARGS)

import: $(READY) ## make RUN=folder of the HF MarianMT, GPT-2 or BERT model in FROM=folder
	@if [ -z "$$MT_FROM" ]; then echo 'error: give a folder: make import FROM=...' >&2; exit 2; fi
	@$(BIN)/mt-import folder="$$MT_FROM" $${MT_RUN:+run_dir="$$MT_RUN"} $(ARGS)

check: lint types test ## lint, types and test

lint: $(READY) ## style and common faults
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY) ## static types
	@$(BIN)/mypy

test: $(READY) ## the tests, a few minutes on two cores
	@$(BIN)/pytest $(WORKERS) $(ARGS)

test-long: $(READY) ## every test, the long proofs too
	@$(BIN)/pytest $(WORKERS) -m 'not alone' $(ARGS)
	@$(BIN)/pytest -m alone $(ARGS) || [ $$? -eq 5 ] # 5: none of these was asked for

test-clients: $(READY) $(CLIENTS)/.ready ## clients of other makers against the server, RUN=folder or a small one; the page if CHROMIUM=/path
	@MT_BIN=$(BIN) $(CLIENTS)/bin/pytest -c tests/clients/pytest.ini tests/clients $(ARGS)

$(CLIENTS)/.ready: requirements-clients.txt
	@echo 'Setting up $(CLIENTS) with the clients of the server (once; minutes on a slow line) ...'
	@test -x $(CLIENTS)/bin/pip || "$(PYTHON)" -m venv $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@if type npm >/dev/null 2>&1; then \
	  npm install --silent --no-save --prefix $(CLIENTS) libretranslate@1.0.1 translate@3.1.0; fi
	@touch $@

clean: ## remove what was built; runs and caches of data stay
	rm -rf $(VENV) $(SYSTEMS) $(CLIENTS) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
