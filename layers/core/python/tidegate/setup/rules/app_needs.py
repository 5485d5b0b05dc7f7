"""The permissions and events that the GitHub App needs, and the manifest that asks GitHub for them.

https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NEEDED_PERMISSIONS = {
    "checks": "write",
    "contents": "read",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "read",
}
#: Only an installation with an operators' team asks who is in a team.
OPERATORS_PERMISSIONS = {"members": "read"}
NEEDED_EVENTS = frozenset(
    {"push", "check_run", "check_suite", "issue_comment", "pull_request", "pull_request_review", "merge_group"}
)
#: GitHub's limit of an App's name.
LONGEST_NAME = 34
_LEVELS = {"": 0, "read": 1, "write": 2, "admin": 3}


@dataclass(frozen=True, slots=True)
class Option:
    """What only some repositories need: the name of its field, what it is for, permissions and events."""

    name: str
    purpose: str
    permissions: Mapping[str, str]
    events: frozenset[str] = field(default_factory=frozenset)


OPTIONS: tuple[Option, ...] = (
    Option("issues", "Report drift in issues", {"issues": "write"}),
    Option("contents", "Merge pull requests after the apply", {"contents": "write"}),
    Option(
        "updates",
        "Update config repositories: move their branches, run lost checks again",
        {"contents": "write", "actions": "write"},
        frozenset({"status"}),
    ),
    Option("members", "Name teams in access control", {"members": "read"}),
)


@dataclass(frozen=True, slots=True)
class Granted:
    """What an App has at GitHub: permissions, events, and where its webhook goes; empty if nobody asked."""

    permissions: Mapping[str, str]
    events: frozenset[str]
    webhook: str = ""


def needs(options: Collection[str], *, has_operators: bool) -> Granted:
    """Return what the App needs for these options (names of ``OPTIONS``; others are ignored)."""
    permissions, events = {**NEEDED_PERMISSIONS, **(OPERATORS_PERMISSIONS if has_operators else {})}, set(NEEDED_EVENTS)
    for option in OPTIONS:
        if option.name in options:
            permissions |= option.permissions
            events |= option.events
    return Granted(permissions, frozenset(events))


def missing(granted: Granted, needed: Granted) -> Sequence[str]:
    """Return the permissions and events that are needed and not granted, as words for people."""
    return [*_missing_permissions(granted, needed), *_missing_events(granted, needed)]


def _missing_permissions(granted: Granted, needed: Granted) -> Iterator[str]:
    return (f"{name}: {level}" for name, level in needed.permissions.items() if not _grants(granted, name, level))


def _missing_events(granted: Granted, needed: Granted) -> Iterator[str]:
    return (f"the event {event}" for event in sorted(needed.events - granted.events))


def _grants(granted: Granted, name: str, level: str) -> bool:
    """Tell whether a permission is granted at this level, or a higher one."""
    return _LEVELS.get(granted.permissions.get(name, ""), 0) >= _LEVELS[level]


def manifest(url: str, webhook: str, name: str, needed: Granted) -> dict[str, Any]:
    """Return the manifest of an App, which only its owner can install, with nothing that is not needed.

    ``url`` is that of the pages, ``webhook`` where webhooks go. GitHub makes the webhook's secret, the key and the
    client secret itself.
    """
    return {
        "name": name[:LONGEST_NAME],
        "url": url,
        "hook_attributes": {"url": webhook, "active": True},
        "redirect_url": f"{url}/setup/created",
        "callback_urls": [f"{url}/login/callback"],
        "setup_url": f"{url}/",
        "public": False,
        "request_oauth_on_install": False,
        "default_permissions": dict(needed.permissions),
        "default_events": sorted(needed.events),
    }
