"""Cancel the waiting and running plans of a pull request on request.

The record is saved last, so an interrupted call is repeated as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.authorize import access_refusals
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.ports import Ports
from tidegate.pull_requests.close_pull_request import stop_pull_request
from tidegate.pull_requests.restart_pull_request import as_now
from tidegate.pull_requests.rules.record import PullRequestRecord, PullRequestState, judged
from tidegate.pull_requests.rules.remarks import AGAIN
from tidegate.rules.access import Access, Action
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision

_WHOLE = "Speculative plans keep running. To cancel them, comment `cancel` without a root, which cancels all."
_NOT_KNOWN = (
    "The changed roots are not known yet, so no plan is cancelled. "
    "Once it is planned, comment again, or push another commit."
)


def cancel_plans(ports: Ports, repository: str, number: int, by: str, *, whole: bool) -> Decision | None:
    """Return what became of the plans of a pull request, None if none waits or runs.

    A person who may request the plan of each root may cancel them. Ended plans stay; the verdict is that not all were
    planned. Nothing is cancelled unless the ``whole`` is meant. Raise ForgeUnavailable and ForgeRefused, and Conflict
    after repeated concurrent writes.
    """
    return deciding_again(partial(_cancel, ports, repository, number, by, whole=whole))


def _cancel(ports: Ports, repository: str, number: int, by: str, *, whole: bool) -> Decision | None:
    record = next(iter(ports.pull_requests.many([(repository, number)])), None)
    if record is None or not record.is_open:
        return None
    notice = f"{by} cancelled the remaining plans. {AGAIN}"
    cancelled = Decision(True, f"The remaining plans were cancelled. {AGAIN}")
    if notice in record.notice.splitlines():
        return cancelled
    layers = ports.speculative_plans.many(record.layers)
    state = as_now(record, layers, ports.clock.now()).state
    if state not in {PullRequestState.DISCOVERY_NEEDED, PullRequestState.PLANNING}:
        return None
    refusal = _refusal(ports, repository, layers, by, state) if whole else _WHOLE
    if refusal:
        return Decision(False, refusal)
    _stop(ports, record, f"{by} cancelled it.", notice)
    return cancelled


def _refusal(ports: Ports, repository: str, layers: Iterable[SpeculativePlan], by: str, state: PullRequestState) -> str:
    """Return why the person may not cancel, or an empty text."""
    if state is PullRequestState.DISCOVERY_NEEDED:
        return _NOT_KNOWN
    meant = [each for each in layers if not each.is_done or each.state is LayerState.CANCELLED]
    return " ".join(access_refusals(ports, _accesses(meant), repository, Action.PLAN, by))


def _stop(ports: Ports, record: PullRequestRecord, reason: str, notice: str) -> None:
    layers = stop_pull_request(ports, record, reason)
    told = replace(record, notice="\n".join(filter(None, (record.notice, notice))))
    saved = ports.pull_requests.save(judged(told, layers, ports.clock.now()))
    ports.event_publisher.pull_request_ended(saved.spec.id, saved.spec.revision)


def _accesses(layers: Iterable[SpeculativePlan]) -> dict[str, Access | None]:
    """Return the access rules of roots, grouped, as text."""
    return {
        f"root {each.root.name}" + ("" if each.stack == DEFAULT_STACK else f" in stack {each.stack}"): each.access
        for each in layers
    }
