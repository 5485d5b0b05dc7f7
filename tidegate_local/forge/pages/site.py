"""The pages' addresses."""

from __future__ import annotations

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.pages import (
    app_pages,
    check_pages,
    issue_pages,
    oauth,
    pull_pages,
    rendering,
    repository_pages,
)
from tidegate_local.forge.pages.visit import COOKIE, Visit, visitor
from tidegate_local.forge.refusals import Refusal, not_found


def _switch(visit: Visit) -> Response:
    form = visit.form()
    back = form.get("back", "/")
    local = back.startswith("/") and not back.startswith(("//", "/\\"))
    response = redirect(visit.hosting.urls.home + (back if local else "/"), 303)
    if visit.hosting.identities.person(form.get("login", "")):
        response.set_cookie(COOKIE, form["login"], httponly=True, samesite="Lax")
    return response


def _static(visit: Visit) -> Response:
    found = rendering.static(visit.path["file"])
    if found is None:
        raise not_found()
    return found


_IN = "/<owner>/<name>"
_MAP = Map(
    [
        Rule("/", methods=["GET"], endpoint=repository_pages.index),
        Rule("/static/<file>", methods=["GET"], endpoint=_static),
        Rule("/login/switch", methods=["POST"], endpoint=_switch),
        Rule("/settings/apps/new", methods=["POST"], endpoint=app_pages.ask),
        Rule("/organizations/<organization>/settings/apps/new", methods=["POST"], endpoint=app_pages.ask),
        Rule("/settings/apps", methods=["POST"], endpoint=app_pages.create),
        Rule("/apps/<slug>/installations/new", methods=["GET"], endpoint=app_pages.install),
        Rule("/login/oauth/authorize", methods=["GET"], endpoint=oauth.ask),
        Rule("/login/oauth/authorize", methods=["POST"], endpoint=oauth.agree),
        Rule("/login/oauth/access_token", methods=["POST"], endpoint=oauth.token),
        Rule(_IN, methods=["GET"], endpoint=repository_pages.repository),
        Rule(f"{_IN}/tree/<path:branch>", methods=["GET"], endpoint=repository_pages.repository),
        Rule(f"{_IN}/commit/<sha>", methods=["GET"], endpoint=repository_pages.commit),
        Rule(f"{_IN}/commit/<sha>/rerun-failed", methods=["POST"], endpoint=check_pages.rerun_failed),
        Rule(f"{_IN}/commit/<sha>/rerun-all", methods=["POST"], endpoint=check_pages.rerun_all),
        Rule(f"{_IN}/runs/<int:id>", methods=["GET"], endpoint=check_pages.run),
        Rule(f"{_IN}/runs/<int:id>/click", methods=["POST"], endpoint=check_pages.click),
        Rule(f"{_IN}/runs/<int:id>/rerun", methods=["POST"], endpoint=check_pages.rerun),
        Rule(f"{_IN}/issues", methods=["GET"], endpoint=issue_pages.index),
        Rule(f"{_IN}/issues/<int:number>", methods=["GET"], endpoint=issue_pages.one),
        Rule(f"{_IN}/pulls", methods=["GET"], endpoint=pull_pages.index),
        Rule(f"{_IN}/pulls", methods=["POST"], endpoint=pull_pages.create),
        Rule(f"{_IN}/compare/<path:basehead>", methods=["GET"], endpoint=pull_pages.compare),
        Rule(f"{_IN}/pull/<int:number>", methods=["GET"], endpoint=pull_pages.one),
        Rule(f"{_IN}/pull/<int:number>/merge", methods=["POST"], endpoint=pull_pages.merge),
        Rule(f"{_IN}/pull/<int:number>/comments", methods=["POST"], endpoint=pull_pages.comment),
        Rule(f"{_IN}/pull/<int:number>/reviews", methods=["POST"], endpoint=pull_pages.review),
        Rule(f"{_IN}/pull/<int:number>/state", methods=["POST"], endpoint=pull_pages.close),
        Rule(f"{_IN}/fork", methods=["POST"], endpoint=repository_pages.fork),
    ],
    strict_slashes=False,
)


def respond(hosting: Hosting, request: Request) -> Response:
    """Answer a request for a page. Raise Refusal."""
    try:
        endpoint, path = _MAP.bind_to_environ(request.environ).match()
    except HTTPException:
        raise not_found() from None
    return endpoint(Visit(hosting, request, visitor(hosting, request), dict(path)))  # type: ignore[no-any-return]


def refuse(hosting: Hosting, request: Request, refusal: Refusal) -> Response:
    """Return a refusal as a page."""
    visit = Visit(hosting, request, visitor(hosting, request), {})
    return visit.show("refusal.html", refusal.status, refusal=refusal)
