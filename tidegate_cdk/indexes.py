"""The table's indexes. Importing this module does not start node, unlike aws_cdk."""

from __future__ import annotations

#: Fields of deployments in lists. Last lines and timeline are on its own page only.
_SUMMARY = (
    "id",
    "root",
    "revision",
    "request",
    "stack",
    "within",
    "tags",
    "shared",
    "state",
    "reason",
    "error",
    "changed_at",
    "rerun",
    "change",
    "planned",
    "review",
    "apply",
)
#: Fields of queues in lists: all of the head except the worker's task token.
_HEAD = (
    "version",
    "length",
    "generation",
    "lock",
    "worker",
    "in_flight",
    "last",
    "deployed",
    "attempted",
    "unlocked",
    "by_stack",
)
#: Fields with which the reconciler resends a delivery. Of queues and deployments it needs only the keys.
_UNSENT = ("event", "fields", "received_at")
#: The index of open work, and those for lists: their keys, and projected attributes.
OPEN = {"open": (("open", "open_since"), _UNSENT)}
LISTS = {
    "history": (("queue", "requested_at"), ("repository", *_SUMMARY)),
    "recent": (("repository", "requested_at"), _SUMMARY),
    "roots": (("home", "root_name"), _HEAD),
}
INDEXES = {**OPEN, **LISTS}
