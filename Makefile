# Everything that a person or CI runs. `make help` lists it.
.DEFAULT_GOAL := help
# The forge's port; the API and the AWS endpoint take the next two. Empty: 4750, or any free ones when it is taken.
PORT ?=
# The installation on AWS, where there are several in an account and region. Empty: the one that cdk.json names.
# The command line reads the same variable.
PREFIX ?= $(TIDEGATE_PREFIX)
CONTEXT := $(if $(PREFIX),-c prefix=$(PREFIX))

.PHONY: help setup demo up lint statelint test test-nightly mutants soak soak-mutants bench sbom base-images kubernetes synth checkov layers docs site pictures doctor deploy

VENV := .venv
PYTHON := $(VENV)/bin/python
BIN := $(VENV)/bin
# uv from PATH, or from PyPI into a directory of its own.
UV := $(shell command -v uv || echo .uv/bin/uv)
SYNCED := $(VENV)/.synced

# What Python compiles is kept, also where the environment forbids it: else each of some hundred processes compiles anew.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.uv/bin/uv:
	python3 -m venv .uv
	.uv/bin/pip install --quiet --require-hashes --only-binary :all: --requirement .ci/uv.txt

$(SYNCED): uv.lock pyproject.toml | $(filter .uv/%,$(UV))
	$(UV) sync --frozen --quiet --group dev --all-extras
	@touch $@

setup: $(SYNCED) ## Install the locked environment into .venv

demo: setup ## A merge and a pull request, planned, reviewed and applied on this machine, followed on screen (ACT=updates: images from CI to production; ACT=clusters: an upgrade that fails and is resumed)
	$(PYTHON) -m tidegate_local.demo $(if $(ACT),--act $(ACT))

up: setup ## The local cloud, kept running for you (PORT= for another port, SAMPLE=1: filled with an organization)
	$(BIN)/tidegate local up $(if $(PORT),--port $(PORT)) $(if $(SAMPLE),--sample)

lint: setup ## ruff, mypy --strict, statelint, asl-validator, cdk-nag and cfn-lint; fails on any finding
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(MAKE) statelint
	$(PYTHON) -m stepfunctions.validate
	$(PYTHON) -m tidegate_cdk.check

