"""Buttons of messages in Slack, and the page on which people link their user of Slack to their account."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.notifications.answer_press import answer_press
from tidegate.notifications.link_slack import link_slack, unlink_slack
from tidegate.notifications.rules.slack_account import InvalidSlackCode, SlackCode, SlackUser, acts_as
from tidegate.notifications.rules.slack_press import SlackRequest, press_of, signer
from tidegate.ports import Ports
from tidegate.telemetry import logger
from tidegate.web.refusals import InvalidSlackSignature
from tidegate.web.rendering import Rendering, address, see_other


class SlackPages:
    """Adds the routes of Slack to a resolver."""

    def __init__(self, ports: Ports, rendering: Rendering) -> None:
        self._ports, self._rendering = ports, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.post("/slack/actions", **hidden)(lambda: self._pressed(app))
        app.get("/account/slack", **hidden)(lambda: self._account(app))
        app.post("/account/slack", **hidden)(lambda: self._link(app))

    def _pressed(self, app: APIGatewayHttpResolver) -> Response[str]:
        """Answer a press of a button. Slack shows an error to the person for any other status than 200."""
        event, ports = app.current_event, self._ports
        body, headers = event.decoded_body or "", event.headers
        request = SlackRequest(body, headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", ""))
        by = signer(ports.slack_apps.signing_secrets(), request, ports.seconds())
        if by is None:
            raise InvalidSlackSignature
        press = press_of(by, parse_qs(body).get("payload", [""])[0])
        outcome = answer_press(ports, press) if press else "Nothing to decide."
        logger.info("pressed", extra={"outcome": outcome, "slack_user": _named(press.user) if press else ""})
        return Response(HTTPStatus.OK, body="")

    def _account(self, app: APIGatewayHttpResolver) -> Response[str]:
        fields = app.context["fields"]
        given, done = fields.get("code", ""), fields.get("done", "")
        code = self._code(given) if given else None
        accounts, now = self._ports.slack_accounts, self._ports.seconds()
        linked = acts_as(accounts.link(code.user), now) if code else ""
        links = [each for each in accounts.links_of(app.context["access"].login) if acts_as(each, now)]
        return self._rendering.show(app, "slack.html", code=code, given=given, linked=linked, links=links, done=done)

    def _link(self, app: APIGatewayHttpResolver) -> Response[str]:
        fields, login = app.context["fields"], app.context["access"].login
        if fields.get("action") == "unlink":
            user = SlackUser(*(fields.get(name, "") for name in ("app", "team", "user")))
            if unlink_slack(self._ports, user, login):
                logger.info("unlinked", extra={"slack_user": _named(user), "login": login})
            return see_other(address("/account/slack", done="unlinked"))
        code = self._code(fields.get("code", ""))
        link_slack(self._ports, code, login)
        logger.info("linked", extra={"slack_user": _named(code.user), "login": login})
        return see_other(address("/account/slack", done="linked"))

    def _code(self, given: str) -> SlackCode:
        code = self._ports.sessions.read_slack_code(given)
        if code is None:
            raise InvalidSlackCode
        return code


def _named(user: SlackUser) -> str:
    return f"{user.app}/{user.team}/{user.id}"
