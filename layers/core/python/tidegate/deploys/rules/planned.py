"""The plan of a deployment, and the job that applies it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.plans.rules.plan import Plan


@dataclass(frozen=True, slots=True)
class Planned:
    """The newest plan. A plan that is made again replaces it."""

    plan: Plan | None = None
    #: The id of the newest job that makes the plan.
    job: str | None = None
    #: What plans that do the same have in common.
    digest: str = ""
    #: Why people must review the plan whatever its root's rule says.
    must_review: str | None = None


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """The job that applies the plan, and when it was started."""

    job: str | None = None
    started_at: datetime | None = None
