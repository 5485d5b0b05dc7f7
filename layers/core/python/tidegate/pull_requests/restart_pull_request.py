"""Put another execution in place of one that ended without a result, once.

Whoever dies in between does it all again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.ports import Ports
from tidegate.pull_requests.close_pull_request import stop_pull_request
from tidegate.pull_requests.pull_request_checks import show_pull_request
from tidegate.pull_requests.rules.record import PullRequestRecord, PullRequestState, judged, restarted
from tidegate.rules.errors import Conflict, NotFound

_AGAIN = "The execution ended without a result. Planning restarts."
_GIVEN_UP = (
    "Planning this commit ended twice without a result. To plan again, push another commit or comment `tidegate "
    "plan`. If that fails too, contact your Tidegate operators."
)


def restart_pull_request(ports: Ports, record: PullRequestRecord) -> bool:
    """See to it that something works on a record, if there is something to be done. Return whether nothing did."""
    if record.state is PullRequestState.IDLE or _runs(ports, record):
        return False
    try:
        _restart(ports, as_now(record, ports.speculative_plans.many(record.layers), ports.clock.now()))
    except Conflict:
        return False  # Somebody else works on it.
    return True


def _runs(ports: Ports, record: PullRequestRecord) -> bool:
    """Tell whether the execution runs. One that was never started is started."""
    try:
        return ports.workflows.pull_request_ending(record.execution) is None
    except NotFound:
        _start(ports, record)
        return True


def _restart(ports: Ports, record: PullRequestRecord) -> None:
    if record.state is PullRequestState.COMMENT_NEEDED:
        ports.event_publisher.pull_request_ended(record.spec.id, record.spec.revision)
    elif record.restarted:
        _give_up(ports, record)
    else:
        stop_pull_request(ports, record, _AGAIN)
        again = ports.pull_requests.save(judged(restarted(record), (), ports.clock.now()))
        show_pull_request(ports, again)
        _start(ports, again)


def _give_up(ports: Ports, record: PullRequestRecord) -> None:
    """Show what there is, and that there will be no more."""
    layers = stop_pull_request(ports, record, _GIVEN_UP)
    revision = record.spec.revision
    known = record.layers if record.discovered == revision else ()
    ended = replace(record, discovered=revision, layers=known, notice=_GIVEN_UP)
    ports.pull_requests.save(judged(ended, layers, ports.clock.now()))
    ports.event_publisher.pull_request_ended(record.spec.id, revision)


def _start(ports: Ports, record: PullRequestRecord) -> None:
    ports.workflows.start_pull_request(record.execution, record.spec.id, record.spec.revision)


def as_now(record: PullRequestRecord, layers: Collection[SpeculativePlan], at: datetime) -> PullRequestRecord:
    """Return the record as its layers are now, ``at``.

    One that was cancelled has no plan to be shown: whoever cancelled it died before the record was saved.
    """
    if any(layer.state is LayerState.CANCELLED for layer in layers):
        return record
    return judged(record, layers, at)
