"""Every message of the queues, by its ``kind``. ``bootstrap/table.py`` maps each to a verb.

The sender and the receiver of a message may be of different releases, so a kind keeps its name and its fields for as
long as a message may wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tidegate.messages import Message, Timestamp


class Queued(Message):
    """A message of a queue. Each class gives ``kind`` its own value."""

    kind: str

    def about(self) -> dict[str, Any]:
        """Return the message's subject for the log: ids, and no text from people."""
        return self.model_dump(exclude={"kind", "answer", "error", "cause"})

    def body(self) -> str:
        """Return the message as SQS takes it."""
        return self.model_dump_json()


class Event(Queued):
    """A stored delivery: its kind is that of the event, and the fields are the used ones.

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
    """Events that need the repository's files, or update pull requests: the discovery queue."""

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
    """Actions on a deployment: a button (``check_run``), or a command that decides; results of CI: the action queue."""

    kind: Literal["check_run", "checks", "decision"]


class PublishDeployment(Queued):
    """Updates a deployment's check run: the check-run queue, in the deployment's group.

    ``again``: also if it shows this version already. ``if_new``: unchanged content costs no call. ``repeated_by``:
    another deployment runs this one again. ``answer``: why a request had no effect. ``not_before`` (seconds since
    1970): with all changes until then.
    """

    kind: Literal["publish_deployment"] = "publish_deployment"
    deployment: str
    again: bool = False
    if_new: bool = False
    repeated_by: str = ""
    answer: str = ""
    not_before: int = Field(default=0, ge=0)


class PublishLayer(Queued):
    """Publishes the check run of an ended speculative plan: the check-run queue, in the layer's group."""

    kind: Literal["publish_layer"] = "publish_layer"
    layer: str


class OfPullRequest(Queued):
    """An update of a pull request: the check-run queue, in the pull request's group."""

    pull_request: str


class PublishProgress(OfPullRequest):
    """Publishes plan progress, after ``not_before`` (seconds since 1970), with all changes until then."""

    kind: Literal["publish_progress"] = "publish_progress"
    not_before: int = Field(ge=0)


class PublishRevision(OfPullRequest):
    """Publishes all that is known of a revision. ``error`` and ``cause`` describe an internal error."""

    kind: Literal["publish_revision"] = "publish_revision"
    revision: str
    error: str = ""
    cause: str = ""


class FollowApply(OfPullRequest):
    """Does the next step after something of it was applied."""

    kind: Literal["follow_apply"] = "follow_apply"


class PublishDeploys(OfPullRequest):
    """Publishes the results of its merge, after ``not_before`` (seconds since 1970)."""

    kind: Literal["publish_deploys"] = "publish_deploys"
    not_before: int = Field(ge=0)


class RefreshPositions(Queued):
    """Updates the check runs of a deploy queue: the position queue, and the one for delayed messages."""

    kind: Literal["refresh_positions"] = "refresh_positions"
    queue: str


class OpenGates(Queued):
    """Evaluates the gates of a change: the change queue, in the change's group."""

    kind: Literal["open_gates"] = "open_gates"
    change_set: str


class OfEntry(Queued):
    """News of a config update, in the group of its repository."""

    repository: str
    entry: str


class PublishEntry(OfEntry):
    """Publishes the check run of an entry's commit: the check-run queue. ``notice`` answers a button without effect."""

    kind: Literal["publish_entry"] = "publish_entry"
    notice: str = ""


class FollowUpdate(OfEntry):
    """Begins the promotion of an entry, or lets it go on: the change queue."""

    kind: Literal["follow_update"] = "follow_update"


class FollowStacks(Queued):
    """Lets promotions go on that wait for stacks of a repository: the change queue, in the repository's group."""

    kind: Literal["follow_stacks"] = "follow_stacks"
    repository: str


class GiveSlots(Queued):
    """Hands free concurrency slots to those that wait: the change queue, in its own group."""

    kind: Literal["give_slots"] = "give_slots"


class DeploymentEvent(BaseModel):
    """What notifications use of the event ``Deployment changed``."""

    model_config = ConfigDict(frozen=True)

    deployment: str
    repository: str
    state: str
    changed_at: str


class DeploymentChanged(Queued):
    """An event of the bus: the notification queue, to which EventBridge sends it."""

    kind: Literal["deployment_changed"] = "deployment_changed"
    detail: DeploymentEvent


class ReviewExpiresSoon(Queued):
    """An event of the bus: the notification queue, to which EventBridge sends it."""

    kind: Literal["review_expires_soon"] = "review_expires_soon"
    detail: DeploymentEvent


class LockEvent(BaseModel):
    """What notifications use of the event ``Queue locked``."""

    model_config = ConfigDict(frozen=True)

    repository: str
    root: str
    scope: str
    stacks: tuple[str, ...]
    by: str
    reason: str
    at: str
    deployment: str
    revision: str


class QueueLocked(Queued):
    """An event of the bus: the notification queue, to which EventBridge sends it."""

    kind: Literal["queue_locked"] = "queue_locked"
    detail: LockEvent


class DriftedRoot(BaseModel):
    """What notifications use of a root in the event ``Drift``."""

    model_config = ConfigDict(frozen=True)

    root: str
    stack: str
    state: str


class DriftEvent(BaseModel):
    """What notifications use of the event ``Drift``."""

    model_config = ConfigDict(frozen=True)

    repository: str
    schedule: str
    revision: str
    branch: str
    at: str
    roots: tuple[DriftedRoot, ...]


class DriftFound(Queued):
    """An event of the bus: the notification queue, to which EventBridge sends it."""

    kind: Literal["drift_found"] = "drift_found"
    detail: DriftEvent


class DeliverNotification(Queued):
    """Tries a delivery, for the ``attempt``-th time (from 1): the notification queue."""

    kind: Literal["deliver"] = "deliver"
    repository: str
    delivery: str
    attempt: int = Field(ge=1)
