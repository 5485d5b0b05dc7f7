"""Create the deployments that destroy roots which the default branch no longer has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from tidegate.config.resolution import configure
from tidegate.deploys.authorize import access_refusals
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.queue import Deployed, QueueHead
from tidegate.deploys.rules.request import DeployedCommits, DeploymentRequest, Trigger
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.discovery.current_rules import also_under, deployable
from tidegate.discovery.discover_roots import AllRoots, all_roots
from tidegate.discovery.find_repeats import Repeat, enqueue_once
from tidegate.discovery.new_deployments import accesses
from tidegate.discovery.repository_source import Granted, fetch_commit, reading_of
from tidegate.discovery.save_policies import save_policies
from tidegate.ports import Ports
from tidegate.roots.rules.nearest import unknown_roots
from tidegate.roots.rules.root import Revision, Root, deployment_id
from tidegate.rules.access import Action
from tidegate.rules.errors import quoted


@dataclass(frozen=True, slots=True)
class Destroy:
    """A request to destroy roots: of which repository, which roots, by whom and when.

    ``tells_apart`` is unique among requests. ``asked_on`` is the number of the pull request with the comment.
    """

    repository: str
    roots: Sequence[str]
    by: str
    at: datetime
    tells_apart: str
    asked_on: int | None = None


def destroy_roots(
    ports: Ports, asked: Destroy, head: Revision
) -> tuple[Sequence[Deployment], Sequence[str], Sequence[Repeat]]:
    """Enqueue a deployment for each root in each of its stacks.

    Return these, or else a sentence for each problem or repetition. ``head`` is the default branch's: roots that it has
    are not destroyed by a request. Both the rules of the last deployment and the default branch's current rules for
    such a root apply. Raise NotFound, InvalidConfiguration, CyclicChange, and the errors of enqueuing.
    """
    configuring = partial(configure, branch=head.branch, dest_branch=head.branch)
    with fetch_commit(ports, asked.repository, head.sha) as trees:
        there = all_roots(trees, reading_of(ports, asked.repository, configuring))
    made, problems = _made(ports, asked, there)
    made = [also_under(there.configuration, each, head.branch) for each in made]
    controlled = {what: access for what, access in accesses(made).items() if access is not None}
    if controlled and not problems:
        problems += access_refusals(ports, controlled, asked.repository, Action.APPLY, asked.by)
    if problems:
        return (), problems, ()
    made = _held(ports, asked, there, head, made)
    repeats = enqueue_once(ports, made)
    return (() if repeats else made), (), repeats


def _held(
    ports: Ports, asked: Destroy, there: AllRoots, head: Revision, made: Sequence[Deployment]
) -> list[Deployment]:
    granted = Granted(there.configuration, there.roots, head.branch, head.branch, main=head.branch, commit=head.sha)
    held = save_policies(ports, asked.repository, granted, [deployable(each) for each in made])
    return [
        replace(each, policies=replace(each.policies, sets=held.get((each.root.name, each.stack), ()))) for each in made
    ]


def _made(ports: Ports, asked: Destroy, there: AllRoots) -> tuple[list[Deployment], list[str]]:
    heads = {head.root_name: head for head in ports.repository_index.roots(asked.repository)}
    problems = unknown_roots([name for name in asked.roots if name not in heads], heads)
    problems += [_still_there(name) for name in asked.roots if name in heads and name in there.names]
    made: list[Deployment] = []
    for name in (each for each in asked.roots if each in heads and each not in there.names):
        deployed = [each.deployment for each in _deployed(heads[name]) if not each.destroyed]
        known = ports.deployments.many(deployed)
        records = [known[each] for each in deployed if each in known]
        problem = _problem(heads[name], records, there)
        problems += [problem] if problem else []
        made += [_destroying(asked, record, number) for number, record in enumerate(records)]
    return made, problems


def _deployed(head: QueueHead) -> list[Deployed]:
    """Return what is deployed of a root, in each of its stacks."""
    every = [each.deployed for each in head.by_stack] if head.by_stack else [head.deployed]
    return [each for each in every if each is not None]


def _problem(head: QueueHead, records: Sequence[Deployment], there: AllRoots) -> str:
    """Return why a root may not be destroyed, an empty text if it may."""
    name = head.root_name
    if not _deployed(head):
        return f"Root {quoted(name)} was never deployed, so there is nothing to destroy."
    if not records:
        return f"The resources of root {quoted(name)} are already destroyed."
    for record in records:
        other = next((each for each in there.roots if _place(each) == _place(record.root)), None)
        if other is not None:
            return (
                f"Root {quoted(name)} is now named {quoted(other.name)}, which has the same directory, workspace "
                "and state. A destroy would delete the resources of that root."
            )
    return ""


def _place(root: Root) -> tuple[str, str]:
    return root.dir, root.workspace


def _still_there(name: str) -> str:
    return (
        f"Root {quoted(name)} still exists on the default branch, so the next merge would create its resources "
        "again. First set 'destroy: true' for it in tidegate.yaml, or delete its directory, and merge that."
    )


def _destroying(asked: Destroy, last: Deployment, number: int) -> Deployment:
    """Return the deployment that destroys what ``last`` deployed, as it was deployed."""
    at = asked.at + timedelta(microseconds=number)
    apart = last.stack if last.shared else ""
    made_by = last.planned.plan or last.request.destroy
    destruction = Destruction(
        last.id,
        made_by.engine_version if made_by else None,
        made_by.lock_file if made_by else None,
        asked.asked_on,
    )
    return Deployment(
        id=deployment_id(last.repository, last.root.name, last.revision.sha, f"destroy {asked.tells_apart}", apart),
        repository=last.repository,
        root=last.root,
        revision=last.revision,
        request=DeploymentRequest(Trigger.MANUAL, asked.by, at, destroy=destruction, headline=last.request.headline),
        stack=last.stack,
        within=last.within,
        tags=last.tags,
        shared=last.shared,
        changed_at=at,
        commits=DeployedCommits((asked.by,)),
        settings=replace(last.settings, review_rule=replace(last.settings.review_rule, when=PlanReview.ALWAYS)),
    )
