"""Add what ended to the figures of its day: each deployment once, and of a drift schedule the day's last run."""

from __future__ import annotations

from collections import defaultdict

from tidegate.config.rules.drift import DriftFinding, DriftRecord
from tidegate.deploys.rules.deployment import Deployment
from tidegate.insights.cost_of_runners import cost_of_runners
from tidegate.insights.rules.day import DriftSeen, with_drift, with_ended
from tidegate.insights.rules.ended import ended
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def count_deployment(ports: Ports, deployment: Deployment) -> None:
    """Count a deployment that has ended; a repeated call changes nothing.

    Raise Conflict if many end at once, and CloudUnavailable: repeat it then.
    """
    one = ended(deployment, cost_of_runners(ports, deployment))
    date = f"{one.at:%Y-%m-%d}"

    def count() -> None:
        day = ports.insights.get(deployment.repository, date)
        ports.insights.count(with_ended(day, one), deployment.id)

    deciding_again(count)


def count_drift(ports: Ports, record: DriftRecord) -> None:
    """Keep how old the drift is that a concluded run of a schedule knows, for its day."""
    at = record.ended_at or ports.clock.now()
    by_stack: defaultdict[str, list[DriftFinding]] = defaultdict(list)
    for each in record.findings:
        by_stack[each.stack].append(each)
    seen = [
        DriftSeen(record.entry.name, stack, len(ages), max(ages, default=0))
        for stack, findings in by_stack.items()
        for ages in [[round((at - one.drifted_since).total_seconds()) for one in findings if one.drifted_since]]
    ]

    def keep() -> None:
        day = ports.insights.get(record.repository, f"{at:%Y-%m-%d}")
        after = with_drift(day, record.entry.name, seen)
        if after != day:
            ports.insights.save(after)

    deciding_again(keep)
