"""What the HTTP API takes, as its OpenAPI description says it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tidegate.comments.rules.command import MAXIMUM_ROOTS
from tidegate.deploys.rules.locking import DURATION, LONGEST_REASON
from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.roots.rules.query_words import MAXIMUM_LENGTH
from tidegate.roots.rules.root import MAXIMUM_PATH, MAXIMUM_REPOSITORY, MAXIMUM_ROOT_NAME

#: A part of a repository's name: neither ``.`` nor ``..``, which are directories.
_PART = r"\.{0,2}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,97}"
#: A repository's name; what stands before its last part, in a path with colons between; and the last part.
REPOSITORY = rf"^{_PART}(/{_PART}){{1,20}}$"
OWNER = rf"^{_PART}(:{_PART}){{0,19}}$"
LAST_PART = rf"^{_PART}$"
#: It leaves room for a slash and the longest last part.
MAXIMUM_OWNER = MAXIMUM_REPOSITORY - 101
RepositoryName = Annotated[
    str,
    Field(pattern=REPOSITORY, max_length=MAXIMUM_REPOSITORY, description="owner/name, or group/subgroup/name"),
]
RootName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$",
        max_length=MAXIMUM_ROOT_NAME,
        description="The root's name in tidegate.yaml",
    ),
]
_Directory = Annotated[str, Field(min_length=1, max_length=MAXIMUM_PATH)]
Duration = Annotated[
    str,
    # The pattern is described, and judged by ``lock_end``, which says what to write.
    Field(
        max_length=100,
        json_schema_extra={"pattern": rf"^({DURATION})?$"},
        description="How long, such as `90m`, `2h`, `3d`; by default, until somebody unlocks",
    ),
]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class QueueName(_Given):
    """Which queue."""

    repository: RepositoryName
    root: RootName


class ScheduleName(_Given):
    """Which drift schedule."""

    repository: RepositoryName
    schedule: str = Field(min_length=1, max_length=200, description="Its name in tidegate.yaml")


class LockRequest(QueueName):
    """Which queue, and why merges are to wait."""

    reason: str = Field(
        default="", max_length=LONGEST_REASON, description="The reason, which Tidegate shows with the lock"
    )
    duration: Duration = ""


class LockScope(_Given):
    """What is locked at once: a stack, or all roots of a repository."""

    repository: RepositoryName
    stack: str = Field(default="", max_length=100, description="A stack or stack group; by default, all roots")


class ScopedLockRequest(LockScope):
    """What is to be locked, why, and for how long."""

    reason: str = Field(
        default="", max_length=LONGEST_REASON, description="The reason, which Tidegate shows with the lock"
    )
    duration: Duration = ""


class ReviewAnswer(_Given):
    """An answer to a plan review."""

    decision: Literal["approve", "reject"]
    plan_digest: str = Field(
        default="", max_length=64, description="The `plan_digest` of the plan that you reviewed; required to approve"
    )
    reason: str = Field(
        default="",
        max_length=MAXIMUM_REASON,
        description="The reason, for the timeline and the audit log",
    )
    destroys: bool = Field(
        default=False,
        description="That the destruction of resources is meant; required to approve a plan with `asks_twice`",
    )


class GateAnswer(_Given):
    """What is to become of a deployment that waits for others, or for what is required of it."""

    decision: Literal["retry", "reject", "approve", "override"]
    reason: str = Field(
        default="", max_length=MAXIMUM_REASON, description="The reason, for the audit log; required for an override"
    )


class WaveStop(_Given):
    """Which stack of a change to stop."""

    stack: str = Field(min_length=1, max_length=100, description="The stack's name")


class WaveContinuation(WaveStop):
    """Which stack of a change continues in spite of its failures, and why."""

    reason: str = Field(min_length=1, max_length=MAXIMUM_REASON, description="The reason, for the audit log")


class CancelRequest(_Given):
    """Cancel a deployment."""

    apply: bool = Field(
        default=False,
        description="Cancel also during the apply: this interrupts the engine, and may leave changes partly applied",
    )


class DeployRequest(_Given):
    """Deploy the default branch's head to roots (by name, directory, or tag query), or destroy what they made."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["roots"]}, {"required": ["directories"]}, {"required": ["query"]}],
            "not": {
                "required": ["destroy"],
                "properties": {"destroy": {"const": True}},
                "anyOf": [{"required": ["directories"]}, {"required": ["query"]}],
            },
        }
    )

    repository: RepositoryName
    roots: Annotated[tuple[RootName, ...], Field(min_length=1, max_length=MAXIMUM_ROOTS)] = ()
    directories: Annotated[tuple[_Directory, ...], Field(min_length=1, max_length=MAXIMUM_ROOTS)] = Field(
        default=(), description="All roots in these directories and below"
    )
    query: str = Field(
        default="",
        pattern=r"\S",
        max_length=MAXIMUM_LENGTH,
        description="All roots that match this tag query",
    )
    force: bool = Field(
        default=False,
        description="Queue a deployment even if the same manual one, at the same commit, is already queued",
    )
    destroy: bool = Field(
        default=False,
        description="Destroy the resources of these roots, which no longer exist on the default branch; always "
        "needs a review",
    )

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        if not (self.roots or self.directories or self.query):
            raise ValueError("Name roots, directories or a query.")
        if self.destroy and {"directories", "query"} & self.model_fields_set:
            raise ValueError("To destroy, name each root.")
        return self
