"""A deployment's plan, and the job that applies it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.plans.rules.plan import Plan


@dataclass(frozen=True, slots=True)
class Planned:
    """The newest plan. A later plan replaces it."""

    plan: Plan | None = None
    #: The id of the newest job that makes the plan.
    job: str | None = None
    #: Digest that equal plans share.
    digest: str = ""
    #: Why the plan must be reviewed even if the root's review rule does not ask for it.
    must_review: str | None = None


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """The job that applies the plan, when it was started, and how long providers took if it succeeded."""

    job: str | None = None
    started_at: datetime | None = None
    providers: tuple[ProviderTime, ...] = ()
