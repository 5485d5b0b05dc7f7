"""Signing in to other applications with an account of this GitLab: OAuth's authorization code flow."""

from __future__ import annotations

import hmac

from markupsafe import escape
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from tidegate_local.forge.codes import Codes, back_to, local_address
from tidegate_local.forge.pages.rendering import HEADERS
from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import clock
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.identity import ALL_SCOPES
from tidegate_local.gitlab.records import User
from tidegate_local.gitlab.refusals import Refusal

COOKIE = "gitlab_user"
#: OAuth tokens hold this many seconds.
LIFETIME = 7200
_CODES = Codes()
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Authorize {application}</title></head><body>
<h1>Authorize {application}</h1><p>{application} wants to know that you are <strong>{user}</strong>.</p>
<form method="post" action="/oauth/authorize"><input type="hidden" name="client_id" value="{client_id}">
<input type="hidden" name="redirect_uri" value="{redirect_uri}"><input type="hidden" name="state" value="{state}">
<input type="hidden" name="scope" value="{scope}"><label>User <input name="user" value="{user}"></label>
<button>Authorize {application}</button></form></body></html>
"""


def respond(hosting: Hosting, request: Request) -> Response:
    """Answer ``/oauth/…``. Raise Refusal."""
    handlers = {
        ("GET", "/oauth/authorize"): ask,
        ("POST", "/oauth/authorize"): agree,
        ("POST", "/oauth/token"): token,
    }
    handler = handlers.get((request.method, request.path))
    if handler is None:
        raise Refusal(404, {"error": "404 Not Found"})
    return handler(hosting, request)


def _callback(hosting: Hosting, request: Request) -> str:
    """Return where to send the code: this machine only. Raise Refusal (401) for unknown applications."""
    if request.values.get("client_id") != hosting.settings.client_id:
        description = "Client authentication failed due to unknown client, no client authentication included."
        raise Refusal(401, {"error": "invalid_client", "error_description": description})
    return local_address(request.values.get("redirect_uri", ""))


def visitor(hosting: Hosting, request: Request) -> User:
    """Return who is signed in; everybody starts as the first person."""
    people = hosting.settings.people
    wanted = request.form.get("user") or request.cookies.get(COOKIE, "")
    names = {one.username for one in people}
    return hosting.identities.named(wanted if wanted in names else people[0].username)


def ask(hosting: Hosting, request: Request) -> Response:
    """Ask the person whether the application may know who they are."""
    callback = _callback(hosting, request)
    if request.args.get("response_type") != "code":
        raise Refusal(400, {"error": "unsupported_response_type"})
    values = {name: request.args.get(name, "") for name in ("client_id", "state", "scope")}
    values |= {"redirect_uri": callback, "user": visitor(hosting, request).username}
    shown = {name: escape(value) for name, value in {**values, "application": hosting.settings.application}.items()}
    return Response(_PAGE.format(**shown), headers=HEADERS, content_type="text/html; charset=utf-8")


def agree(hosting: Hosting, request: Request) -> Response:
    """Send the person back to the application with a code. Only our own page may ask for it."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
        raise Refusal(403, {"error": "this form is from another site"})
    callback, scopes = _callback(hosting, request), request.form.get("scope", "read_user")
    code = _CODES.make(f"{visitor(hosting, request).username} {scopes}", callback)
    return redirect(back_to(callback, code, request.form.get("state", "")), 302)


def token(hosting: Hosting, request: Request) -> Response:
    """Exchange a code for a token that acts for the person."""
    given, settings = request.values, hosting.settings
    known = hmac.compare_digest(given.get("client_secret", ""), settings.client_secret)
    if given.get("client_id") != settings.client_id or not known:
        return _error(401, "invalid_client", "Client authentication failed due to unknown client.")
    if given.get("grant_type") != "authorization_code":
        return _error(400, "unsupported_grant_type", "The authorization grant type is not supported.")
    found = _CODES.take(given.get("code", ""))
    if found is None or given.get("redirect_uri") != found[1]:
        return _error(400, "invalid_grant", "The provided authorization grant is invalid, expired, or revoked.")
    username, _, scope = found[0].partition(" ")
    scopes = [one for one in scope.split() if one in ALL_SCOPES]
    until = clock.later(LIFETIME)
    secret, _ = hosting.identities.give("", purpose="oauth", user=username, scopes=scopes, expires_at=until)
    return answer(
        {
            "access_token": secret,
            "token_type": "Bearer",
            "expires_in": LIFETIME,
            "scope": " ".join(scopes),
        }
    )


def _error(status: int, name: str, description: str) -> Response:
    return answer({"error": name, "error_description": description}, status)
