"""Who does what no person asked for, as records, locks and audit messages name it."""

from __future__ import annotations

TIDEGATE = "tidegate"
