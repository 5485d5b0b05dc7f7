"""The pages that create the GitHub App: ``/setup``, and ``/setup/created``, where GitHub sends people back."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.shared.cookies import Cookie, SameSite

from tidegate.ports import Ports
from tidegate.setup.create_app import begin_app, finish_app
from tidegate.setup.rules.app_needs import OPTIONS
from tidegate.setup.rules.refusals import NoSuchOrganization, SetupNotBegun, WrongSetupCode
from tidegate.setup.rules.setup_code import STATE_SECONDS
from tidegate.vcs.rules.forge_terms import GITLAB_TERMS
from tidegate.web.refusals import ForgedRequest, Hidden, InvalidRequest
from tidegate.web.rendering import Rendering

_MOST_FIELDS = 20
_OWN_FORMS = "form-action 'self'"
_NOBODY: dict[str, Any] = {"person": "", "csrf": "", "path": ""}


class SetupPages:
    """Adds the routes. ``policy`` is the content security policy of pages."""

    def __init__(self, ports: Ports, rendering: Rendering, policy: str) -> None:
        self._ports, self._rendering, self._policy = ports, rendering, policy
        self._is_secure = ports.web_url.startswith("https:")
        self._cookie = f"{'__Host-' if self._is_secure else ''}tidegate-setup"

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/setup", **hidden)(self._ask_first)
        app.post("/setup", **hidden)(lambda: self._begin(app))
        app.get("/setup/created", **hidden)(lambda: self._finish(app))

    def _ask_first(self) -> Response[str]:
        return self._ask()

    def _ask(self, status: HTTPStatus = HTTPStatus.OK, problem: str = "", **fields: Any) -> Response[str]:
        if self._ports.terms == GITLAB_TERMS:
            raise Hidden
        given = {"organization": "", "chosen": (), **fields}
        return self._rendering.page("setup.html", status, problem=problem, options=OPTIONS, **given, **_NOBODY)

    def _begin(self, app: APIGatewayHttpResolver) -> Response[str]:
        """Show the form that creates the App at GitHub, with what it will have."""
        if self._ports.terms == GITLAB_TERMS:
            raise Hidden
        form = self._form(app)
        organization = form.get("organization", "").strip()
        chosen = tuple(option.name for option in OPTIONS if option.name in form)
        try:
            begun = begin_app(self._ports, form.get("code", ""), organization, chosen)
        except (WrongSetupCode, NoSuchOrganization) as error:
            return self._ask(HTTPStatus.FORBIDDEN, str(error), organization=organization, chosen=chosen)
        page = self._rendering.page("setup_begun.html", begun=begun, manifest=json.dumps(begun.manifest), **_NOBODY)
        page.cookies.append(self._state(begun.state, STATE_SECONDS))
        target = urlsplit(begun.address)
        page.headers["Content-Security-Policy"] = self._policy.replace(
            _OWN_FORMS, f"form-action {target.scheme}://{target.netloc}"
        )
        return page

    def _finish(self, app: APIGatewayHttpResolver) -> Response[str]:
        query = app.current_event.query_string_parameters or {}
        state = query.get("state", "")
        pairs = (cookie.partition("=") for cookie in app.current_event.raw_event.get("cookies") or [])
        mine = {name.strip(): value.strip() for name, _, value in pairs}.get(self._cookie)
        if not state or mine != state:
            raise SetupNotBegun
        finished = finish_app(self._ports, query.get("code", ""), state)
        page = self._rendering.page("setup_created.html", finished=finished, **_NOBODY)
        page.cookies.append(self._state("", 0))
        return page

    def _form(self, app: APIGatewayHttpResolver) -> dict[str, str]:
        """Return a form's fields. Raise ForgedRequest for one that another site sent; the code guards the rest."""
        origin = app.current_event.headers.get("origin")
        if origin is not None and origin != self._ports.web_url:
            raise ForgedRequest
        try:
            fields = parse_qs(app.current_event.decoded_body or "", max_num_fields=_MOST_FIELDS)
        except ValueError as error:
            raise InvalidRequest("The form has too many fields.") from error
        return {name: values[0] for name, values in fields.items()}

    def _state(self, value: str, seconds: int) -> Cookie:
        """Return the cookie that binds a begun creation to this browser."""
        return Cookie(
            name=self._cookie,
            value=value,
            path="/",
            secure=self._is_secure,
            http_only=True,
            same_site=SameSite.LAX_MODE,
            max_age=seconds,
        )
