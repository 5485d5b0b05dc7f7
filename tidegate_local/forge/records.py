"""What the forge remembers. Times are as GitHub writes them; ``repository`` is ``owner/name``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Account:
    """A user, organization or bot; its id is also that of the App's installation on it."""

    id: int
    login: str
    type: str
    name: str = ""
    repository: str = ""


@dataclass(frozen=True, slots=True)
class Repository:
    id: int
    repository: str
    default_branch: str
    created_at: str
    pushed_at: str
    private: bool = True
    fork_of: str | None = None

    @property
    def owner(self) -> str:
        return self.repository.partition("/")[0]

    @property
    def name(self) -> str:
        return self.repository.partition("/")[2]


@dataclass(frozen=True, slots=True)
class CheckSuite:
    id: int
    repository: str
    head_sha: str
    head_branch: str | None
    before: str | None
    created_at: str
    #: The slug of another App; None is the forge's own, whose webhooks these are.
    app: str | None = None


@dataclass(frozen=True, slots=True)
class CheckRun:
    id: int
    repository: str
    suite: int
    name: str
    head_sha: str
    status: str
    started_at: str
    conclusion: str | None = None
    completed_at: str | None = None
    external_id: str = ""
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)
    actions: list[dict[str, str]] = field(default_factory=list)
    #: As of its suite.
    app: str | None = None


@dataclass(frozen=True, slots=True)
class PullRequest:
    id: int
    repository: str
    number: int
    title: str
    body: str | None
    user: str
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    created_at: str
    updated_at: str
    state: str = "open"
    closed_at: str | None = None
    merged_at: str | None = None
    merged_by: str | None = None
    merge_commit_sha: str | None = None
    draft: bool = False
    #: The fork that the head branch is in; None is the repository itself.
    fork: str | None = None

    @property
    def head_repository(self) -> str:
        return self.fork or self.repository


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue that is no pull request; both share their numbers."""

    id: int
    repository: str
    number: int
    title: str
    body: str | None
    user: str
    created_at: str
    updated_at: str
    state: str = "open"
    closed_at: str | None = None
    by_app: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    id: int
    repository: str
    number: int
    user: str
    body: str
    created_at: str
    updated_at: str
    by_app: bool = False


@dataclass(frozen=True, slots=True)
class Reaction:
    id: int
    repository: str
    comment: int
    user: str
    content: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Review:
    """A review of a pull request: ``state`` is APPROVED, CHANGES_REQUESTED, COMMENTED or DISMISSED."""

    id: int
    repository: str
    number: int
    user: str
    state: str
    body: str
    sha: str
    submitted_at: str


@dataclass(frozen=True, slots=True)
class Protection:
    """What a branch asks of a merge: approving reviews by people who may write, and checks or statuses by name."""

    id: int
    repository: str
    branch: str
    approvals: int = 0
    contexts: list[str] = field(default_factory=list)
    #: Nobody moves it.
    locked: bool = False


@dataclass(frozen=True, slots=True)
class CommitStatus:
    id: int
    repository: str
    sha: str
    state: str
    context: str
    creator: str
    created_at: str
    description: str | None = None
    target_url: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One sending of a webhook. ``duration`` is in seconds; ``status_code`` 0 means that nobody answered."""

    id: int
    repository: str
    guid: str
    event: str
    action: str | None
    installation: int | None
    repository_id: int | None
    url: str
    request_headers: dict[str, str]
    payload: str
    delivered_at: str
    redelivery: bool = False
    status: str = "pending"
    status_code: int = 0
    duration: float = 0.0
    response_headers: dict[str, str] = field(default_factory=dict)
    response: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was given out: ``digest`` is its SHA-256. ``repositories`` None means all of the owner's."""

    id: int
    repository: str
    digest: str
    kind: str
    holder: str
    expires_at: str
    permissions: dict[str, str] = field(default_factory=dict)
    repositories: list[str] | None = None
