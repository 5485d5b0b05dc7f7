"""Where notifications go: the destinations that the installation declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from tidegate.deploys.rules.aws_target import fits
from tidegate.roots.rules.nearest import nearest
from tidegate.rules.errors import TidegateError, quoted

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_SECRET = re.compile(r"[A-Za-z0-9/_+=.@-]{1,200}")
_CHANNEL = re.compile(r"[A-Z0-9]{3,30}")
_REPOSITORIES = re.compile(r"[A-Za-z0-9_.*/-]{1,255}")
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
    ``email`` the address. ``repositories`` are patterns of ``OWNER/NAME`` of those that may use it; empty for all.
    """

    name: str
    kind: DestinationKind
    url: str = ""
    secret: str = ""
    channel: str = ""
    email: str = ""
    repositories: tuple[str, ...] = ()

    @property
    def digests(self) -> bool:
        """Whether several messages become one: people read them. Programs get each event by itself."""
        return self.kind is not DestinationKind.WEBHOOK


@dataclass(frozen=True, slots=True)
class DeclaredDestinations:
    """The names of an installation's destinations, each with its ``repositories``."""

    listed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def problem(self, name: str, repository: str) -> str:
        """Return why a repository notifies nobody at a destination, as sentences; empty if it does.

        Only destinations that the repository may use are proposed.
        """
        if name not in self.listed:
            usable = [each for each, patterns in self.listed.items() if may_use(patterns, repository)]
            near = nearest(name, sorted(usable))
            meant = f"Did you mean {quoted(near)}?" if near else f"It declares {', '.join(sorted(usable)) or 'none'}."
            what = f"this installation does not declare the destination {quoted(name)}, so nobody is notified there"
            return f"{what}. {meant}"
        if not may_use(self.listed[name], repository):
            what = f"this installation does not let the repository use the destination {quoted(name)}"
            return f"{what}, so nobody is notified there. Ask an operator to add it to the destination's repositories."
        return ""


def may_use(patterns: tuple[str, ...], repository: str) -> bool:
    """Tell whether a repository may use a destination with these ``repositories``."""
    return not patterns or any(fits(each, repository) for each in patterns)


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
    known = {"kind", "repositories", *needed, *(("url",) if kind is DestinationKind.SLACK else ())}
    if unknown := sorted(set(given) - known):
        raise DestinationRefused(name, f"unknown key {quoted(unknown[0])}", f"Allowed keys: {', '.join(sorted(known))}")
    for key in needed:
        _check(name, key, given.get(key))
    url = given.get("url", SLACK_API if kind is DestinationKind.SLACK else "")
    if "url" in known:
        _check(name, "url", url)
    secret, channel, email = (str(given.get(key, "")) for key in ("secret", "channel", "email"))
    return Destination(name, kind, str(url), secret, channel, email, _repositories(name, given))


def _repositories(name: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return who may use the destination. An empty list is refused: it would mean all."""
    if "repositories" not in given:
        return ()
    listed = given["repositories"]
    if not isinstance(listed, list | tuple) or not listed:
        raise DestinationRefused(name, "repositories is no list with an entry", "Leave it out to allow all")
    for each in listed:
        if not isinstance(each, str) or not _REPOSITORIES.fullmatch(each):
            problem = f"{quoted(str(each))} in repositories is no pattern"
            raise DestinationRefused(name, problem, "Write OWNER/NAME, where * matches any text")
    return tuple(listed)


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


def names_to_text(destinations: Iterable[Destination]) -> str:
    """Return their names and repositories, as functions get them that need no more."""
    return json.dumps({each.name: each.repositories for each in destinations}, separators=(",", ":"))


def names_from_text(text: str) -> DeclaredDestinations:
    """Return what ``names_to_text`` wrote; an empty text declares none."""
    return DeclaredDestinations({name: tuple(given) for name, given in json.loads(text or "{}").items()})
