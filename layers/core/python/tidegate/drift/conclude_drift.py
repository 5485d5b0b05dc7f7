"""End a drift detection run: store and publish the result, and request deployments that undo the drift, if configured.

Idempotent: a concluded run stays unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tidegate.config.rules.drift import DriftFinding, DriftRecord, DriftState, found
from tidegate.deploys.rules.failure import in_words, read_cause
from tidegate.deploys.rules.state import State
from tidegate.drift.report_drift import report_drift
from tidegate.insights.count import count_drift
from tidegate.ports import (
    Delivery,
    Ports,
)
from tidegate.pull_requests.close_pull_request import remove_plans
from tidegate.roots.rules.root import deployment_id
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused, NotFound

#: Endings by which a person declined to undo a drift.
_DECLINED = frozenset({State.REJECTED, State.CANCELLED})
#: The kind of delivery that requests deployments which undo drift.
DRIFT = "drift"


def drift_request(execution: str) -> str:
    """Return the id of a run's request, unique among requests for the same commit."""
    return f"drift {execution}"


def conclude_drift(ports: Ports, repository: str, schedule: str, execution: str) -> str:
    """Return the result, in a few words. On ForgeUnavailable and CloudUnavailable, conclude again.

    The result is stored before it is published, so that it is visible while the VCS provider is down.
    """
    record = deciding_again(partial(_found, ports, repository, schedule, execution))
    if record is None:
        return "overtaken"
    _remove(ports, record.former)
    if record.entry.reconcile:
        _ask(ports, record)
    shown = _shown(ports, record)
    ports.drift_events.looked_for(shown)
    count_drift(ports, shown)
    deciding_again(partial(_ended, ports, shown))
    return shown.summary


def fail_drift(ports: Ports, repository: str, schedule: str, execution: str, error: str, cause: str) -> str:
    """Record that a run ended with an internal error."""
    record = deciding_again(
        partial(_failed, ports, repository, schedule, execution, in_words(error, read_cause(cause)))
    )
    return "overtaken" if record is None else "failed"


def _failed(ports: Ports, repository: str, schedule: str, execution: str, why: str) -> DriftRecord | None:
    record = _going_on(ports, repository, schedule, execution)
    if record is None:
        return None
    notice = f"Drift detection stopped with an internal error: {why}"
    return ports.drifts.save(replace(record, execution="", ended_at=ports.clock.now(), notice=notice))


def _found(ports: Ports, repository: str, schedule: str, execution: str) -> DriftRecord | None:
    record = _going_on(ports, repository, schedule, execution)
    if record is None:
        return None
    record = found(record, ports.speculative_plans.many(record.layers), ports.clock.now())
    if record.entry.reconcile:
        record = replace(record, findings=_with_deployments(ports, record))
    return ports.drifts.save(record)


def _going_on(ports: Ports, repository: str, schedule: str, execution: str) -> DriftRecord | None:
    """Return the record if this run is the current one."""
    try:
        record = ports.drifts.get(repository, schedule)
    except NotFound:
        return None
    return record if record.execution == execution else None


def _with_deployments(ports: Ports, record: DriftRecord) -> tuple[DriftFinding, ...]:
    """Name the deployment that is to undo each drift: a new one, unless a person declined the previous one."""
    drifted = record.of(DriftState.DRIFTED)
    known = ports.deployments.many({each.deployment for each in drifted if each.deployment})
    rejected = {name for name, one in known.items() if one.state in _DECLINED}
    request = drift_request(record.execution)
    return tuple(
        replace(each, deployment=_deployment(record, each, request))
        if each.state is DriftState.DRIFTED and each.deployment not in rejected
        else each
        for each in record.findings
    )


def _ask(ports: Ports, record: DriftRecord) -> None:
    """Request the deployments from the function that reads the repository. The same run requests once."""
    request = drift_request(record.execution)
    wanted = [each for each in record.of(DriftState.DRIFTED) if each.deployment == _deployment(record, each, request)]
    if not wanted:
        return
    fields = {
        "repository": record.repository,
        "schedule": record.entry.name,
        "sha": record.sha,
        "branch": record.branch,
        "roots": [list(each.key) for each in wanted],
    }
    delivery = Delivery(f"drift-{record.execution}", DRIFT, fields, ports.clock.now())
    ports.deliveries.store(delivery)
    ports.events.send(delivery)
    ports.deliveries.mark_queued(delivery.id)


def _shown(ports: Ports, record: DriftRecord) -> DriftRecord:
    """Publish it at the VCS provider. A refusal is shown on the page: a permission may be missing."""
    try:
        return report_drift(ports, record)
    except ForgeRefused as error:
        notice = f"Tidegate could not report the result at the VCS provider: {error}"
        return replace(record, notice="\n".join(filter(None, (record.notice, notice))))


def _ended(ports: Ports, shown: DriftRecord) -> None:
    """End the run. The configuration may have changed or removed the schedule meanwhile."""
    now = _going_on(ports, shown.repository, shown.entry.name, shown.execution)
    if now is not None:
        now = replace(now, notice=shown.notice, issue=shown.issue, is_reported=shown.is_reported)
        ports.drifts.save(replace(now, execution="", former=()))


def _remove(ports: Ports, layers: Sequence[str]) -> None:
    """Remove the layers of earlier runs, whose results are replaced."""
    if layers:
        remove_plans(ports.artifacts, ports.speculative_plans.many(layers))
        ports.speculative_plans.remove(layers)


def _deployment(record: DriftRecord, finding: DriftFinding, request: str) -> str:
    apart = finding.stack if finding.shared else ""
    return deployment_id(record.repository, finding.root, record.sha, request, apart)
