"""Find out whether a root had another name when it was deployed last: a name is a root's identity."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead
from tidegate.ports import Catalog, Deployments


@dataclass(frozen=True, slots=True)
class FormerRoots:
    """Finds former names of roots. It reads a repository's queues, so it is asked about new queues only."""

    catalog: Catalog
    deployments: Deployments

    def of(self, deployment: Deployment) -> QueueHead | None:
        """Return the queue through which the deployment's directory and workspace were deployed last.

        None when they never were, but by the deployment's own queue.
        """
        others = [head for head in self.catalog.roots(deployment.repository) if head.queue != deployment.queue]
        heads = {head.deployed.deployment: head for head in others if head.deployed}
        place = deployment.root.dir, deployment.root.workspace
        records = [
            record
            for record in self.deployments.many(heads).values()
            if (record.root.dir, record.root.workspace) == place
        ]
        newest = max(records, key=lambda record: record.requested_at, default=None)
        return heads[newest.id] if newest else None
