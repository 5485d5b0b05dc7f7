"""Read a plan as rows."""

from __future__ import annotations

from hashlib import sha256

from tidegate.plans.rules.plan import Plan
from tidegate.plans.rules.structured_file import StructuredPlan, unpacked
from tidegate.ports import Ports
from tidegate.rules.errors import NotFound


def get_structured_plan(ports: Ports, plan: Plan) -> StructuredPlan | None:
    """Return a plan's rows. None if none are stored, they have expired, or they are not what was stored.

    People then read the plan's text, which is verified on its own.
    """
    if plan.structured is None:
        return None
    try:
        content = ports.artifacts.get(plan.structured.key)
    except NotFound:
        return None
    if sha256(content).hexdigest() != plan.structured.sha256:
        return None
    try:
        return unpacked(content)
    except ValueError:
        return None
