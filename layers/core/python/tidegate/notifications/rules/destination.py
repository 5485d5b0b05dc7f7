"""Where notifications go: the destinations that the installation declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from tidegate.rules.errors import TidegateError, quoted

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_SECRET = re.compile(r"[A-Za-z0-9/_+=.@-]{1,200}")
_CHANNEL = re.compile(r"[A-Z0-9]{3,30}")
_EMAIL = re.compile(r"[^@\s,]{1,64}@[^@\s,]{1,200}")
_REST = r"(:[0-9]{1,5})?(/[!$-~]*)?"
_HTTPS = re.compile(rf"https://[A-Za-z0-9.-]{{1,253}}{_REST}")
#: Plain HTTP is for the local cloud.
_LOOPBACK = re.compile(rf"http://(127\.0\.0\.1|localhost){_REST}")
SLACK_API = "https://slack.com/api"


class DestinationKind(StrEnum):
    """How a destination takes notifications."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    TEAMS = "teams"
    EMAIL = "email"


class DestinationRefused(TidegateError):
    """A destination of the installation that cannot be used. ``allowed`` says what can."""

    def __init__(self, name: str, problem: str, allowed: str) -> None:
        super().__init__(f"The destination {quoted(name)} cannot be used: {problem}. {allowed}.")
        self.problem, self.allowed = problem, allowed


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination by its name.

    ``url`` is that of a webhook, or of Slack's API. ``secret`` is the name in Secrets Manager: of the signing secret
    of a webhook, of Slack's tokens, or of the URL of a Teams workflow. ``channel`` is Slack's id of a channel,
    ``email`` the address.
    """

    name: str
    kind: DestinationKind
    url: str = ""
    secret: str = ""
    channel: str = ""
    email: str = ""

    @property
    def digests(self) -> bool:
        """Whether several messages become one: people read them. Programs get each event by itself."""
        return self.kind is not DestinationKind.WEBHOOK


#: The keys of each kind, all of which it needs. Slack's ``url`` has a default.
_KEYS: Mapping[DestinationKind, tuple[str, ...]] = {
    DestinationKind.WEBHOOK: ("url", "secret"),
    DestinationKind.SLACK: ("channel", "secret"),
    DestinationKind.TEAMS: ("secret",),
    DestinationKind.EMAIL: ("email",),
}
_FORMS = {
    "secret": (_SECRET, "the name of a secret in Secrets Manager"),
    "channel": (_CHANNEL, "the id of a channel, such as C0123456789"),
    "email": (_EMAIL, "an e-mail address"),
}


def destination(name: str, given: Mapping[str, Any]) -> Destination:
    """Return a destination of the installation's settings. Raise DestinationRefused."""
    if not _NAME.fullmatch(name):
        raise DestinationRefused(name, "its name is not valid", "Use at most 40 lowercase letters, digits and hyphens")
    try:
        kind = DestinationKind(str(given.get("kind", "")))
    except ValueError:
        allowed = f"Set kind to one of {', '.join(DestinationKind)}"
        raise DestinationRefused(name, f"{quoted(str(given.get('kind', '')))} is no kind", allowed) from None
    needed = _KEYS[kind]
    known = {"kind", *needed, *(("url",) if kind is DestinationKind.SLACK else ())}
    if unknown := sorted(set(given) - known):
        raise DestinationRefused(name, f"unknown key {quoted(unknown[0])}", f"Allowed keys: {', '.join(sorted(known))}")
    for key in needed:
        _check(name, key, given.get(key))
    url = given.get("url", SLACK_API if kind is DestinationKind.SLACK else "")
    if "url" in known:
        _check(name, "url", url)
    return Destination(name, kind, str(url), *(str(given.get(key, "")) for key in ("secret", "channel", "email")))


def _check(name: str, key: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise DestinationRefused(name, f"{key} is missing", f"Set {key}")
    if key == "url":
        problem = url_problem(value, is_local=True)
        if problem:
            raise DestinationRefused(name, problem, "Write a URL such as https://example.com/hooks/tidegate")
    elif not _FORMS[key][0].fullmatch(value):
        raise DestinationRefused(name, f"{quoted(value)} is not {_FORMS[key][1]}", f"Correct {key}")


def url_problem(url: str, *, is_local: bool) -> str:
    """Return why Tidegate calls no such URL; empty if it does. ``is_local``: in the local cloud."""
    if _HTTPS.fullmatch(url) or (is_local and _LOOPBACK.fullmatch(url)):
        return ""
    return "the URL does not have the form https://HOST/PATH"


def to_text(destinations: Iterable[Destination]) -> str:
    """Return destinations as functions get them."""
    listed = {
        each.name: {key: value for key, value in asdict(each).items() if value and key != "name"}
        for each in destinations
    }
    return json.dumps(listed, separators=(",", ":"))


def from_text(text: str) -> Mapping[str, Destination]:
    """Return destinations by their names. Raise DestinationRefused."""
    return {name: destination(name, given) for name, given in json.loads(text or "{}").items()}
