"""Find out whether a stack of another repository is deployed, up to the head that a promotion saw when it began."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.config_updates.rules.promotion import AwaitedStack
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.state import is_final
from tidegate.ports import Ports


def find_stack_wait(ports: Ports, stack: AwaitedStack) -> str:
    """Return why a stack is waited for, as a sentence; empty if none of its deployments is open or failed.

    A failed one counts until a later one that contains it is applied. One query returns the queues of a repository;
    only those with something open or failed are read further.
    """
    name = f"the stack {stack.stack} of {stack.repository}"
    if stack.repository not in ports.update_repositories:
        return f"The installation does not allow to wait for {name}: an operator can list the repository."
    known = [each for head in ports.repository_index.roots(stack.repository) for each in _unfinished(ports, head)]
    found = [each for each in ports.deployments.many(list(dict.fromkeys(known))).values() if _counts(each, stack)]
    if not found:
        return ""
    first = min(found, key=lambda each: (each.root.name, each.request.at))
    ended = "failed" if is_final(first.state) else "is not finished"
    return f"It waits for {name}: the deployment of {first.root.name} at {first.revision.sha[:12]} {ended}."


def _unfinished(ports: Ports, head: QueueHead) -> Iterator[str]:
    """Yield the deployments of a queue that are open, or failed without a later one that contains them."""
    if head.in_flight:
        yield head.in_flight
    if head.length:
        yield from (each.deployment for each in ports.queues.waiting(head.queue))
    standings = (head.undone, *(each.undone for each in head.by_stack))
    yield from (each.deployment for each in standings if each is not None)
    yield from head.dropped


def _counts(deployment: Deployment, stack: AwaitedStack) -> bool:
    is_later = stack.seen_at is not None and deployment.request.at > stack.seen_at
    return not is_later and stack.stack in (deployment.stack, *deployment.within)
