"""Where the local cloud keeps what can be made again: synthesized apps, and what Python compiled."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_directory() -> Path:
    """Return where things are kept that can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tidegate"


def compiled() -> dict[str, str]:
    """Return the variables that make Python keep the modules that it compiles, outside of the checkout."""
    return {"PYTHONPYCACHEPREFIX": str(cache_directory() / "pycache")}


def keeping_compiled(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python keeps what it compiles, also where this one forbids that.

    The local cloud and the app import large packages: to compile them takes seconds each time.
    """
    return {**{name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}, **compiled()}
