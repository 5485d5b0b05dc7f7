"""Signing in to other web applications with an account of this forge: GitHub's web application flow."""

from __future__ import annotations

import hmac
from urllib.parse import urlencode

from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from tidegate_local.forge.codes import Codes, back_to, local_address
from tidegate_local.forge.pages.visit import Visit
from tidegate_local.forge.refusals import Refusal
from tidegate_local.forge.routing import answer

_JSON = "application/json"
_CODES = Codes()


def _callback(visit: Visit, given: str) -> str:
    """Return where to send the code: this machine only. Raise Refusal (404) for unknown applications."""
    if visit.request.values.get("client_id") != visit.hosting.settings.client_id:
        raise Refusal(404, "No application with this client id.")
    return local_address(given)


def ask(visit: Visit) -> Response:
    """Ask the person whether the application may know who they are."""
    callback = _callback(visit, visit.request.args.get("redirect_uri", ""))
    state = visit.request.args.get("state", "")
    return visit.show(
        "authorize.html",
        callback=callback,
        state=state,
        client_id=visit.hosting.settings.client_id,
        application=visit.hosting.settings.app_name,
    )


def agree(visit: Visit) -> Response:
    """Send the person back to the application with a code."""
    form = visit.form()
    callback = _callback(visit, form.get("redirect_uri", ""))
    code = _CODES.make(visit.person.login, callback)
    return redirect(back_to(callback, code, form.get("state", "")), 303)


def token(visit: Visit) -> Response:
    """Exchange a code for a token that acts for the person."""
    given, settings = visit.request.values, visit.hosting.settings
    known = hmac.compare_digest(given.get("client_secret", ""), settings.client_secret)
    if given.get("client_id") != settings.client_id or not known:
        return _error(visit, "incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
    found = _CODES.take(given.get("code", ""))
    if found is None:
        return _error(visit, "bad_verification_code", "The code passed is incorrect or expired.")
    login, callback = found
    if given.get("redirect_uri", callback) != callback:
        return _error(visit, "redirect_uri_mismatch", "The redirect_uri is not the one that the code was made for.")
    secret = visit.hosting.identities.give_person_token(login)
    return _answer(visit, {"access_token": secret, "token_type": "bearer", "scope": ""})


def _error(visit: Visit, name: str, description: str) -> Response:
    return _answer(visit, {"error": name, "error_description": description})


def _answer(visit: Visit, fields: dict[str, str]) -> Response:
    """Answer as GitHub does: as a form, unless JSON is asked for."""
    if visit.request.accept_mimetypes.best_match(["application/x-www-form-urlencoded", "application/json"]) == _JSON:
        return answer(fields)
    return Response(urlencode(fields), content_type="application/x-www-form-urlencoded; charset=utf-8")
