"""The actors of automatic actions, as records, locks and audit messages name them."""

from __future__ import annotations

TIDEGATE = "tidegate"
