"""Accept a request to run a deployment again, as by *Re-run* on its check run: store it and queue it.

``Deliveries.outcome`` has the result by the request's id.
"""

from __future__ import annotations

from tidegate.deploys.texts.text import check_run_name
from tidegate.ports import Delivery, Ports

#: The kind of delivery that carries such a request; *Re-run* at the VCS provider makes the same.
RERUN = "rerun"


def request_rerun(ports: Ports, deployment: str, by: str) -> str:
    """Return the id of the stored and queued request of the person with the login ``by``, who may deploy the root.

    Raise NotFound. CloudUnavailable means that it was not queued; the reconciler queues what was stored.
    """
    old = ports.deployments.get(deployment)
    published = ports.check_runs.published(old.id)
    fields = {
        "repository": old.repository,
        "id": published.id if published else 0,
        "external_id": old.id,
        "name": check_run_name(old),
        "head_sha": old.revision.sha,
        "sender": by,
    }
    request = Delivery(ports.new_id(), RERUN, fields, ports.clock.now())
    ports.deliveries.store(request)
    ports.events.send(request)
    ports.deliveries.mark_queued(request.id)
    return request.id
