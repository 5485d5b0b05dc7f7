"""Clicks on buttons in Slack: who signed the request, who clicked, and what it asks for.

https://docs.slack.dev/authentication/verifying-requests-from-slack
https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
The payload of a button has the state of all fields of its message:
https://api.slack.com/changelog/2020-09-full-state-on-view-submisson-and-block-actions
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.review import Answer
from tidegate.notifications.rules.slack_account import SlackUser

#: Seconds by which a request's time may differ from ours: Slack's own advice against replays.
MOST_SECONDS = 300
_DIGITS = re.compile(r"[0-9]{1,12}")
_ID = re.compile(r"[A-Z0-9]{1,30}")
_VALUE = re.compile(r"([A-Za-z0-9-]{1,100}) ([A-Za-z0-9-]{1,64})")
_LONGEST_NAME = 80
#: The ``action_id`` of the field for a reason. Its block has the value of the buttons as ``block_id``.
REASON = "reason"


@dataclass(frozen=True, slots=True)
class SlackRequest:
    """A request as it arrived: its body, and the headers ``x-slack-request-timestamp`` and ``x-slack-signature``."""

    body: str
    timestamp: str
    signature: str


@dataclass(frozen=True, slots=True)
class Click:
    """A click on Approve or Reject for a review of a deployment. ``blocks`` are those of the message.

    ``name`` and ``workspace`` are what people call the user and their workspace, ``reason`` is what they typed above
    the buttons. Slack takes replies to the click at ``response_url``, for half an hour.
    """

    user: SlackUser
    name: str
    workspace: str
    answer: Answer
    deployment: str
    review: str
    response_url: str
    blocks: tuple[Mapping[str, Any], ...] = ()
    reason: str = ""


def signature_of(secret: str, timestamp: str, body: str) -> str:
    """Return Slack's signature (version 0) of a request."""
    return f"v0={hmac.new(secret.encode(), f'v0:{timestamp}:{body}'.encode(), hashlib.sha256).hexdigest()}"


def signer(secrets: Mapping[str, str], request: SlackRequest, now: float) -> str | None:
    """Return the name of the app whose signing secret signed a request, ``now`` in seconds since 1970; or None."""
    if not _DIGITS.fullmatch(request.timestamp) or abs(now - int(request.timestamp)) > MOST_SECONDS:
        return None
    given = request.signature.encode()
    for app, secret in secrets.items():
        if hmac.compare_digest(signature_of(secret, request.timestamp, request.body).encode(), given):
            return app
    return None


def button_value(deployment: str, review: str) -> str:
    """Return the value of both buttons for a review, and the id of the block above them."""
    return f"{deployment} {review}"


def click_of(app: str, payload: str) -> Click | None:
    """Return the click that an app's payload tells of; None for other clicks, such as on links."""
    try:
        given = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    action = _part(given, "actions", 0)
    value = _VALUE.fullmatch(_text(action, "value"))
    team, user = _text(given, "team", "id") or _text(given, "user", "team_id"), _text(given, "user", "id")
    answer = _text(action, "action_id")
    if not value or answer not in set(Answer) or not (_ID.fullmatch(team) and _ID.fullmatch(user)):
        return None
    return Click(
        user=SlackUser(app, team, user),
        name=(_text(given, "user", "username") or _text(given, "user", "name"))[:_LONGEST_NAME],
        workspace=(_text(given, "team", "domain") or _text(given, "enterprise", "name"))[:_LONGEST_NAME],
        answer=Answer(answer),
        deployment=value[1],
        review=value[2],
        response_url=_text(given, "response_url"),
        blocks=_blocks(_part(given, "message", "blocks")),
        reason=_text(given, "state", "values", value[0], REASON, "value")[:MAXIMUM_REASON],
    )


def without_buttons(click: Click) -> list[Mapping[str, Any]]:
    """Return the blocks of the message without the field and the buttons of the decided review."""
    value = button_value(click.deployment, click.review)
    kept: list[Mapping[str, Any]] = []
    for block in click.blocks:
        elements = block.get("elements")
        if block.get("block_id") == value:
            continue
        if block.get("type") != "actions" or not isinstance(elements, list):
            kept.append(block)
        elif left := [each for each in elements if _text(each, "value") != value]:
            kept.append({**block, "elements": left})
    return kept


def _part(given: Any, *path: str | int) -> Any:
    for key in path:
        if isinstance(given, Mapping):
            given = given.get(key)
        else:
            given = given[key] if isinstance(given, Sequence) and isinstance(key, int) and given else None
    return given


def _text(given: Any, *path: str | int) -> str:
    """Return a text, in which halves of characters, which nobody can store, are ``?``."""
    found = _part(given, *path)
    return found.encode(errors="replace").decode() if isinstance(found, str) else ""


def _blocks(given: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(each for each in given if isinstance(each, Mapping)) if isinstance(given, list) else ()
