"""Caches of the local cloud: synthesized apps, and compiled Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_directory() -> Path:
    """Return the cache directory."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tidegate"


def compiled() -> dict[str, str]:
    """Return the variables with which Python stores compiled modules outside of the checkout."""
    return {"PYTHONPYCACHEPREFIX": str(cache_directory() / "pycache")}


def keeping_compiled(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python stores compiled modules, even if this one disables that.

    The local cloud and the app import large packages, which take seconds to compile each time.
    """
    return {**{name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}, **compiled()}
