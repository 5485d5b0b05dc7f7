"""Find manual deployments that are already queued: a second one would only be planned after the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead, Waiting
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import is_final
from tidegate.discovery.new_deployments import described, enqueue_change, enroll
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import OversizedRecord

#: A wanted deployment, and the earlier one that does the same.
Repeat = tuple[Deployment, Deployment]


def find_repeats(ports: Ports, wanted: Sequence[Deployment]) -> Sequence[Repeat]:
    """Return each queued manual deployment of the same root, stack and commits as a wanted one, with that one."""
    return _repeats(ports, wanted, {each.queue: tuple(_by_hand(*ports.queues.line(each.queue))) for each in wanted})


def enqueue_once(ports: Ports, wanted: Sequence[Deployment]) -> Sequence[Repeat]:
    """Enqueue all wanted ones and return nothing, or return what the first of them repeats.

    Of concurrent requests that all found nothing queued, only one succeeds: the first in the first root's queue. Raise
    Conflict, and the errors of enqueuing.
    """
    wanted = described(ports, wanted)
    enroll(ports, wanted)
    repeats = deciding_again(lambda: _put_first(ports, wanted[0]))
    if not repeats:
        enqueue_change(ports, wanted)
    return repeats


def _put_first(ports: Ports, first: Deployment) -> Sequence[Repeat]:
    """Store the first if its queue is unchanged, without what it repeats. Raise Conflict otherwise."""
    head, line = ports.queues.line(first.queue)
    repeats = _repeats(ports, [first], {first.queue: tuple(_by_hand(head, line))})
    if not repeats:
        with suppress(OversizedRecord):  # The later enqueue handles it.
            ports.queues.enqueue(first.begun(), head)
    return repeats


def _repeats(ports: Ports, wanted: Sequence[Deployment], lines: dict[str, tuple[str, ...]]) -> Sequence[Repeat]:
    ids = {each.id for each in wanted}
    known = ports.deployments.many({identifier for line in lines.values() for identifier in line} - ids)
    found = []
    for each in wanted:
        same = (known[identifier] for identifier in lines[each.queue] if identifier in known)
        earlier = next((one for one in same if _is_same(one, each)), None)
        if earlier is not None:
            found.append((each, earlier))
    return found


def _by_hand(head: QueueHead, line: Sequence[Waiting]) -> Iterator[str]:
    if head.in_flight is not None:
        yield head.in_flight
    yield from (each.deployment for each in line if each.trigger is Trigger.MANUAL)


def _is_same(earlier: Deployment, wanted: Deployment) -> bool:
    """Tell whether a deployment does the same as another, and has not ended."""
    if is_final(earlier.state) or earlier.request.trigger is not Trigger.MANUAL or earlier.outcome.withdrawn:
        return False
    keys = [
        (each.stack, each.revision.sha, each.request.base_sha, bool(each.request.destroy)) for each in (earlier, wanted)
    ]
    return keys[0] == keys[1]
