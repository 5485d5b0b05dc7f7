"""Signing in to other web applications with an account of this forge: GitHub's web application flow."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from urllib.parse import urlencode, urlsplit

from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from local.forge.pages.visit import Visit
from local.forge.refusals import Refusal
from local.forge.routing import answer

#: A code can be exchanged once, within this many seconds.
_CODE_LIFETIME = 600
_JSON = "application/json"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_codes: dict[str, tuple[str, str, float]] = {}
_lock = threading.Lock()


def _callback(visit: Visit, given: str) -> str:
    """Return where to send the code: this machine only. Raise Refusal (404) for unknown applications."""
    if visit.request.values.get("client_id") != visit.hosting.settings.client_id:
        raise Refusal(404, "No application with this client id.")
    parts = urlsplit(given)
    if "\\" in given or not given.isprintable() or " " in given:
        raise Refusal(422, "The redirect_uri is no address.")  # browsers read it otherwise than we do
    if parts.scheme not in {"http", "https"} or parts.hostname not in _LOOPBACK:
        raise Refusal(422, "The redirect_uri must be an address of this machine.")
    return given


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
    callback, code = _callback(visit, form.get("redirect_uri", "")), secrets.token_hex(10)
    with _lock:
        _codes[code] = (visit.person.login, callback, time.monotonic() + _CODE_LIFETIME)
    query = urlencode({"code": code, "state": form.get("state", "")})
    return redirect(f"{callback}{'&' if urlsplit(callback).query else '?'}{query}", 303)


def token(visit: Visit) -> Response:
    """Exchange a code for a token that acts for the person."""
    given, settings = visit.request.values, visit.hosting.settings
    known = hmac.compare_digest(given.get("client_secret", ""), settings.client_secret)
    if given.get("client_id") != settings.client_id or not known:
        return _error(visit, "incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
    with _lock:
        login, callback, until = _codes.pop(given.get("code", ""), ("", "", 0.0))
    if time.monotonic() > until:
        return _error(visit, "bad_verification_code", "The code passed is incorrect or expired.")
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
