"""Where a plan runs: on Lambda, which starts in seconds, or on Fargate, with more time and memory.

Standard library only, and small: the runner imports this as well, and its start is part of every deploy.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tidegate.deploys.rules.job import Job

#: Lambda ends a function after 15 minutes. The rest is for an interrupted engine, which releases its state lock, and
#: for the report.
PLAN_MINUTES = 13
#: How long a root's plans stay on Fargate after one of them was too large for Lambda.
KEPT_DAYS = 14


#: "Tenant isolation mode is supported in all commercial Regions except Asia Pacific (New Zealand)" (AWS Lambda, Tenant
#: isolation: Supported AWS Regions, https://docs.aws.amazon.com/lambda/latest/dg/tenant-isolation.html, 2026-11-24).
_REGIONS_WITHOUT = frozenset({"ap-southeast-6"})
#: Prefixes of regions that are not commercial: China, GovCloud, the isolated ones, the European sovereign one.
_OTHER_PARTITIONS = ("cn-", "us-gov-", "us-iso", "eu-isoe-", "eusc-")


class PlanRunner(StrEnum):
    """What runs a job. Applies run on Fargate always."""

    FARGATE = "fargate"
    LAMBDA = "lambda"


def word_of(runner: PlanRunner) -> Literal["fargate", "lambda"]:
    """Return what the state machines call a runner."""
    return "lambda" if runner is PlanRunner.LAMBDA else "fargate"


def has_tenant_isolation(region: str) -> bool:
    """Tell whether Lambda isolates tenants in a region."""
    return region not in _REGIONS_WITHOUT and not region.startswith(_OTHER_PARTITIONS)


class Limit(StrEnum):
    """A limit of Lambda that a plan exceeded."""

    TIME = f"it needs more than {PLAN_MINUTES} minutes"
    MEMORY = "it needs more memory than the Lambda function has"
    DISK = "it needs more disk than the Lambda function has"
    ENDED = "the attempt on Lambda ended without a result"

    @property
    def is_of_the_root(self) -> bool:
        """Tell whether the root's next plan will exceed this limit, too."""
        return self is not Limit.ENDED


@dataclass(frozen=True, slots=True)
class OnFargate:
    """That a root's plans run on Fargate, and why. ``form`` is what they were like when that was found out."""

    limit: Limit
    form: str
    since: datetime
    until: datetime


def lambda_runner(request: str) -> str:
    """Return the name of a runner on Lambda: that of the request which it serves. (A task's name is its ARN.)"""
    return f"lambda:{request}"


def form_of(job: Job, function: str) -> str:
    """Return a digest of what decides a plan's needs and resources: if it changes, Lambda is tried again.

    ``function`` gives the function's size.
    """
    shape = [asdict(job.root), job.engine_version, asdict(job.run), function]
    return hashlib.sha256(json.dumps(shape, sort_keys=True, default=str).encode()).hexdigest()[:16]


def kept(limit: Limit, form: str, now: datetime) -> OnFargate:
    """Return what is stored about a root whose plan exceeded a limit."""
    until = now + timedelta(days=KEPT_DAYS)
    return OnFargate(limit, form, now, until)


@dataclass(frozen=True, slots=True)
class Where:
    """Where a plan runs. ``note`` is for its log: why it runs on Fargate although plans start on Lambda.

    ``limit`` is the limit of Lambda that it, or an earlier plan of its root, exceeded.
    """

    runner: PlanRunner
    note: str = ""
    limit: Limit | None = None


def where(left: Limit | None, remembered: OnFargate | None, now: datetime) -> Where:
    """Decide where a plan runs. ``left`` is the limit that the previous attempt exceeded on Lambda."""
    if left is not None:
        return Where(PlanRunner.FARGATE, f"This plan moved from Lambda to Fargate: {left}.", left)
    if remembered is None or now >= remembered.until:
        return Where(PlanRunner.LAMBDA)
    return Where(
        PlanRunner.FARGATE,
        f"Plans of this root have run on Fargate since {remembered.since:%Y-%m-%d}, because one exceeded the limits of "
        f"Lambda: {remembered.limit}. They start on Lambda again on {remembered.until:%Y-%m-%d}, or when the root's "
        "engine, directory or workflow changes.",
        remembered.limit,
    )
