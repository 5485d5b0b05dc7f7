"""Check the apply requirements of a deployment's root.

A merge is checked on the pull requests that its commits came with. A plan that policy sets refuse needs the approval of
their owners as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.evaluated_plan import says_the_same
from tidegate.deploys.rules.freeze import MissingBeforeApply, missing
from tidegate.deploys.rules.requirements_gate import demanded, is_of_head
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.unapproved import approvable, refusals, unapproved
from tidegate.gates.check_requirements import RequirementsChecker
from tidegate.gates.find_merged import MergedSearch
from tidegate.gates.freezes import held_freezes
from tidegate.policies.rules.apply_requirements import UNMATCHED, Merged, Origin, missing_before_apply
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Ports
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.texts.markdown import code
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.push import Pushed

#: Characters of an error of the VCS provider that are shown.
_CHARACTERS = 500


def missing_requirements(ports: Ports, deployment: Deployment) -> MissingBeforeApply:
    """Return what is missing. Raise ForgeUnavailable.

    A withdrawn deployment is not applied in any case.
    """
    if deployment.outcome.withdrawn and deployment.state is State.AWAITING_REQUIREMENTS:
        return MissingBeforeApply((deployment.outcome.withdrawn,))
    if deployment.requirements.override is not None:
        return MissingBeforeApply()
    return missing(held_freezes(ports, deployment), _required(ports, deployment))


def _required(ports: Ports, deployment: Deployment) -> tuple[str, ...]:
    told = (UNMATCHED,) if deployment.settings.unmatched and not deployment.request.forced else ()
    wanted, refused = () if told or deployment.request.forced else demanded(deployment), refusals(deployment)
    asking = (*wanted, *approvable(refused))
    if not asking and not refused:
        return told
    try:
        origin = _origin(ports, deployment, asking) if asking else Origin()
        of_policies = unapproved(origin, refused, _same(ports, deployment, origin))
        return (*told, *missing_before_apply(origin, wanted, ports.terms), *of_policies)
    except (ForgeRefused, NotFound) as error:
        return (f"It could not be checked: {code(str(error), _CHARACTERS)}",)


def _origin(ports: Ports, deployment: Deployment, wanted: Sequence[Requirements]) -> Origin:
    checker, repository = RequirementsChecker(ports), deployment.repository
    here = checker.people(repository, approving_here(deployment), wanted)
    merged: list[Merged] = []
    search, pushes = MergedSearch(ports, repository), _pushes(deployment)
    if is_of_head(deployment):
        merged.append(_head(checker, repository, deployment, wanted))
    for push in pushes:
        found = search.look(push)
        merged += [checker.of_merged(repository, each.spec.number, _before(push), wanted) for each in found]
    own = (deployment.revision.sha,) if deployment.destroys_deployed else ()
    makers = Authors((*deployment.commits.authors, deployment.request.by), deployment.commits.authors_known)
    altered = tuple(dict.fromkeys(sha for push in pushes for sha in push.altered))
    return Origin(tuple(merged), (*search.without, *own), search.complete, here, makers, altered)


def _same(ports: Ports, deployment: Deployment, origin: Origin) -> Collection[int]:
    """Return the pull requests that showed exactly this plan at the merged heads.

    For a deployed head, owners approve the head itself, whatever its plan.
    """
    if is_of_head(deployment):
        return (deployment.request.pull_request or 0,)
    heads = {each.pull_request.number: each.pull_request.head_sha for each in origin.merged}
    known = ports.pull_requests.many([(deployment.repository, number) for number in heads])
    numbers = ((each.spec.number, each.plans) for each in known)
    return {number for number, plans in numbers if says_the_same(deployment, heads[number], plans)}


def _head(
    checker: RequirementsChecker,
    repository: str,
    deployment: Deployment,
    wanted: Sequence[Requirements],
) -> Merged:
    """Return the pull request of a deployed head. Its checks were read at the request."""
    head, base, number = deployment.revision.sha, deployment.request.base_sha, deployment.request.pull_request or 0
    found = checker.of_merged(repository, number, base, wanted, head=head)
    return replace(found, pull_request=replace(found.pull_request, failing_checks=()))


def approving_here(deployment: Deployment) -> tuple[str, ...]:
    """Return who approved the deployment itself, in its plan's review or instead of a pull request's approval, each
    once.
    """
    reviews = deployment.review.approvals if deployment.review is not None else ()
    return tuple({each.by.casefold(): each.by for each in (*reviews, *deployment.requirements.approved_here)}.values())


def _pushes(deployment: Deployment) -> tuple[Pushed, ...]:
    if deployment.commits.pushed or is_of_head(deployment) or deployment.destroys_deployed:
        return deployment.commits.pushed
    return (Pushed("", deployment.revision.sha, deployment.revision.branch),)


def _before(push: Pushed) -> str:
    """Return the commit before a push, empty if unknown."""
    return push.before if push.before.strip("0") and push.before != push.after else ""
