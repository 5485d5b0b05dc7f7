"""Issues: the list, and one."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge import issues
from tidegate_local.forge.pages.visit import Visit
from tidegate_local.forge.refusals import not_found


def index(visit: Visit) -> Response:
    """List issues, open ones unless ``?state=closed``."""
    state = visit.request.args.get("state", "open")
    found = issues.of(visit.hosting, visit.repository)
    counts = {name: sum(one.state == name for one in found) for name in ("open", "closed")}
    chosen = [one for one in found if one.state == state]
    return visit.show("issues.html", repository=visit.repository, issues=chosen, counts=counts, state=state, live=True)


def one(visit: Visit) -> Response:
    """Show an issue."""
    issue = issues.by_number(visit.hosting, visit.repository, visit.path["number"])
    if issue is None:
        raise not_found()
    return visit.show("issue.html", repository=visit.repository, issue=issue, live=True)
