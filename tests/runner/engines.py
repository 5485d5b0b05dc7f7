"""Engines and root modules that do what a test tells them."""

from __future__ import annotations

import json
import os

from tests.runner.conftest import Bench


def provisioned(script: str) -> str:
    """Return a resource whose creation runs a shell script, given as one line."""
    return (
        f'resource "terraform_data" "network" {{\n  provisioner "local-exec" {{ command = {json.dumps(script)} }}\n}}\n'
    )


#: Says that it has started, then waits for a file, an interrupt, or the end of the test's directory.
WAITING = (
    "touch {directory}/started; while [ -d {directory} ] && [ ! -e {directory}/release ]; do sleep 0.05; done; "
    "echo released"
)


def fake_engine(bench: Bench, version: str, command: str, script: str) -> str:
    """Put an engine that runs a script for one command on a PATH, and return that."""
    program = bench.directory / "terraform"
    answer = json.dumps({"terraform_version": version})
    backend = """mkdir -p .terraform && echo '{"backend": {"type": "s3"}}' > .terraform/terraform.tfstate"""
    cases = f"version) echo '{answer}';; {command}) {script};; init) {backend};;"
    program.write_text(f"#!/bin/sh\ncase $1 in {cases} esac\n")
    program.chmod(0o755)
    return f"{bench.directory}:{os.environ['PATH']}"
