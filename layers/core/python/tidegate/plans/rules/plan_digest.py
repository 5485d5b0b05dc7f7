"""When two plans say the same: by their JSON without what differs between two runs that plan the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

#: When it was planned.
_OF_ITS_TIME = "timestamp"
#: A list that the engine makes in no order.
_UNORDERED = "relevant_attributes"


def plan_digest(content: bytes) -> str:
    """Return what two plans (the engine's JSON) have in common if they say the same, in hexadecimal.

    Empty for what is no such JSON, or says one thing twice: that is like no other.
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
