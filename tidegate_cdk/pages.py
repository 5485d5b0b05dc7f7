"""Writes the pages of documentation that are generated from the template with its defaults."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def write_page(path: Path, page: Callable[[Mapping[str, Any]], str]) -> int:
    """Write what ``page`` makes of the template, and return the exit code."""
    from tidegate_cdk.synthesis import synthesize  # noqa: PLC0415  # Only here: reading a template needs no node.

    with tempfile.TemporaryDirectory() as directory:
        template = json.loads(synthesize(Path(directory)).read_text(encoding="utf-8"))
    path.write_text(page(template), encoding="utf-8")
    return 0
