"""The record of a pull (or merge) request: what it is, three conditions, and the state that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class ConditionType(StrEnum):
    """The conditions, in the words of the design document."""

    IS_LAST_COMMIT_DISCOVERED = "IsLastCommitDiscovered"
    ARE_LAYERS_STILL_PLANNING = "AreLayersStillPlanning"
    IS_COMMENT_UP_TO_DATE = "IsCommentUpToDate"


class Status(StrEnum):
    """Whether a condition holds, in Kubernetes' words."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in the Kubernetes form. ``reason`` is one CamelCase word, ``since`` ISO 8601 in UTC.

    ``since`` is when the status last changed (``lastTransitionTime``).
    """

    type: ConditionType
    status: Status
    reason: str
    message: str
    since: str


class PullRequestState(StrEnum):
    """What is to be done next for a pull request."""

    IDLE = "Idle"
    DISCOVERY_NEEDED = "DiscoveryNeeded"
    PLANNING = "Planning"
    COMMENT_NEEDED = "CommentNeeded"


@dataclass(frozen=True, slots=True)
class PullRequestSpec:
    """What a pull request asks for. ``head_sha`` and ``base_sha`` are the newest commits known of both branches."""

    repository: str
    number: int
    installation: int
    branch: str
    base: str
    head_sha: str
    base_sha: str
    author: str
    title: str = ""
    is_draft: bool = False
    from_fork: bool = False

    @property
    def id(self) -> str:
        """Its name everywhere: ``OWNER/REPO#NUMBER``."""
        return f"{self.repository}#{self.number}"

    @property
    def revision(self) -> str:
        """What one execution is about: the head, and what it is merged with."""
        return f"{self.head_sha}+{self.base_sha}"


@dataclass(frozen=True, slots=True)
class PullRequestRecord:
    """A pull request and what became of it. ``version`` counts writes.

    ``discovered`` and ``commented`` are the revisions (``PullRequestSpec.revision``) whose layers are known, and that
    the comments show; ``layers`` the ids of the temporary layers of ``discovered``; ``execution`` the name of the
    execution that works on it; ``comments`` pairs of a stack and the forge's id of its comment; ``notice`` a sentence
    that is to be shown, such as why nothing is planned. ``closed_at`` is when it was closed or merged.
    """

    spec: PullRequestSpec
    conditions: tuple[Condition, ...] = ()
    discovered: str = ""
    commented: str = ""
    layers: tuple[str, ...] = ()
    execution: str = ""
    comments: tuple[tuple[str, int], ...] = field(default_factory=tuple)
    notice: str = ""
    opened_at: str = ""
    closed_at: str = ""
    merged: bool = False
    version: int = 0
