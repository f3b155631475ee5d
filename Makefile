# What a person needs: make and Python 3.11 or later. Everything else goes into .venv, from the locks.
#
#   make run        the whole service on this machine; Ctrl-C stops it
#   make dev        the same, reloading on change
#   make restore FROM=FOLDER  what `flask backup` wrote, into an empty SAFELIGHT_HOME
#   make test       the tests, with their coverage   (ARGS="tests/imaging -k exif" for some of them)
#   make test-slow  those that take minutes
#   make test-browser  the console in a browser (apt-get install chromium)
#                   (they need promtool and amtool: apt-get install prometheus prometheus-alertmanager)
#   make lint       style, types, import directions
#   make dashboards  write Grafana's dashboards from their Python
#   make dashboard-pictures  draw them from a live stack under load, for the docs (minutes)
#   make screenshots  take the console's pictures from a live stack, for the docs (minutes; apt-get install chromium)
#   make bench      all benchmarks, beside a service in Node (ARGS="--only pipeline idle --peer none --quick --json FILE")
#   make bench-pipeline  the whole service under load      (ARGS="compare node safelight --idle --json FILE")
#   make bench-tasks  what the task layer does a second, and how soon it mends (ARGS="--json FILE")
#   make bench-imaging  how right and how fast previews and metadata are  (ARGS="--json FILE")
#   make drills     breaks a real service, with a real Prometheus and Alertmanager: does the right alert come?
#   make secrets    .env with fresh passwords, for docker-compose.yml
#   make test-docker  builds the image and runs the stack in containers, on a Docker of its own (as root, minutes;
#                   apt-get install docker.io docker-compose debootstrap)
#   make lock       write the locks anew             (ARGS=--upgrade for newer versions)

BIN := .venv/bin
# Killed with make, so that nothing is left running. setpriv is of util-linux.
TIED := $(if $(shell command -v setpriv),setpriv --pdeathsig TERM)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes

.PHONY: run dev restore test test-slow test-browser test-docker lint lock dashboards dashboard-pictures screenshots secrets
.PHONY: bench bench-tasks bench-imaging bench-pipeline drills
.DEFAULT_GOAL := run

run: .venv/.local
	@exec $(TIED) $(BIN)/python local.py

dev: .venv/.dev
	@exec $(TIED) $(BIN)/python local.py --reload

restore: .venv/.local
	@$(BIN)/python local.py --restore $(FROM)

test: .venv/.dev
	$(BIN)/python -m pytest -m "not slow and not browser and not docker" -n auto --cov --cov-branch --cov-report=term:skip-covered --cov-fail-under=90 $(ARGS)

test-slow: .venv/.dev
	$(BIN)/python -m pytest -m slow $(ARGS)

test-browser: .venv/.dev
	$(BIN)/python -m pytest -m browser $(ARGS)

test-docker: .venv/.dev
	$(BIN)/python -m pytest -m docker --timeout 1800 tests/deploy $(ARGS)

# `set -C`: never over one that is there.
secrets:
	@set -C; umask 077; while IFS= read -r line; do \
		case "$$line" in \
			\#*) ;; \
			*PASSWORD=|*KEY=|*KEY_ID=) line="$$line$$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" ;; \
		esac; \
		printf '%s\n' "$$line"; \
	done <.env.example >.env && echo "Wrote .env, for you alone to read."

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports

dashboards: .venv/.dev
	$(BIN)/python -m grafana.write

dashboard-pictures: .venv/.dev
	$(BIN)/python -m bench.dashboards $(ARGS)

screenshots: .venv/.dev
	$(BIN)/python -m bench.screenshots $(ARGS)

bench: .venv/.dev
	@exec $(TIED) $(BIN)/python -m bench $(ARGS)

bench-pipeline: .venv/.dev
	@exec $(TIED) $(BIN)/python -m bench.pipeline $(or $(ARGS),run safelight)

bench-imaging: .venv/.dev
	$(BIN)/python -m bench.imaging $(ARGS)

# The same versions in all three: what the service needs, what `make run` adds, what development adds.
COMPILE = build/lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --no-annotate
lock: .venv/.made
	$(BIN)/python -m venv build/lock
	build/lock/bin/python -m pip install --quiet uv
	$(COMPILE) --all-extras --output-file requirements/dev.txt $(ARGS)
	$(COMPILE) --extra local --constraint requirements/dev.txt --output-file requirements/local.txt
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/runtime.txt

.venv/.local .venv/.dev: .venv/.%: requirements/%.txt bin/safelight .venv/.made
	@echo "Installing requirements/$*.txt into .venv ..."
	@$(PIP) -r $<
	@ln -sf ../../bin/safelight $(BIN)/
	@touch $@

# An environment whose Python has gone (an upgraded machine) is made anew.
ifneq ($(shell $(BIN)/python -c 'print("works")' 2>/dev/null),works)
.PHONY: .venv/.made
endif
.venv/.made:
	@set -e; \
	for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 none; do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	done; \
	if [ $$python = none ]; then \
		echo "Safelight needs Python 3.11 or later (Debian: apt-get install python3 python3-venv)" >&2; exit 1; \
	fi; \
	if ! $$python -c 'import ensurepip' 2>/dev/null; then \
		if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
			echo "Python's venv is missing (Debian: apt-get install python3-venv)" >&2; exit 1; \
		fi; \
		echo "Python's venv is missing: installing python3-venv by apt-get ..."; \
		apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; \
	fi; \
	$$python -m venv --clear .venv
	@touch $@

bench-tasks: .venv/.dev
	$(BIN)/python -m bench.tasks $(ARGS)

drills: .venv/.dev
	@exec $(TIED) $(BIN)/python -m bench.drills $(ARGS)
