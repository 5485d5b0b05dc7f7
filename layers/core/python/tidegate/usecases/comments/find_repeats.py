"""Find what of a deploy by hand is in line already: a second one would only be planned after the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegate.domain.deploys.deployment import Deployment, Trigger, is_final
from tidegate.ports import Deployments, DeployQueues


def find_repeats(
    queues: DeployQueues, deployments: Deployments, wanted: Sequence[Deployment]
) -> Sequence[tuple[Deployment, Deployment]]:
    """Return each deployment that one by hand of the same root, stack and commits goes before, with that one."""
    ids = {each.id for each in wanted}
    lines = {each.queue: tuple(_by_hand(queues, each.queue)) for each in wanted}
    known = deployments.many({identifier for line in lines.values() for identifier in line} - ids)
    found = []
    for each in wanted:
        same = (known[identifier] for identifier in lines[each.queue] if identifier in known)
        earlier = next((one for one in same if _is_same(one, each)), None)
        if earlier is not None:
            found.append((each, earlier))
    return found


def _by_hand(queues: DeployQueues, queue: str) -> Iterator[str]:
    head, line = queues.line(queue)
    if head.in_flight is not None:
        yield head.in_flight
    yield from (each.deployment for each in line if each.trigger is Trigger.MANUAL)


def _is_same(earlier: Deployment, wanted: Deployment) -> bool:
    """Tell whether a deployment does what another is to do, and has not ended."""
    if is_final(earlier.state) or earlier.trigger is not Trigger.MANUAL or earlier.withdrawn:
        return False
    keys = [(each.stack, each.revision.sha, each.base_sha) for each in (earlier, wanted)]
    return keys[0] == keys[1]