statelint: setup
	@# statelint knows neither the label of a distributed Map nor a time that is an expression, which AWS allows: it checks
	@# copies without them.
	rm -rf build/statelint && mkdir -p build/statelint
	$(PYTHON) -m stepfunctions.render build/statelint
	sed -i.bak -e '/"Label": /d' -e 's/Seconds": "{%.*%}"/Seconds": 3600/' build/statelint/*.json
	$(BIN)/statelint --eval-jsonata build/statelint/*.json

test: setup ## The test suite, in parallel; unit and contract tests must cover rules and verbs, branches too
	$(BIN)/pytest --numprocesses 4 --dist loadgroup -m "not nightly" --cov --cov-report term

test-nightly: setup ## What make test leaves out: long stories, the stand-ins' own tests, many random examples, a soak
	$(BIN)/pytest --numprocesses 2 --dist loadgroup -m "nightly or hypothesis" --hypothesis-profile search
	$(MAKE) mutants
	$(MAKE) soak
	$(MAKE) soak PLANS=lambda
	$(MAKE) soak-mutants

mutants: setup ## Change 400 places in rules and verbs and 100 in state machines, one at a time: a test must fail (NUMBER= MACHINES= ONLY=)
	$(PYTHON) -m tests.mutants $(if $(NUMBER),--number $(NUMBER)) $(if $(MACHINES),--machines $(MACHINES)) $(if $(ONLY),--only $(ONLY))

soak: setup ## Random work and trouble, then the rules are checked from outside (MINUTES=10 SEED= ROOTS=8 PLANS=fargate|lambda|auto)
	$(PYTHON) -m soak --minutes $(or $(MINUTES),10) --roots $(or $(ROOTS),8) $(if $(SEED),--seed $(SEED)) $(if $(PLANS),--plans $(PLANS))

soak-mutants: setup ## Break the rules on purpose, one at a time: a soak must see it (ONLY=7)
	$(PYTHON) -m soak.mutation $(if $(ONLY),--only "$(ONLY)")

bench: setup ## Benchmarks: one line of JSON each, for people on stderr (ONLY='webhook queues', QUICK=1: each once, times mean nothing)
	$(PYTHON) -m bench $(ONLY) $(if $(QUICK),--quick)

sbom: setup ## Write what is deployed of others as a software bill of materials: build/sbom.cdx.json (CycloneDX)
	@mkdir -p build
	$(UV) export --frozen --quiet --only-group layer --only-group discovery --only-group policies --no-emit-project \
	  --format cyclonedx1.5 --output-file build/sbom.cdx.json

base-images: ## The digests that the images' tags have today, to compare with those in the Dockerfiles
	@python3 .ci/base-images

kubernetes: setup ## Build real Kubernetes API servers for tests from Debian's sources, once for a machine, into ~/.cache/tidegate
	$(PYTHON) -m tests.kubernetes.build

synth: setup sbom ## Write the CloudFormation template to cdk.out (PREFIX= for another installation)
	$(if $(PREFIX),CDK_CONTEXT_JSON='{"prefix": "$(PREFIX)"}') $(PYTHON) tidegate_cdk/app.py

checkov: synth ## What checkov finds in the template besides what tidegate_cdk/checkov.yaml says (not in CI: it brings its own boto3)
	$(UV) tool run checkov@3.3.30 --config-file tidegate_cdk/checkov.yaml --file cdk.out/*.template.json

layers: setup ## Export the locked requirements of the layer, of root discovery, of policies and of runners
	$(UV) export --frozen --quiet --only-group layer --no-emit-project --no-header --no-annotate \
	  --format requirements-txt --output-file layers/deps/requirements.txt
	$(UV) export --frozen --quiet --only-group discovery --no-emit-project --no-header --no-annotate \
	  --format requirements-txt --output-file functions/discover_roots/requirements.txt
	$(UV) export --frozen --quiet --only-group policies --no-emit-project --no-header --no-annotate \
	  --format requirements-txt --output-file functions/check_policies/requirements.txt
	$(UV) export --frozen --quiet --only-group runner --no-emit-project --no-header --no-annotate \
	  --format requirements-txt --output-file runner/requirements.txt
	$(UV) export --frozen --quiet --only-group clusters --no-emit-project --no-header --no-annotate \
	  --format requirements-txt --output-file runner/clusters/requirements.txt
	$(UV) export --frozen --quiet --only-group uv --no-emit-project --no-header --no-annotate \
	  --format requirements-txt --output-file .ci/uv.txt

docs: setup ## Generate docs/decisions/README.md, docs/permissions.md, docs/costs.md, stepfunctions/README.md, the picture of features, the tasks in docs/clusters.md, the commands in docs/cli.md, keys and schema of tidegate.yaml
	$(PYTHON) -m docs.features
	$(PYTHON) -m docs.decision_index
	$(PYTHON) -m docs.cluster_tasks
	$(PYTHON) -m tidegate_cdk.permissions
	$(PYTHON) -m tidegate_cdk.costs
	$(PYTHON) -m stepfunctions.describe
	$(PYTHON) -m tidegate_cli.reference
	$(PYTHON) -m tidegate_cli.configuration_reference

site: docs ## Build the documentation's site into build/site, and fail at a link or an anchor that leads nowhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

pictures: setup ## Take the pictures in docs/images anew, from a running local cloud (needs Chromium)
	$(PYTHON) -m docs.images.take

doctor: setup ## Check what a deploy to AWS needs (PREFIX=)
	$(BIN)/tidegate doctor $(CONTEXT)

deploy: setup doctor sbom ## Deploy to the caller's AWS account (PREFIX= for another installation)
	PATH="$(CURDIR)/$(dir $(UV)):$$PATH" $(PYTHON) -m tidegate_cdk.command deploy $(CONTEXT)
	@$(BIN)/tidegate setup $(if $(PREFIX),--prefix $(PREFIX))
