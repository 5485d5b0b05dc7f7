"""Accept an operator's request to deploy the default branch's head to some roots: store it and queue it.

``Deliveries.outcome`` has the result by the request's id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.ports import Delivery, Ports
from tidegate.roots.rules.root import directory, repository_name, root_name
from tidegate.roots.rules.root_query import parse_tag_query

#: The kind of delivery that carries such a request.
MANUAL = "manual"


def request_deployments(
    ports: Ports,
    repository: str,
    roots: Sequence[str],
    by: str,
    *,
    force: bool = False,
    destroy: bool = False,
    directories: Sequence[str] = (),
    query: str = "",
    resumes: bool = False,
) -> str:
    """Return the id of the stored and queued request. ``by`` is the requester's login.

    It is for ``roots`` by name, for all in ``directories``, and for all that a tag ``query`` matches. With ``force``,
    manual deployments of the same commit that are already queued are queued again; with ``destroy``, the roots'
    resources are destroyed; with ``resumes``, a cluster's failed workflow goes on. Raise InvalidName for an invalid
    name of a repository, root or directory, InvalidTagQuery, and NotFound for an unknown repository. CloudUnavailable
    means that it was not queued; the reconciler queues what was stored.
    """
    names = sorted({root_name(root) for root in roots})
    known = ports.repository_index.repository(repository_name(repository))
    fields: dict[str, Any] = {"repository": known.name, "roots": names, "by": by}
    fields |= {"force": True} if force else {}
    fields |= {"destroy": True} if destroy else {}
    fields |= {"directories": sorted({directory(each) for each in directories})} if directories else {}
    fields |= {"resumes": True} if resumes else {}
    fields |= {"query": parse_tag_query(query).text} if query.strip() else {}
    request = Delivery(ports.new_id(), MANUAL, fields, ports.clock.now())
    ports.deliveries.store(request)
    ports.events.send(request)
    ports.deliveries.mark_queued(request.id)
    return request.id
