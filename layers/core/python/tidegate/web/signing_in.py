"""Sign in with an account of the VCS provider (OAuth), and sign out. The provider's token is used once and dropped."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.shared.cookies import Cookie

from tidegate.ports import Ports
from tidegate.web.cookies import Cookies
from tidegate.web.refusals import SignInFailed
from tidegate.web.rendering import Rendering
from tidegate.web.session import SESSION_SECONDS, SIGN_IN_SECONDS, Session

#: Redirect targets after signing in: a path of ours, in characters that all browsers read the same.
_LOCAL = re.compile(r"/(?![/\\])[A-Za-z0-9._~!$&'()*+,;=:@%/?-]{0,1500}")
#: The cookies of a session, and of a sign-in that has begun.
_SESSION, _SIGN_IN = "tidegate", "tidegate-sign-in"

#: Says that a sign-in has moved to ``web_url``. It moves once: behind a proxy, requests always come to another name.
_MOVED = "moved"


class SigningIn:
    """The routes of signing in and out."""

    def __init__(self, ports: Ports, rendering: Rendering) -> None:
        self._ports, self._rendering = ports, rendering
        self._cookies = Cookies(ports.web_url)
        self._callback = f"{ports.web_url}/login/callback"

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""

        @app.get("/login", include_in_schema=False, enable_validation=False)
        def login() -> Response[str]:
            return self._begin(app.current_event, app.current_event.query_string_parameters or {})

        @app.get("/login/callback", include_in_schema=False, enable_validation=False)
        def callback() -> Response[str]:
            return self._end(app.current_event, app.current_event.query_string_parameters or {})

        @app.post("/logout", include_in_schema=False, enable_validation=False)
        def logout() -> Response[str]:
            session = self.session(app.current_event)
            if session is not None:
                self._ports.sign_outs.end(session.id, session.ends)
            page = self._rendering.page("signed_out.html", person=None, csrf="")
            page.cookies.append(self._cookies.new(_SESSION, "", 0))
            return page

    def session(self, event: Any) -> Session | None:
        """Return the session of a request, if it has one that was not ended by signing out."""
        cookie = self._cookies.of(event, _SESSION)
        session = self._ports.sessions.read(cookie) if cookie else None
        return None if session is None or self._ports.sign_outs.is_ended(session.id) else session

    def _begin(self, event: Any, query: dict[str, str]) -> Response[str]:
        target = local_path(query.get("next", "/"))
        if _MOVED not in query and self._is_elsewhere(event):
            return _to(f"{self._ports.web_url}/login?{urlencode({'next': target, _MOVED: '1'})}", [])
        nonce, cookie = self._ports.sessions.begin_sign_in(target)
        address = self._ports.accounts.authorize_url(nonce, self._callback)
        return _to(address, [self._cookies.new(_SIGN_IN, cookie, SIGN_IN_SECONDS)])

    def _is_elsewhere(self, event: Any) -> bool:
        """Tell whether a request came to another name than the provider sends people back to, which has no cookies."""
        name = event.raw_event["requestContext"].get("domainName")
        return bool(name) and name.lower() != urlsplit(self._ports.web_url).netloc.lower()

    def _end(self, event: Any, query: dict[str, str]) -> Response[str]:
        sessions = self._ports.sessions
        begun = sessions.read_sign_in(self._cookies.of(event, _SIGN_IN), query.get("state", ""))
        if begun is None:
            raise SignInFailed("it took too long, or was started in another browser.")
        token = self._ports.accounts.exchange(query.get("code", ""), self._callback)
        login = self._ports.accounts.login_of(token) if token else None
        if login is None:
            raise SignInFailed("the VCS provider did not say who you are.")
        cookies = [
            self._cookies.new(_SESSION, sessions.begin(login), SESSION_SECONDS),
            self._cookies.new(_SIGN_IN, "", 0),
        ]
        return _to(local_path(begun.target), cookies)


def local_path(target: str) -> str:
    """Return ``target`` if it is a path of ours, else the first page."""
    if not _LOCAL.fullmatch(target) or urlsplit(target).netloc:
        return "/"
    return "/" if target.startswith(("/login", "/logout")) else target


def _to(address: str, cookies: list[Cookie]) -> Response[str]:
    return Response(HTTPStatus.SEE_OTHER, headers={"Location": address}, body="", cookies=cookies)
