"""Process an operator's request: deploy the default branch's head to the requested roots.

A repeated request is harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from tidegate.config.resolution import configure
from tidegate.deploys.authorize import access_refusals
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.repeats import already_queued
from tidegate.deploys.rules.request import Trigger
from tidegate.discovery.discover_roots import all_roots
from tidegate.discovery.find_repeats import Repeat, enqueue_once, find_repeats
from tidegate.discovery.new_deployments import (
    Request,
    accesses,
    enqueue_change,
    holding,
    new_deployments,
    required_of,
    requiring,
)
from tidegate.discovery.repository_source import fetch_commit, reading_of
from tidegate.ports import Delivery, DeliveryOutcome, Ports
from tidegate.requests.destroy_roots import Destroy, destroy_roots
from tidegate.roots.rules.nearest import meant_tag, unknown_roots
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.roots.rules.root import Revision
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.rules.access import Action
from tidegate.rules.errors import CyclicChange, InvalidConfiguration, NotFound, quoted
from tidegate.texts.markdown import without_marks
from tidegate.vcs.conclude import conclude
from tidegate.vcs.rules.authors import UNKNOWN

#: Unknown tags of a query for which similar ones are searched.
_GUESSED = 5


@dataclass(frozen=True, slots=True)
class DeployRequest:
    """An operator's request from its delivery."""

    id: str
    repository: str
    roots: tuple[str, ...]
    by: str
    received_at: datetime
    force: bool = False
    destroy: bool = False
    directories: tuple[str, ...] = ()
    query: str = ""
    resumes: bool = False

    @property
    def meant(self) -> PlanRequest:
        """The requested roots."""
        return PlanRequest(self.id, self.by, self.roots, self.directories, self.query)


def receive_request(ports: Ports, delivery: Delivery) -> str:
    """Return the result of the request, and store it with the delivery. Raise as for pushes."""
    lists = {name: tuple(delivery.fields.get(name, ())) for name in ("roots", "directories")}
    fields = {**delivery.fields, **lists}
    request = DeployRequest(id=delivery.id, received_at=delivery.received_at, **fields)
    return conclude(ports.deliveries, delivery.id, lambda: _outcome(ports, request))


def _outcome(ports: Ports, request: DeployRequest) -> DeliveryOutcome:
    try:
        return _destroyed(ports, request) if request.destroy else _deployed(ports, request)
    except (NotFound, InvalidConfiguration, CyclicChange) as error:
        return DeliveryOutcome(f"{error} Nothing is {'destroyed' if request.destroy else 'deployed'}.")


def _destroyed(ports: Ports, request: DeployRequest) -> DeliveryOutcome:
    head = _head(ports, request, ports.commits.default_branch(request.repository))
    asked = Destroy(request.repository, request.roots, request.by, request.received_at, f"request {request.id}")
    made, problems, repeats = destroy_roots(ports, asked, head)
    if problems:
        return DeliveryOutcome(f"{' '.join(problems)} Nothing is destroyed.")
    if repeats:
        return _repeated(repeats)
    names = ", ".join(request.roots)
    text = f"A destroy plan is being made for {names}. It needs a review."
    return DeliveryOutcome(text, tuple(each.id for each in made))


def _deployed(ports: Ports, request: DeployRequest) -> DeliveryOutcome:
    branch = ports.commits.default_branch(request.repository)
    head = _head(ports, request, branch)
    configuring = partial(configure, branch=branch, dest_branch=branch)
    with fetch_commit(ports, request.repository, head.sha) as trees:
        known = all_roots(trees, reading_of(ports, request.repository, configuring))
    unknown = [name for name in request.roots if name not in known.names]
    problems = unknown_roots(unknown, known.names) or known.problems(request.roots)
    meant = [each for each in known.configured.roots if request.meant.chooses(each.root.name, each.tagged)]
    if not (problems or meant):
        tags = {tag for each in known.configured.roots for tag in each.tagged.tags}
        problems = [_nothing_meant(request, tags)]
    members = () if problems else known.chosen({each.key for each in meant})
    asked = _request(request, head)
    deployments = requiring(new_deployments(asked, members), required_of(known.configuration, members))
    problems += _denied(ports, request, deployments)
    if problems:
        return DeliveryOutcome(f"{' '.join(problems)} Nothing is deployed.")
    deployments = holding(ports, asked, known.configuration, members, deployments)
    repeats = _enqueued(ports, request, deployments)
    if repeats:
        return _repeated(
            repeats, " Nothing new is deployed. Follow that deployment, or request this one again with force."
        )
    names = ", ".join(dict.fromkeys(each.root.name for each in deployments))
    return DeliveryOutcome(f"Enqueued at {head.short}: {names}.", tuple(each.id for each in deployments))


def _enqueued(ports: Ports, request: DeployRequest, deployments: Sequence[Deployment]) -> Sequence[Repeat]:
    """Enqueue all, or return what is in progress already. A forced one is enqueued anyway."""
    if request.force:
        enqueue_change(ports, deployments)
        return ()
    return find_repeats(ports, deployments) or enqueue_once(ports, deployments)


def _denied(ports: Ports, request: DeployRequest, deployments: Sequence[Deployment]) -> tuple[str, ...]:
    """Return why a person may not deploy. Without access control that was checked at the request."""
    controlled = {what: access for what, access in accesses(deployments).items() if access is not None}
    return access_refusals(ports, controlled, request.repository, Action.APPLY, request.by) if controlled else ()


def _head(ports: Ports, request: DeployRequest, branch: str) -> Revision:
    """Return the branch's head at the first processing: a repeated one deploys no later commit."""
    sha = ports.commits.branch_head(request.repository, branch)
    return Revision(ports.deliveries.bind(request.id, sha), branch)


def _repeated(repeats: Sequence[Repeat], instead: str = "") -> DeliveryOutcome:
    """Return what of a request is in progress, and the sentence that says what to do instead."""
    told = " ".join(f"{already_queued(each, earlier)}, as {earlier.id}." for each, earlier in repeats)
    return DeliveryOutcome(f"{told}{instead}", tuple(earlier.id for _, earlier in repeats))


def _nothing_meant(request: DeployRequest, tags: Collection[str]) -> str:
    """Return that directories and tag query match no root, and similar ``tags`` of roots."""
    parts = [f"is in {quoted(each)}" for each in request.directories]
    unknown = [tag for tag in parse_tag_query(request.query).tags if tag not in tags] if request.query else []
    meant = [without_marks(meant_tag(tag, sorted(tags))) for tag in unknown[:_GUESSED]]
    none = f"No root {' or '.join([*parts, *([f'matches {quoted(request.query)}'] if request.query else [])])}."
    return " ".join(filter(None, (none, *meant)))


def _request(request: DeployRequest, head: Revision) -> Request:
    return Request(
        request.repository,
        head,
        Trigger.MANUAL,
        f"request {request.id}",
        request.by,
        request.received_at,
        UNKNOWN,  # They are found when it is its turn: what is deployed then is what it changes.
        resumes=request.resumes,
    )
