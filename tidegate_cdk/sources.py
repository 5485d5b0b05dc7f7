"""The location of the deployed code: this repository, or the installed package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
#: The wheel carries functions, layers, runner and state machines here (packaging.py).
_INSTALLED = _PACKAGE / "sources"
ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
