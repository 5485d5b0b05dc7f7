"""Replace an execution that ended without a result, once.

An interrupted call is repeated as a whole.
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
    """Ensure that an execution works on a record that needs one. Return whether none did."""
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
    """Publish what there is, and that no more will come."""
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

    A cancelled layer has no plan to show: its canceller died before the record was saved.
    """
    if any(layer.state is LayerState.CANCELLED for layer in layers):
        return record
    return judged(record, layers, at)
