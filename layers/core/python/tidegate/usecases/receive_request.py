"""Receive an operator's request: deploy the default branch's head to the roots that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidegate.config.loader import LoadedConfiguration
from tidegate.domain.comment import nearest
from tidegate.domain.deployment import Deployment, Trigger
from tidegate.domain.errors import InvalidConfiguration, NotFound, quoted
from tidegate.domain.root import Revision, Root, deployment_id
from tidegate.ports import Deliveries, Delivery, DeliveryOutcome
from tidegate.usecases.conclude import conclude
from tidegate.usecases.discover_roots import all_roots, read_configuration
from tidegate.usecases.enqueue_all import enqueue_all
from tidegate.usecases.repository_source import RepositorySource


@dataclass(frozen=True, slots=True)
class DeployRequest:
    """An operator's request, as the delivery tells it."""

    id: str
    repository: str
    roots: tuple[str, ...]
    by: str
    installation: int
    received_at: str


@dataclass(frozen=True, slots=True)
class RequestReceiver:
    """Receives requests; receiving one again is harmless."""

    deliveries: Deliveries
    source: RepositorySource
    enqueue: Callable[[Deployment], object]

    def receive(self, delivery: Delivery) -> str:
        """Return, and store with the delivery, what became of the request. Raise as for pushes."""
        fields = {**delivery.fields, "roots": tuple(delivery.fields["roots"])}
        request = DeployRequest(id=delivery.id, received_at=delivery.received_at, **fields)
        return conclude(self.deliveries, delivery.id, lambda: self._outcome(request))

    def _outcome(self, request: DeployRequest) -> DeliveryOutcome:
        where = request.installation, request.repository
        try:
            branch = self.source.forge.default_branch(*where)
            head = self._head(request, branch)
            with self.source.fetch(*where, head.sha) as trees:
                known = {root.name: root for root in all_roots(trees, request.repository)}
                configuration = read_configuration(trees, request.repository, self.source.review)
        except NotFound as error:
            return DeliveryOutcome(f"{error} Nothing is deployed.")
        except InvalidConfiguration as error:
            return DeliveryOutcome(f"{error} Nothing is deployed.")
        unknown = [name for name in request.roots if name not in known]
        if unknown:
            return DeliveryOutcome(f"{unknown_roots(unknown, known)} Nothing is deployed.")
        deployments = [_deployment(request, head, known[name], configuration) for name in request.roots]
        enqueue_all(deployments, self.enqueue)
        names = ", ".join(request.roots)
        return DeliveryOutcome(f"Enqueued at {head.short}: {names}.", tuple(each.id for each in deployments))

    def _head(self, request: DeployRequest, branch: str) -> Revision:
        """Return the branch's head as the request found it first: received again, it deploys no later one."""
        sha = self.source.forge.branch_head(request.installation, request.repository, branch)
        return Revision(self.deliveries.bind(request.id, sha), branch)


def unknown_roots(unknown: Sequence[str], known: Iterable[str] | Mapping[str, Root]) -> str:
    """Return sentences that say which roots do not exist, and which may have been meant."""
    names = sorted(known)
    told = []
    for name in unknown:
        near = nearest(name, names)
        told.append(f"There is no root {quoted(name)}." + (f" Did you mean {quoted(near)}?" if near else ""))
    return " ".join(told)


def _deployment(request: DeployRequest, head: Revision, root: Root, configuration: LoadedConfiguration) -> Deployment:
    return Deployment(
        id=deployment_id(request.repository, root.name, head.sha, f"request {request.id}"),
        repository=request.repository,
        root=root,
        revision=head,
        trigger=Trigger.MANUAL,
        requested_by=request.by,
        requested_at=request.received_at,
        installation=request.installation,
        changed_at=request.received_at,
        authors_known=False,  # They are found when it is its turn: what is deployed then is what it changes.
        review_rule=configuration.rule_of(root),
    )
