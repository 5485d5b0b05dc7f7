"""What a check of ``tidegate doctor`` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; ``do`` says what to do when it is not ok."""

    check: str
    verdict: Verdict
    found: str
    do: str = ""
