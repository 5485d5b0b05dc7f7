"""Buttons of messages in Slack, and the page on which people link their user of Slack to their account."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.notifications.answer_click import answer_click
from tidegate.notifications.link_slack import link_slack, open_link, unlink_slack
from tidegate.notifications.rules.slack_account import InvalidSlackLink, SlackUser, WrongSlackCode, acts_as
from tidegate.notifications.rules.slack_interaction import SlackRequest, click_of, signer
from tidegate.ports import Ports
from tidegate.rules.errors import CloudUnavailable
from tidegate.telemetry import logger
from tidegate.web.refusals import InvalidSlackSignature, NoSlackApp
from tidegate.web.rendering import Rendering, address, see_other


class SlackPages:
    """Adds the routes of Slack to a resolver."""

    def __init__(self, ports: Ports, rendering: Rendering) -> None:
        self._ports, self._rendering = ports, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.post("/slack/actions", **hidden)(lambda: self._clicked(app))
        app.get("/account/slack", **hidden)(lambda: self._account(app))
        app.post("/account/slack", **hidden)(lambda: self._link(app))

    def _clicked(self, app: APIGatewayHttpResolver) -> Response[str]:
        """Answer a click on a button. Slack shows an error to the person for any other status than 200."""
        event, ports = app.current_event, self._ports
        body, headers = event.decoded_body or "", event.headers
        request = SlackRequest(body, headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", ""))
        by = signer(self._signing_secrets(), request, ports.seconds())
        if by is None:
            raise InvalidSlackSignature
        click = click_of(by, parse_qs(body).get("payload", [""])[0])
        outcome = answer_click(ports, click) if click else "Nothing to decide."
        logger.info("clicked", extra={"outcome": outcome, "slack_user": _named(click.user) if click else ""})
        return Response(HTTPStatus.OK, body="")

    def _signing_secrets(self) -> Mapping[str, str]:
        """Return the signing secrets of apps. An app whose secret cannot be read has none, and stops no other."""
        apps, found = self._ports.slack_apps, {}
        for name in apps.names():
            try:
                found[name] = apps.signing_secret(name)
            except CloudUnavailable as error:
                logger.warning("signing secret not read", extra={"secret": name, "reason": str(error)})
        return {name: secret for name, secret in found.items() if secret}

    def _ensure_app(self) -> None:
        """Raise NoSlackApp: without an app, this function may not read who is linked."""
        if not self._ports.slack_apps.names():
            raise NoSlackApp

    def _account(
        self, app: APIGatewayHttpResolver, status: HTTPStatus = HTTPStatus.OK, problem: str = ""
    ) -> Response[str]:
        """Show whom a link of Slack would link, or has linked, and who acts for this person already."""
        self._ensure_app()
        login, token = app.context["access"].login, app.context["fields"].get("request", "")
        accounts, now = self._ports.slack_accounts, self._ports.seconds()
        request = open_link(self._ports, token) if token else None
        link = accounts.link(request.user) if request else None
        is_done = bool(request and link and link.login == login and link.ends == request.ends)
        if request and link and link.ends >= request.ends and not is_done:
            raise InvalidSlackLink
        return self._rendering.show(
            app,
            "slack.html",
            status,
            request=request,
            token=token,
            problem=problem,
            is_done=is_done,
            linked=acts_as(link, now),
            links=[each for each in accounts.links_of(login) if acts_as(each, now)],
        )

    def _link(self, app: APIGatewayHttpResolver) -> Response[str]:
        self._ensure_app()
        fields, login = app.context["fields"], app.context["access"].login
        if fields.get("action") == "unlink":
            user = SlackUser(*(fields.get(name, "") for name in ("app", "team", "user")))
            if unlink_slack(self._ports, user, login):
                logger.info("unlinked", extra={"slack_user": _named(user), "login": login})
            return see_other("/account/slack")
        token = fields.get("request", "")
        try:
            link = link_slack(self._ports, token, fields.get("code", ""), login)
        except WrongSlackCode as error:
            return self._account(app, HTTPStatus.BAD_REQUEST, str(error))
        logger.info("linked", extra={"slack_user": _named(link.user), "login": login})
        return see_other(address("/account/slack", request=token))


def _named(user: SlackUser) -> str:
    return f"{user.app}/{user.team}/{user.id}"
