"""Mark roots that a commit removes although their resources remain: lists and check runs show that.

A repeated call is harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.left_behind import stays
from tidegate.deploys.rules.queue import Orphaned, Standing
from tidegate.deploys.rules.state import State
from tidegate.ports import Ports
from tidegate.roots.rules.root import Root
from tidegate.rules.decide_again import deciding_again


def mark_orphans(
    ports: Ports, repository: str, gone: Collection[str], there: Iterable[Root], revision: str, at: datetime
) -> list[str]:
    """Mark what was deployed from the directories ``gone`` if no root has its name or location now.

    ``there`` are the roots of the commit ``revision``, which came ``at``. Return a sentence for
    each root that is left behind.
    """
    roots = tuple(there)
    names, places = {root.name for root in roots}, {(root.dir, root.workspace) for root in roots}
    heads = [each for each in ports.repository_index.roots(repository) if each.root_name not in names]
    left = [each for each in heads if each.deployed and not each.is_destroyed]
    known = ports.deployments.many({each.deployed.deployment for each in left if each.deployed})
    told = []
    for head in left:
        last = known.get(head.deployed.deployment) if head.deployed else None
        if last and last.root.dir in gone and (last.root.dir, last.root.workspace) not in places:
            orphaned = Orphaned(revision, at, resources_after(last))
            deciding_again(partial(_mark, ports, head.queue, last.id, orphaned))
            told.append(_left_behind(repository, head.root_name, orphaned))
    return told


def _mark(ports: Ports, queue: str, deployed: str, orphaned: Orphaned) -> None:
    head, _ = ports.queues.read(queue)
    if head.deployed and head.deployed.deployment == deployed and head.deployed.orphaned is None:
        marked = replace(head.deployed, orphaned=orphaned)
        stacks = tuple(_marked(each, orphaned) for each in head.by_stack)
        ports.queues.commit(head, replace(head, deployed=marked, by_stack=stacks))


def _marked(standing: Standing, orphaned: Orphaned) -> Standing:
    deployed = standing.deployed
    return replace(standing, deployed=replace(deployed, orphaned=orphaned)) if deployed else standing


def resources_after(last: Deployment) -> int | None:
    """Return the number of managed resources in the state after a deployment, None if unknown."""
    changes = last.planned.plan.changes if last.planned.plan else None
    if changes is None or changes.resources is None:
        return None
    if last.state is State.APPLIED:
        return max(0, changes.resources + changes.add - changes.destroy)
    return changes.resources if last.state is State.NO_CHANGES else None


def _left_behind(repository: str, name: str, orphaned: Orphaned) -> str:
    return (
        f"{name}: the root was removed, but its resources were not destroyed: {stays(orphaned.resources)}. To "
        f"destroy them after a review, run `tidegate destroy {repository} {name}`. Do not do so if the directory "
        "was moved and keeps its backend, because the new root then uses this state."
    )
