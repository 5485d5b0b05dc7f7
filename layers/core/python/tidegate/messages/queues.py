"""Every message of the queues, by its ``kind``. ``bootstrap/table.py`` leads from there to a verb.

A queue's message may be sent by a function of one release and taken by that of another, so a kind keeps its name and
its fields for as long as a message may wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import Field

from tidegate.messages import Message, Timestamp


class Queued(Message):
    """A message of a queue. Each class gives ``kind`` its own value."""

    kind: str

    def about(self) -> dict[str, Any]:
        """Return what the log says of it: ids, and no text that somebody wrote."""
        return self.model_dump(exclude={"kind", "answer", "error", "cause"})

    def body(self) -> str:
        """Return the message as SQS takes it."""
        return self.model_dump_json()


class Event(Queued):
    """A stored delivery: its kind is that of the event, and the fields are those that are used of it.

    The webhook function sends it without this class, as it starts without pydantic (docs/decisions/0232).
    """

    delivery: str
    fields: Mapping[str, Any]
    received_at: Timestamp

    def about(self) -> dict[str, Any]:
        return {
            "delivery": self.delivery,
            "repository": self.fields.get("repository"),
            "sha": self.fields.get("after"),
            "by": self.fields.get("sender"),
        }


class DiscoveryEvent(Event):
    """What needs the repository's files, or keeps the record of a pull request: the discovery queue."""

    kind: Literal[
        "push",
        "head",
        "issue_comment",
        "manual",
        "rerun",
        "retry",
        "check_suite",
        "drift",
        "detect_drift",
        "pull_request",
        "pull_request_review",
        "merge_group",
        "replan",
    ]


class ActionEvent(Event):
    """What somebody asks for of a deployment: a button (``check_run``), or a comment that decides: the action queue."""

    kind: Literal["check_run", "decision"]


class PublishDeployment(Queued):
    """Brings the check run of a deployment up to date: the check-run queue, in the deployment's group.

    ``again``: also if it shows this version already. ``if_new``: what looks as before costs no call. ``repeated_by``:
    another deployment runs this one again. ``answer``: why what somebody asked for had no effect.
    """

    kind: Literal["publish_deployment"] = "publish_deployment"
    deployment: str
    again: bool = False
    if_new: bool = False
    repeated_by: str = ""
    answer: str = ""


class PublishLayer(Queued):
    """Shows the check run of a speculative plan that has ended: the check-run queue, in the layer's group."""

    kind: Literal["publish_layer"] = "publish_layer"
    layer: str


class OfPullRequest(Queued):
    """What is shown of a pull request: the check-run queue, in the pull request's group."""

    pull_request: str


class PublishProgress(OfPullRequest):
    """Shows how far its plans are, once ``not_before`` (seconds since 1970) is over: it sees each change until then."""

    kind: Literal["publish_progress"] = "publish_progress"
    not_before: int = Field(ge=0)


class PublishRevision(OfPullRequest):
    """Shows all that is known of a revision. ``error`` and ``cause`` are set where Tidegate itself failed."""

    kind: Literal["publish_revision"] = "publish_revision"
    revision: str
    error: str = ""
    cause: str = ""


class FollowApply(OfPullRequest):
    """Does what follows once something of it was applied."""

    kind: Literal["follow_apply"] = "follow_apply"


class PublishDeploys(OfPullRequest):
    """Shows what became of its merge, once ``not_before`` (seconds since 1970) is over."""

    kind: Literal["publish_deploys"] = "publish_deploys"
    not_before: int = Field(ge=0)


class RefreshPositions(Queued):
    """Brings the check runs of what waits in a queue up to date: the line queue, and the one for what is not due."""

    kind: Literal["refresh_positions"] = "refresh_positions"
    queue: str


class OpenGates(Queued):
    """Checks the gates of a change: the change queue, in the change's group."""

    kind: Literal["open_gates"] = "open_gates"
    change_set: str


class GiveSlots(Queued):
    """Gives free concurrency slots to those that wait longest: the change queue, in a group of their own."""

    kind: Literal["give_slots"] = "give_slots"


def kinds_of(message: type[Queued]) -> tuple[str, ...]:
    """Return the kinds that a class of messages is for."""
    kinds: tuple[str, ...] = get_args(message.model_fields["kind"].annotation)
    return kinds
