"""A month of deployments as insights count them: nobody waits for one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.insights.rules.day import Day, DriftSeen, with_drift, with_ended
from tidegate.insights.rules.ended import Ended, Result
from tidegate_local.sample.files import PLATFORM, SCHEDULE, STAGES

_DAYS, _SATURDAY = 30, 5
_TEAMS = {"network": "platform", "database": "platform", "shop": "shop"}
#: The providers of each root, with the seconds that a resource takes on average.
_PROVIDERS = {
    "network": {"hashicorp/aws": 25, "hashicorp/tls": 1},
    "database": {"hashicorp/aws": 60, "hashicorp/random": 1},
    "shop": {"hashicorp/aws": 15, "hashicorp/helm": 60, "hashicorp/kubernetes": 8},
}
#: The share of deployments that fail, and millionths of a dollar for a second of a runner.
_FAILURES, _COST = 0.08, 11


def past_days(now: datetime) -> Iterator[Day]:
    """Yield the days of the platform before today: always the same ones."""
    chance = random.Random(7)  # noqa: S311  # Not a secret.
    for age in range(1, _DAYS):
        at = now - timedelta(days=age)
        day = Day(PLATFORM, f"{at:%Y-%m-%d}")
        for _ in range(chance.randint(0, 3) if at.weekday() >= _SATURDAY else chance.randint(3, 9)):
            day = with_ended(day, _ended(chance, at))
        yield with_drift(day, SCHEDULE, [DriftSeen(SCHEDULE, "prod", 1, (age % 6) * 86_400)])


def _ended(chance: random.Random, at: datetime) -> Ended:
    """Return one deployment. Later stages wait longer for their reviews."""
    stage, name = chance.randrange(len(STAGES)), chance.choice(sorted(_TEAMS))
    queue, run = chance.expovariate(1 / 60), 40 + chance.expovariate(1 / 90)
    review = chance.expovariate(1 / (900 * (stage + 1)))
    result = Result.FAILED if chance.random() < _FAILURES else Result.APPLIED
    lead = queue + review + run if result is Result.APPLIED else None
    root = f"{STAGES[stage]}/{name}"
    times = _provider_times(chance, name, round(run)) if result is Result.APPLIED else ()
    return Ended(at, root, STAGES[stage], _TEAMS[name], result, lead, queue, review, run, round(run * _COST), times)


def _provider_times(chance: random.Random, name: str, run: int) -> tuple[ProviderTime, ...]:
    """Return how long the providers of an apply took for one to five resources each, none longer than the run."""
    seconds = {
        provider: [min(run, round(chance.expovariate(1 / mean))) for _ in range(chance.randint(1, 5))]
        for provider, mean in _PROVIDERS[name].items()
    }
    return tuple(ProviderTime(provider, len(each), sum(each), max(each)) for provider, each in seconds.items())
