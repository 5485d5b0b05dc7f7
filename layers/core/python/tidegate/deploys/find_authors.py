"""Find out who made all that a deployment would apply: not only its own commits."""

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
    """Return who made what changed since the revision deployed last, which is what the plan will hold.

    That is who made the deployment's own change, all commits since then, and what was attempted since then or
    failed. ``standing`` is the root's in the deployment's stack. Raise ForgeUnavailable and ForgeRefused.
    """
    made = Authors(deployment.commits.authors, deployment.commits.authors_known)
    since = _since_deployed(commits, standing.deployed, deployment)
    if since is not None:
        # Of what neither a merge nor a pull request brought nobody told: what the forge lists is all there is.
        told = deployment.request.trigger is Trigger.MERGE or deployment.request.pull_request is not None
        made = Authors(made.logins, made.known or not told).and_also(since)
    for earlier in _earlier(queues, standing, deployment):
        made = made.and_also(earlier)
    return made


def _since_deployed(commits: Commits, deployed: Deployed | None, deployment: Deployment) -> Authors | None:
    """Return who made the commits since the deployed revision; None when there is nothing to compare with."""
    if deployed is None:
        return None
    if deployed.revision.sha == deployment.revision.sha:
        return Authors()
    try:
        return commits.change(deployment.repository, deployed.revision.sha, deployment.revision.sha).authors
    except NotFound:
        return UNKNOWN


def _earlier(queues: DeployQueues, standing: Standing, deployment: Deployment) -> Iterator[Authors]:
    """Yield who made what was tried before and may not be applied yet."""
    tried = {each.deployment: each for each in (standing.deployed, standing.attempted) if each is not None}
    for identifier, each in tried.items():
        # Nothing of a deployment that is done is left to apply.
        if each.state in DONE and each.revision.sha != deployment.revision.sha:
            continue
        try:
            _, earlier = queues.read_with(deployment.queue, identifier)
        except NotFound:
            yield UNKNOWN
        else:
            yield Authors(earlier.commits.authors, earlier.commits.authors_known)
