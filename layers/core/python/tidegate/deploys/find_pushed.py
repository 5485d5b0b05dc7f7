"""Find the pushes whose changes a deployment would apply: apply requirements are evaluated for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Standing
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.requirements_gate import is_of_head
from tidegate.ports import DeployQueues
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.push import Pushed

#: Pushes that are read at most. If there are more, the list is incomplete.
_MOST = 20


def find_pushed(queues: DeployQueues, standing: Standing, deployment: Deployment) -> tuple[Pushed, ...]:
    """Return the pushes to be applied: the deployment's own, and those of attempts that were not applied.

    They include the pushes of dropped merges that it contains. A deployment without a push, such as one from the API,
    contains everything since the last deployed revision; so does one that brings a deployed root back. A pull request's
    head contains the queued merges that its branch contains. ``standing`` is the root's status in the deployment's
    stack.
    """
    if deployment.destroys_deployed:
        return ()  # No push asks for it: the push that brought the files says nothing of their removal.
    is_back = deployment.commits.returns and standing.deployed is not None
    since = tuple(_since_deployed(standing, deployment)) if is_back or not deployment.commits.pushed else ()
    own = (*since, *deployment.commits.pushed)
    before = (*_carried(queues, deployment), *_undone(queues, standing, deployment), *_in_line(queues, deployment))
    found = tuple(dict.fromkeys((*before, *own)))
    if len(found) > _MOST:
        return (Pushed("", deployment.revision.sha, deployment.revision.branch),)
    return found


def _since_deployed(standing: Standing, deployment: Deployment) -> Iterator[Pushed]:
    if is_of_head(deployment):
        return
    revision = deployment.revision
    yield Pushed(standing.deployed.revision.sha if standing.deployed else "", revision.sha, revision.branch)


def _undone(queues: DeployQueues, standing: Standing, deployment: Deployment) -> tuple[Pushed, ...]:
    """Return the pushes of what failed before its apply; what was approved once is not evaluated again."""
    undone = standing.undone
    if undone is None:
        return ()
    try:
        _, record = queues.read_with(deployment.queue, undone.deployment)
    except NotFound:
        return (Pushed("", undone.revision.sha, undone.revision.branch),)
    return record.commits.pushed if record.apply.job is None else ()


def _carried(queues: DeployQueues, deployment: Deployment) -> Iterator[Pushed]:
    for identifier in deployment.lineage.carries:
        _, record = queues.read_with(deployment.queue, identifier)
        yield from record.commits.pushed


def _in_line(queues: DeployQueues, deployment: Deployment) -> Iterator[Pushed]:
    """Yield the pushes of queued merges behind the pull request's head, which may contain them through its base."""
    if not is_of_head(deployment):
        return
    for each in queues.waiting(deployment.queue):
        if each.trigger is Trigger.MERGE:
            _, record = queues.read_with(deployment.queue, each.deployment)
            yield from record.commits.pushed
