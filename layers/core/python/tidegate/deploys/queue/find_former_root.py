"""Find out whether a root had another name when it was last deployed: the name is a root's identity.

Only called for new queues, because it reads all queues of a repository.
"""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead
from tidegate.ports import Ports


def former_root(ports: Ports, deployment: Deployment) -> QueueHead | None:
    """Return the queue through which the deployment's directory and workspace were last deployed.

    None if never, or through the deployment's own queue.
    """
    others = [head for head in ports.repository_index.roots(deployment.repository) if head.queue != deployment.queue]
    heads = {head.deployed.deployment: head for head in others if head.deployed}
    place = deployment.root.dir, deployment.root.workspace
    records = [
        record for record in ports.deployments.many(heads).values() if (record.root.dir, record.root.workspace) == place
    ]
    newest = max(records, key=lambda record: record.request.at, default=None)
    return heads[newest.id] if newest else None
