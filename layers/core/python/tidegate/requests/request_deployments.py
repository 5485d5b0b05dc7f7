"""Take an operator's request to deploy the default branch's head to some roots: store it and queue it.

``Deliveries.outcome`` tells by a request's id what became of it.
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
) -> str:
    """Return the id of the request once it is stored and queued. ``by`` is the login of who asked.

    It is about ``roots`` by name, about all in ``directories``, and about all that a tag ``query`` matches. With
    ``force``, what is queued already, by hand at the same commit, is put in line once more; with ``destroy``, what the
    roots made is destroyed. Raise InvalidName for a name that no repository, root or directory can have,
    InvalidTagQuery, and NotFound for a repository that Tidegate does not know. CloudUnavailable means that it was not
    queued; the reconciler queues what was stored.
    """
    names = sorted({root_name(root) for root in roots})
    known = ports.repository_index.repository(repository_name(repository))
    fields: dict[str, Any] = {"repository": known.name, "roots": names, "by": by}
    fields |= {"force": True} if force else {}
    fields |= {"destroy": True} if destroy else {}
    fields |= {"directories": sorted({directory(each) for each in directories})} if directories else {}
    fields |= {"query": parse_tag_query(query).text} if query.strip() else {}
    request = Delivery(ports.new_id(), MANUAL, fields, ports.clock.now())
    ports.deliveries.store(request)
    ports.events.send(request)
    ports.deliveries.mark_queued(request.id)
    return request.id
