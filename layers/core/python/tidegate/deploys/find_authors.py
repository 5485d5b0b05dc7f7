"""Find the authors of everything that a deployment would apply, not only of its own commits."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Deployed, Standing
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import DONE
from tidegate.ports import Commits, DeployQueues
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.authors import UNKNOWN, Authors


def find_authors(queues: DeployQueues, commits: Commits, standing: Standing, deployment: Deployment) -> Authors:
    """Return who made the changes since the last deployed revision, which is what the plan contains.

    These are the authors of the deployment's own change, of all commits since then, and of attempts since then that
    failed. ``standing`` is the root's status in the deployment's stack. Raise ForgeUnavailable and ForgeRefused.
    """
    made = Authors(deployment.commits.authors, deployment.commits.authors_known)
    since = _since_deployed(commits, standing.deployed, deployment)
    if since is not None:
        # Without a merge or a pull request, only the VCS provider's list of commits names the authors.
        told = deployment.request.trigger is Trigger.MERGE or deployment.request.pull_request is not None
        made = Authors(made.logins, made.known or not told).and_also(since)
    for earlier in _earlier(queues, standing, deployment):
        made = made.and_also(earlier)
    return made


def _since_deployed(commits: Commits, deployed: Deployed | None, deployment: Deployment) -> Authors | None:
    """Return the authors of the commits since the deployed revision; None if there is nothing to compare with."""
    if deployed is None:
        return None
    if deployed.revision.sha == deployment.revision.sha:
        return Authors()
    try:
        return commits.change(deployment.repository, deployed.revision.sha, deployment.revision.sha).authors
    except NotFound:
        return UNKNOWN


def _earlier(queues: DeployQueues, standing: Standing, deployment: Deployment) -> Iterator[Authors]:
    """Yield the authors of earlier attempts that may not be applied yet."""
    tried = {each.deployment: each for each in (standing.deployed, standing.attempted) if each is not None}
    for identifier, each in tried.items():
        # Nothing of a completed deployment is left to apply.
        if each.state in DONE and each.revision.sha != deployment.revision.sha:
            continue
        try:
            _, earlier = queues.read_with(deployment.queue, identifier)
        except NotFound:
            yield UNKNOWN
        else:
            yield Authors(earlier.commits.authors, earlier.commits.authors_known)
