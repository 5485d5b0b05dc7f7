"""Fields of all kinds of events, read and validated. A missing one raises InvalidWebhook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidegate.roots.rules.root import commit_sha, repository_name
from tidegate.rules.errors import InvalidName, InvalidWebhook
from tidegate.rules.timestamp import timestamp_from, timestamp_text

#: Who somebody is at the forge.
LOGIN = re.compile(r"[A-Za-z0-9_.-]{1,100}(\[bot\])?")


def repository_in(payload: Mapping[str, Any]) -> str:
    """Return the name of the repository that an event is about. Raise InvalidName."""
    return repository_name(text_in(object_in(payload, "repository"), "full_name"))


def object_in(payload: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an object."""
    value = payload.get(key)
    if not isinstance(value, dict):
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def text_in(payload: Mapping[str, Any], key: str) -> str:
    """Return a text."""
    value = payload.get(key)
    if not isinstance(value, str):
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def number_in(payload: Mapping[str, Any], key: str) -> int:
    """Return a number above 0, as the forge counts things."""
    value = payload.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 63:
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def moment_in(payload: Mapping[str, Any], key: str) -> str:
    """Return a timestamp as text; empty if the event tells none."""
    try:
        return timestamp_text(timestamp_from(text_in(payload, key).replace(" UTC", "+00:00")))
    except (InvalidWebhook, ValueError):
        return ""


def matching_in(pattern: re.Pattern[str], payload: Mapping[str, Any], key: str) -> str:
    """Return a text that matches this pattern. Raise InvalidName."""
    text = text_in(payload, key)
    if not pattern.fullmatch(text):
        raise InvalidName(key, text, "Tidegate creates no such id")
    return text


def check_sent_by_app(payload: Mapping[str, Any]) -> None:
    """Raise InvalidWebhook if no App sent an event: without one, Tidegate can neither read nor report."""
    if not isinstance(payload.get("installation"), dict):
        raise InvalidWebhook("The event has no installation. Send webhooks from the GitHub App, not from a repository.")


def moved(before: object, after: object) -> dict[str, str]:
    """Return a head's old and new commit; nothing if the event lacks them. ``before`` may be empty."""
    try:
        return {"before": commit_sha(str(before)) if before else "", "after": commit_sha(str(after))}
    except InvalidName:
        return {}


def sender_in(payload: Mapping[str, Any]) -> str:
    """Return the login of who did it. Raise InvalidName."""
    return matching_in(LOGIN, object_in(payload, "sender"), "login")
