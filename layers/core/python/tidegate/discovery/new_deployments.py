"""Create and enqueue the deployments of a change, for merges, comments and requests.

Idempotent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from tidegate.changes.rules.change_set import Key, stack_layers
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.trust import required
from tidegate.deploys.authorize import subject
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.enqueue_all import enqueue_all
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.membership import Membership
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.request import DeployedCommits, DeploymentRequest, Trigger
from tidegate.deploys.rules.root_settings import RootSettings
from tidegate.discovery.repository_source import Granted
from tidegate.discovery.root_index import Deployable
from tidegate.discovery.save_policies import save_policies
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Enrolled, Ports
from tidegate.roots.rules.root import Revision, change_set_id, deployment_id
from tidegate.rules.access import Access
from tidegate.vcs.find_headline import find_headline
from tidegate.vcs.rules.authors import UNKNOWN, Authors
from tidegate.vcs.rules.headline import Headline


@dataclass(frozen=True, slots=True)
class Request:
    """What asks for deployments: which repository and revision, who, when, and why.

    ``tells_apart`` is unique among requests for the same revision. ``base_sha`` is the commit with which the revision
    is merged first, if a pull request is applied; ``fork_sha`` and ``resumes`` are as for
    deployments.
    """

    repository: str
    revision: Revision
    trigger: Trigger
    tells_apart: str
    by: str
    at: datetime
    authors: Authors = UNKNOWN
    pull_request: int | None = None
    forced: bool = False
    base_sha: str = ""
    fork_sha: str = ""
    resumes: bool = False


def new_deployments(request: Request, members: Sequence[Deployable]) -> list[Deployment]:
    """Return a deployment for each member, in order; the same ones for the same request.

    Layers are counted inside each stack. Deployments of one root are requested a microsecond apart, so they are queued
    in dependency order. A change of one member needs no id, unless it waits for an environment or a refused root.
    """
    is_one = len(members) > 1 or any(each.member.waits.any for each in members)
    change = change_set_id(request.repository, request.revision.sha, request.tells_apart) if is_one else ""
    layers = stack_layers(each.member for each in members)
    before: Counter[str] = Counter()
    deployments = []
    for each in members:
        name = each.member.root.name
        at = request.at + timedelta(microseconds=before[name])
        before[name] += 1
        deployments.append(_deployment(request, each, at, change, layers[each.member.stack]))
    return deployments


def requiring(
    deployments: Iterable[Deployment], required: Mapping[Key, tuple[Requirements, ...] | None]
) -> list[Deployment]:
    """Return deployments with their roots' apply requirements, by root and stack; None if no check matches."""
    found = [(each, required[each.root.name, each.stack]) for each in deployments]
    return [
        replace(each, settings=replace(each.settings, requires=wanted or (), unmatched=wanted is None))
        for each, wanted in found
    ]


def of_head(deployments: Iterable[Deployment], granted: Granted) -> list[Deployment]:
    """Return deployments of a head with the default branch's requirements for it."""
    required = requiring(deployments, granted.requirements)
    return [replace(each, request=replace(each.request, foreign=not granted.has(each.root))) for each in required]


def required_of(
    loaded: LoadedConfiguration, members: Iterable[Deployable]
) -> dict[Key, tuple[Requirements, ...] | None]:
    """Return a configuration's requirements of its own roots, by root and stack."""
    return {each.member.key: required(loaded, each.configured.tagged) for each in members}


def holding(
    ports: Ports,
    request: Request,
    loaded: LoadedConfiguration,
    members: Sequence[Deployable],
    made: Iterable[Deployment],
) -> list[Deployment]:
    """Return deployments of the default branch with the policy sets of their roots.

    ``loaded`` is the commit's configuration. Raise as ``save_policies`` does.
    """
    branch, roots = request.revision.branch, tuple(each.member.root for each in members)
    granted = Granted(loaded, roots, branch, branch, main=branch, commit=request.revision.sha)
    held = save_policies(ports, request.repository, granted, members)
    return [
        replace(each, policies=replace(each.policies, sets=held.get((each.root.name, each.stack), ()))) for each in made
    ]


def accesses(deployments: Iterable[Deployment]) -> dict[str, Access | None]:
    """Return the access rules of deployments, with a description of each."""
    found: dict[str, Access | None] = {}
    for each in deployments:
        what = subject(each)
        if found.setdefault(what, each.settings.access) != each.settings.access:
            found[f"root {each.root.name} in {what}"] = each.settings.access
    return found


def enqueue_change(
    ports: Ports, deployments: Sequence[Deployment], one: Callable[[Deployment], object] | None = None
) -> None:
    """Enqueue all, after storing their membership: the first may ask for the others immediately.

    ``one`` enqueues one, if more is to be done for it.

    Raise ExceptionGroup if some failed; all others are enqueued then.
    """
    known = described(ports, deployments)
    enroll(ports, known)
    enqueue_all(known, one or partial(enqueue, ports))


def described(ports: Ports, deployments: Iterable[Deployment]) -> list[Deployment]:
    """Return deployments with what their change is, in words, as far as the VCS provider tells."""
    every = list(deployments)
    changes = {(each.revision.sha, each.request.pull_request): each for each in every if not each.request.headline.text}
    found = {key: find_headline(ports, each.repository, *key) for key, each in changes.items()}

    def told(each: Deployment) -> Headline:
        return found.get((each.revision.sha, each.request.pull_request), each.request.headline)

    return [replace(each, request=replace(each.request, headline=told(each))) for each in every]


def enroll(ports: Ports, deployments: Sequence[Deployment]) -> None:
    """Store the membership. It has no effect while none of them is enqueued."""
    for change in dict.fromkeys(each.change.id for each in deployments if each.change.id):
        ports.change_sets.enroll(change, [_enrolled(each) for each in deployments if each.change.id == change])


def _enrolled(deployment: Deployment) -> Enrolled:
    return Enrolled(deployment.root.name, deployment.stack, deployment.id, deployment.request.at)


def _deployment(request: Request, each: Deployable, at: datetime, change: str, layers: tuple[int, int]) -> Deployment:
    member, configured, sha = each.member, each.configured, request.revision.sha
    first, last = layers
    apart = member.stack if configured.shared else ""
    return Deployment(
        id=deployment_id(request.repository, member.root.name, sha, request.tells_apart, apart),
        repository=request.repository,
        root=member.root,
        revision=request.revision,
        request=DeploymentRequest(
            request.trigger,
            request.by,
            at,
            pull_request=request.pull_request,
            destroy=Destruction() if configured.destroy else None,
            forced=request.forced,
            base_sha=request.base_sha,
            fork_sha=request.fork_sha,
            resumes=request.resumes,
        ),
        stack=member.stack,
        within=configured.within,
        tags=configured.tags,
        shared=configured.shared,
        changed_at=at,
        commits=DeployedCommits(request.authors.logins, request.authors.known),
        change=Membership(change, member.why, member.layer - first + 1, last - first + 1, member.waits, member.wave),
        settings=RootSettings(configured.review_rule, configured.run, configured.access),
    )
