"""Check whether a plan's commit is still on its branch: a force push may have removed it."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.requirements_gate import is_of_head
from tidegate.deploys.rules.revision import is_on_branch
from tidegate.ports import Ports
from tidegate.rules.errors import NotFound


def left_branch(ports: Ports, deployment: Deployment) -> str:
    """Return why a plan must not be applied and what to do; an empty text if its commit is still on the branch.

    Raise ForgeUnavailable and ForgeRefused.
    """
    if deployment.destroys_deployed:
        return ""  # A destroy uses the deployed files, so branches do not matter.
    revision, repository = deployment.revision, deployment.repository
    head, what = revision.branch, revision.branch
    if is_of_head(deployment):
        number = deployment.request.pull_request or 0
        what = ports.terms.reference(number)
        try:
            head = ports.pull_request_reader.seen_pull_request(repository, number).spec.head_sha
        except NotFound:
            return f"{what}, which {revision.short} came from, no longer exists. Reject this deployment."
    if head == revision.sha or is_on_branch(ports.commits.compare(repository, revision.sha, head)):
        return ""
    again = "deploy its new head" if is_of_head(deployment) else "merge the revision that you want to deploy"
    return (
        f"{revision.short} is no longer part of {what}: a force push removed it after the plan was made, so "
        f"Tidegate does not apply it. Reject this deployment, and {again}."
    )
