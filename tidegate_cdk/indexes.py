"""The table's indexes. They are read without starting node, which importing aws_cdk does."""

from __future__ import annotations

#: What lists show of a deployment. Its last lines and its timeline are for its own page.
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
#: What lists show of a queue: everything of its head but the worker's task token.
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
#: What the reconciler needs of a delivery to send it again. Of queues and deployments it needs the keys alone.
_UNSENT = ("event", "fields", "received_at")
#: The index of what is not done yet, and those that lists are made from: their keys, and what is copied into them.
OPEN = {"open": (("open", "open_since"), _UNSENT)}
LISTS = {
    "history": (("queue", "requested_at"), ("repository", *_SUMMARY)),
    "recent": (("repository", "requested_at"), _SUMMARY),
    "roots": (("home", "root_name"), _HEAD),
}
INDEXES = {**OPEN, **LISTS}
