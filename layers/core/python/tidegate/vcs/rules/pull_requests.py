"""The fields of events about pull requests, reviews and merge queues that are used.

The rest is read from the VCS provider when an event is processed: an event's data may be outdated by then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidegate.roots.rules.root import commit_sha
from tidegate.vcs.rules.decision import Accepted, Ignored
from tidegate.vcs.rules.fields import (
    moved,
    number_in,
    object_in,
    repository_in,
    sender_in,
    text_in,
)

#: Actions that change a pull request's merge. An edit counts only if it changes the base branch.
_FOLLOWED = frozenset(
    {"opened", "reopened", "synchronize", "ready_for_review", "converted_to_draft", "edited", "closed"}
)
#: The branch that a merge queue makes for one pull request, on top of those before it.
_QUEUED = re.compile(r"refs/heads/gh-readonly-queue/.{1,1000}/pr-([1-9][0-9]{0,17})-[0-9a-f]{40,64}", re.DOTALL)


def read_pull_request(payload: Mapping[str, Any]) -> Accepted | Ignored:
    """Decide about an event of a pull request. Raise InvalidWebhook and InvalidName."""
    action = payload.get("action")
    if not isinstance(action, str) or action not in _FOLLOWED:
        return Ignored("Tidegate ignores this change of a pull request.")
    if action == "edited" and not _changes_base(payload):
        return Ignored("The pull request's title or description was edited, not its base branch.")
    fields = {**_pull_request(payload), "action": action, **_head(action, payload)}
    return Accepted("pull_request", fields)


def read_review(payload: Mapping[str, Any]) -> Accepted | Ignored:
    """Decide about an event of a review. Raise InvalidWebhook and InvalidName."""
    if payload.get("action") not in ("submitted", "dismissed"):  # It may be of any type.
        return Ignored("The text of a review was edited, not its verdict.")
    return Accepted("pull_request_review", _pull_request(payload))


def read_merge_group(payload: Mapping[str, Any]) -> Accepted | Ignored:
    """Decide about an event of a merge queue. Raise InvalidWebhook and InvalidName."""
    if payload.get("action") != "checks_requested":
        return Ignored("The merge queue does not request checks.")
    group = object_in(payload, "merge_group")
    queued = _QUEUED.fullmatch(text_in(group, "head_ref"))
    if queued is None:
        return Ignored("The merge queue's branch names no pull request.")
    fields = {
        "repository": repository_in(payload),
        "pull_request": int(queued.group(1)),
        "sha": commit_sha(text_in(group, "head_sha")),
        "sender": sender_in(payload),
    }
    return Accepted("merge_group", fields)


def _changes_base(payload: Mapping[str, Any]) -> bool:
    changes = payload.get("changes")
    return isinstance(changes, dict) and "base" in changes


def _head(action: str, payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the pull request head's old and new commit: the event's sender pushed."""
    if action == "synchronize":
        return moved(payload.get("before") or "unknown", payload.get("after"))
    head = object_in(payload, "pull_request").get("head")
    return moved("", head.get("sha")) if action == "opened" and isinstance(head, dict) else {}


def _pull_request(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "repository": repository_in(payload),
        "pull_request": number_in(object_in(payload, "pull_request"), "number"),
        "sender": sender_in(payload),
    }
