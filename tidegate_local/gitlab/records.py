"""What a local GitLab remembers. Times are ISO 8601 with ``Z``; ``repository`` is a project's full path."""

from __future__ import annotations

from dataclasses import dataclass, field

DRAFT = "Draft: "


@dataclass(frozen=True, slots=True)
class User:
    id: int
    username: str
    name: str
    bot: bool = False
    repository: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A group by its full path; ``user`` says that it is a person's own namespace."""

    id: int
    path: str
    created_at: str
    user: str | None = None
    repository: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody's access level in the group or project with a full path; 0 takes away what they had by default."""

    id: int
    path: str
    user: str
    access_level: int
    created_at: str
    repository: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """A project. ``merge_method`` is merge or ff; ``approvals`` is how many a merge asks for."""

    id: int
    repository: str
    default_branch: str
    created_at: str
    last_activity_at: str
    visibility: str = "private"
    forked_from: str | None = None
    merge_method: str = "merge"
    approvals: int = 0
    reset_approvals: bool = False
    only_green: bool = False
    #: Who may push to the default branch, as an access level; 0 is nobody.
    push_level: int = 40

    @property
    def name(self) -> str:
        return self.repository.rpartition("/")[2]

    @property
    def namespace(self) -> str:
        return self.repository.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Hook:
    """A project's own webhook."""

    id: int
    repository: str
    url: str
    token: str
    created_at: str
    push_events: bool = True
    merge_requests_events: bool = False
    note_events: bool = False
    pipeline_events: bool = False
    job_events: bool = False
    push_events_branch_filter: str = ""


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """A merge request of the project ``repository``; ``source`` is the path of the project that it comes from."""

    id: int
    repository: str
    iid: int
    source: str
    source_branch: str
    target_branch: str
    title: str
    description: str
    author: str
    head_sha: str
    base_sha: str
    start_sha: str
    created_at: str
    updated_at: str
    state: str = "opened"
    squash: bool = False
    remove_source_branch: bool = False
    merged_by: str | None = None
    merged_at: str | None = None
    closed_by: str | None = None
    closed_at: str | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None

    @property
    def draft(self) -> bool:
        return self.title.lower().startswith(("draft:", "[draft]", "(draft)"))


@dataclass(frozen=True, slots=True)
class Version:
    """What a merge request showed after a push."""

    id: int
    repository: str
    iid: int
    head_sha: str
    base_sha: str
    start_sha: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Approval:
    id: int
    repository: str
    iid: int
    user: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Note:
    id: int
    repository: str
    iid: int
    author: str
    body: str
    created_at: str
    updated_at: str
    system: bool = False


@dataclass(frozen=True, slots=True)
class PushEvent:
    """A push in a project's list of what happened; of one that moved many refs GitLab keeps only how many."""

    id: int
    repository: str
    user: str
    ref: str | None
    before: str | None
    after: str | None
    created_at: str
    refs: int | None = None


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue; its number ``iid`` has nothing to do with those of merge requests."""

    id: int
    repository: str
    iid: int
    author: str
    title: str
    description: str
    created_at: str
    updated_at: str
    state: str = "opened"
    closed_by: str | None = None
    closed_at: str | None = None


@dataclass(frozen=True, slots=True)
class Award:
    id: int
    repository: str
    note: int
    user: str
    name: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    id: int
    repository: str
    iid: int
    sha: str
    ref: str
    user: str
    created_at: str
    source: str = "external"


@dataclass(frozen=True, slots=True)
class Status:
    """A status of a commit, which GitLab holds as a job of a pipeline; ``job`` is one that GitLab itself runs."""

    id: int
    repository: str
    pipeline: int
    sha: str
    ref: str
    name: str
    user: str
    status: str
    created_at: str
    updated_at: str
    description: str | None = None
    target_url: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    retried: bool = False
    job: bool = False
    failure_reason: str | None = None


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token that was given out, by its SHA-256; ``purpose`` is oauth or personal."""

    id: int
    digest: str
    purpose: str
    user: str
    scopes: list[str]
    created_at: str
    expires_at: str | None = None
    repository: str = field(default="")
