"""Run the CDK's command line at a pinned version, on the node of the Python environment.

``python -m tidegate_cdk.command deploy -c prefix=tidegate``; further arguments are the CDK's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tidegate_cdk.node import npm_program, path_with_node
from tidegate_cdk.sources import ROOT

CDK_VERSION = "2.1148.1"


def command(arguments: list[str]) -> list[str]:
    """Return the program and its arguments."""
    return [*npm_program("npx"), "--yes", f"aws-cdk@{CDK_VERSION}", *arguments]


def environment() -> dict[str, str]:
    """Return the environment: this node first, and the Python environment's programs (including uv)."""
    path = path_with_node(Path(sys.executable).parent)
    return {**os.environ, "PATH": path, "CDK_DISABLE_CLI_TELEMETRY": "true"}


def main() -> int:
    """Run the command line and return its exit code."""
    return subprocess.run(command(sys.argv[1:]), cwd=ROOT, env=environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
