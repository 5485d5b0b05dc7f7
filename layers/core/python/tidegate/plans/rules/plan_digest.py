"""Equality of plans: by their JSON without what differs between two equal runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

#: When it was planned.
_OF_ITS_TIME = "timestamp"
#: A list that the engine writes in any order.
_UNORDERED = "relevant_attributes"


def plan_digest(content: bytes) -> str:
    """Return a digest of a plan (the engine's JSON) that is equal for equal plans, in hexadecimal.

    Empty for invalid JSON, or with duplicate keys: that equals nothing.
    """
    try:
        plan = json.loads(content, object_pairs_hook=_unique)
        if not isinstance(plan, dict):
            return ""
        plan.pop(_OF_ITS_TIME, None)
        if isinstance(plan.get(_UNORDERED), list):
            plan[_UNORDERED] = sorted(_written(each) for each in plan[_UNORDERED])
        return sha256(_written(plan).encode()).hexdigest()
    except (ValueError, RecursionError):
        return ""


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("the JSON has a duplicate key")
    return found


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
