"""The pages that create the GitHub App: ``/setup``, and ``/setup/created``, where GitHub sends people back."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.ports import Ports
from tidegate.setup.create_app import begin_app, finish_app
from tidegate.setup.rules.app_needs import OPTIONS
from tidegate.setup.rules.refusals import NoSuchOrganization, SetupNotBegun, WrongSetupCode
from tidegate.setup.rules.setup_code import STATE_SECONDS
from tidegate.vcs.rules.forge_terms import GITLAB_TERMS
from tidegate.web.cookies import Cookies
from tidegate.web.forms import form_of
from tidegate.web.refusals import Hidden
from tidegate.web.rendering import Rendering

#: Binds a begun creation to this browser.
_COOKIE = "tidegate-setup"
_OWN_FORMS = "form-action 'self'"
_NOBODY: dict[str, Any] = {"person": "", "csrf": "", "path": ""}


class SetupPages:
    """Adds the routes. ``policy`` is the content security policy of pages."""

    def __init__(self, ports: Ports, rendering: Rendering, policy: str) -> None:
        self._ports, self._rendering, self._policy = ports, rendering, policy
        self._cookies = Cookies(ports.web_url)

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/setup", **hidden)(self._ask)
        app.post("/setup", **hidden)(lambda: self._begin(app))
        app.get("/setup/created", **hidden)(lambda: self._finish(app))

    def _ask(self, status: HTTPStatus = HTTPStatus.OK, problem: str = "", **fields: Any) -> Response[str]:
        if self._ports.terms == GITLAB_TERMS:
            raise Hidden
        given = {"organization": "", "chosen": (), **fields}
        return self._rendering.page("setup.html", status, problem=problem, options=OPTIONS, **given, **_NOBODY)

    def _begin(self, app: APIGatewayHttpResolver) -> Response[str]:
        """Show the form that creates the App at GitHub, with what it will have."""
        if self._ports.terms == GITLAB_TERMS:
            raise Hidden
        form = {name: values[0] for name, values in form_of(app.current_event, self._ports.web_url).items()}
        organization = form.get("organization", "").strip()
        chosen = tuple(option.name for option in OPTIONS if option.name in form)
        try:
            begun = begin_app(self._ports, form.get("code", ""), organization, chosen)
        except (WrongSetupCode, NoSuchOrganization) as error:
            return self._ask(HTTPStatus.FORBIDDEN, str(error), organization=organization, chosen=chosen)
        page = self._rendering.page("setup_begun.html", begun=begun, manifest=json.dumps(begun.manifest), **_NOBODY)
        page.cookies.append(self._cookies.new(_COOKIE, begun.state, STATE_SECONDS))
        target = urlsplit(begun.address)
        page.headers["Content-Security-Policy"] = self._policy.replace(
            _OWN_FORMS, f"form-action {target.scheme}://{target.netloc}"
        )
        return page

    def _finish(self, app: APIGatewayHttpResolver) -> Response[str]:
        query = app.current_event.query_string_parameters or {}
        state = query.get("state", "")
        if not state or self._cookies.of(app.current_event, _COOKIE) != state:
            raise SetupNotBegun
        finished = finish_app(self._ports, query.get("code", ""), state)
        page = self._rendering.page("setup_created.html", finished=finished, **_NOBODY)
        page.cookies.append(self._cookies.new(_COOKIE, "", 0))
        return page
