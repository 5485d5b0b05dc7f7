"""What use cases need from the world, in the domain's words. Adapters fulfil these.

Every method may raise what its adapter's service raises when that service is down; what is named
below is what callers are meant to handle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # Every function imports this module, and the webhook's start counts.
    from tidegate.domain.audit import AuditMessage
    from tidegate.domain.check_run import CheckRun
    from tidegate.domain.deployment import Deployment
    from tidegate.domain.deployment_summary import DeploymentSummary
    from tidegate.domain.job import Job, TakenJob
    from tidegate.domain.line import Shown
    from tidegate.domain.permission import Permission
    from tidegate.domain.pull_request import PullRequest, PullRequestReview
    from tidegate.domain.queue import QueueHead, Waiting
    from tidegate.domain.revision import Comparison


@dataclass(frozen=True, slots=True)
class Delivery:
    """A stored webhook delivery: the event's kind and the few fields of it that are used."""

    id: str
    event: str
    fields: Mapping[str, Any]
    received_at: str


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """What became of a delivery, in sentences, and the deployments that it asked for (by id)."""

    text: str
    deployments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PublishedCheckRun:
    """The check run on the forge that shows a deployment now, and what it shows.

    ``closed`` tells that the forge shows it as completed: to show progress again, a new one is made.
    ``digest`` is of all that it shows, and ``repeated_by`` the deployment that runs this one again.
    """

    deployment: str
    id: int
    shown_version: int
    closed: bool
    digest: str = ""
    repeated_by: str = ""


@dataclass(frozen=True, slots=True)
class LineBoard:
    """What check runs were asked to show of a queue's line, by deployment, and when somebody looks at it again."""

    shown: Mapping[str, Shown]
    again: str = ""


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Consecutive lines of a job's log. ``position`` is the number of its first line, from 0."""

    position: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectStart:
    """The first bytes of a stored object, and of the whole the size in bytes and the SHA-256 in hexadecimal."""

    content: bytes
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs between two commits: its content's id before and after, None where it is not.

    A renamed file is two changes. Bytes of a path that are not UTF-8 are lone surrogates.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """Commits of a branch: the commit that they come after, and the logins of their authors, each once."""

    after: str
    authors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownRepository:
    """A repository that Tidegate was told of: where its App is installed, and the newest commit it was told of.

    ``seen_at`` is when that was (ISO 8601 in UTC).
    """

    name: str
    installation: int
    default_branch: str
    seen: str
    seen_at: str


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Deployments, newest first, and what to ask the next page with (None: there is none)."""

    deployments: tuple[DeploymentSummary, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A webhook delivery of the App that the forge could not hand over: its number and its GUID."""

    id: int
    guid: str
    event: str
    at: str


@dataclass(frozen=True, slots=True)
class Asked:
    """How often the forge was asked to deliver a webhook once more, and when last (ISO 8601 in UTC)."""

    times: int
    at: str


class Clock(Protocol):
    def now(self) -> str:
        """Return the time, ISO 8601 in UTC with microseconds and ``+00:00``."""


class DeployQueues(Protocol):
    """The deploy queues. A head that was never written reads as version 0."""

    def enqueue(self, deployment: Deployment) -> bool:
        """Store the deployment, put it in line and raise the head's version, all or nothing.

        Return False, and change nothing, when a deployment with this id was stored before.
        """

    def read(self, queue: str) -> tuple[QueueHead, Waiting | None]:
        """Return the head and the first in line, consistently."""

    def read_with(self, queue: str, deployment: str) -> tuple[QueueHead, Deployment]:
        """Return the head and a deployment's record as they are at one moment. Raise NotFound, or Conflict."""

    def waiting(self, queue: str) -> Sequence[Waiting]:
        """Return all that are in line, first first."""

    def line(self, queue: str) -> tuple[QueueHead, Sequence[Waiting]]:
        """Return the head and all that are in line, first first, in one read."""

    def commit(
        self,
        before: QueueHead,
        after: QueueHead,
        *,
        take: Waiting | None = None,
        put_back: Waiting | None = None,
        deployment: Deployment | None = None,
    ) -> QueueHead:
        """Replace the head if it still has ``before``'s version, and return it with its new version.

        In the same transaction ``take`` leaves the line, ``put_back`` returns to it, and
        ``deployment`` is saved as ``Deployments.save`` does. Raise Conflict when anything of it changed.
        """

    def unfinished(self) -> Iterable[str]:
        """Return the queues with waiting deployments or one in flight (for the reconciler)."""


class Deployments(Protocol):
    def get(self, deployment: str) -> Deployment:
        """Return the record. Raise NotFound."""

    def save(self, deployment: Deployment) -> Deployment:
        """Replace the record if it still has this ``version``; return it with its new version.

        Raise Conflict when it changed.
        """

    def many(self, deployments: Collection[str]) -> Mapping[str, Deployment]:
        """Return the records of those that exist, by id, in one read for each hundred."""

    def unshown(self) -> Iterable[str]:
        """Return the deployments that have not ended, or whose end is not shown yet (for the reconciler)."""

    def shown(self, deployment: str) -> None:
        """Remember that the deployment's end is shown: ``unshown`` leaves it out from now on."""

    def keep_review_token(self, deployment: str, review: str, token: str) -> None:
        """Keep the task token that waits for ``review``; replaces the token of an earlier attempt."""

    def review_token(self, deployment: str, review: str) -> str:
        """Return the token that waits for ``review``. Raise NotFound."""


class Catalog(Protocol):
    """What there is to look at: repositories, their roots, and the deployments of each, newest first."""

    def remember(self, repository: KnownRepository) -> None:
        """Store what is known of a repository; what was told later (``seen_at``) stands."""

    def repositories(self) -> Sequence[KnownRepository]:
        """Return all repositories by name."""

    def repository(self, name: str) -> KnownRepository:
        """Return one repository. Raise NotFound."""

    def roots(self, repository: str) -> Sequence[QueueHead]:
        """Return the heads of all queues of a repository, by root name. It may be behind by a second."""

    def of_queue(self, queue: str, limit: int, after: str | None = None) -> HistoryPage:
        """Return deployments of one root. ``after`` is a page's ``next``; one that is not raises NotFound."""

    def of_repository(self, repository: str, limit: int, after: str | None = None) -> HistoryPage:
        """Return deployments of all roots of a repository. ``after`` is a page's ``next``."""


class CheckRuns(Protocol):
    """Which check run shows which deployment."""

    def published(self, deployment: str) -> PublishedCheckRun | None:
        """Return what is shown, or None when nothing was shown yet."""

    def remember(self, published: PublishedCheckRun) -> None:
        """Store what is shown now."""

    def many(self, deployments: Collection[str]) -> Mapping[str, PublishedCheckRun]:
        """Return what is shown of each of these of which anything is, by deployment, in one read for each hundred."""


class LineBoards(Protocol):
    """What the check runs of a queue were asked to show of its line."""

    def read(self, queue: str) -> LineBoard:
        """Return all of a queue, in one read."""

    def shown(self, queue: str, deployment: str) -> Shown | None:
        """Return what one check run was asked to show."""

    def write(self, queue: str, shown: Mapping[str, Shown], gone: Collection[str]) -> None:
        """Store what these deployments' check runs were asked to show, and forget those that are gone."""

    def expect(self, queue: str, again: str) -> None:
        """Remember when somebody looks at the line again (ISO 8601 in UTC)."""


class Jobs(Protocol):
    def create(self, job: Job) -> None:
        """Store the job. Creating it again with the same content changes nothing."""

    def get(self, job: str) -> Job:
        """Return the job. Raise NotFound."""

    def hand_over(self, job: str, token: str, clone_token: str) -> bool:
        """Leave the tokens for the runner. Return False when a runner has taken the job, or it is closed."""

    def take(self, job: str, runner: str) -> TakenJob | None:
        """Take the job for ``runner`` (a task ARN), once and for all; None while nothing was handed over.

        Raise ApplyAlreadyStarted when another runner has taken it, or it was closed.
        """

    def token(self, job: str) -> str | None:
        """Return the task token that waits for the job's result, if one was handed over."""

    def runner(self, job: str) -> str | None:
        """Return the runner that took the job (as it gave itself to ``take``), if one did."""

    def close(self, job: str) -> bool:
        """Make sure that nobody takes the job any more. Return whether a runner had taken it."""


class JobLogs(Protocol):
    """The lines of running jobs. They expire a day after they were written."""

    def append(self, job: str, chunk: LogChunk) -> None:
        """Store lines at their position. The same chunk again changes nothing."""

    def read(self, job: str, position: int, limit: int | None = None) -> Sequence[LogChunk]:
        """Return the stored chunks that begin at ``position`` or later, at most the first ``limit`` of them."""


class Deliveries(Protocol):
    def store(self, delivery: Delivery) -> bool:
        """Store a delivery. Return False, and change nothing, when its id was stored before."""

    def get(self, delivery: str) -> Delivery:
        """Return a stored delivery. Raise NotFound."""

    def is_queued(self, delivery: str) -> bool:
        """Tell whether the delivery was put on its event queue."""

    def mark_queued(self, delivery: str) -> None:
        """Remember that the delivery is on its event queue."""

    def unqueued(self, before: str) -> Iterable[Delivery]:
        """Return deliveries that were received before ``before`` and never queued (for the reconciler)."""

    def conclude(self, delivery: str, outcome: str, deployments: Sequence[str] = ()) -> None:
        """Remember what became of the delivery, in sentences, and the ids of the deployments that it asked for.

        The last one stands. Raise NotFound.
        """

    def outcome(self, delivery: str) -> DeliveryOutcome | None:
        """Return what became of the delivery, None while it is not done. Raise NotFound."""

    def bind(self, delivery: str, commit: str) -> str:
        """Bind the delivery to a commit, once and for all; return the one that it is bound to. Raise NotFound."""


class WebhookSecrets(Protocol):
    """The secrets that webhooks may be signed with; more than one while they are rotated."""

    def current(self) -> tuple[str, ...]:
        """Return the secrets as read some minutes ago at most; none when none is configured."""

    def refreshed(self) -> tuple[str, ...]:
        """Return the secrets as they are now, or ``current()`` when they were read a moment ago."""


class EventQueue(Protocol):
    def send(self, delivery: Delivery) -> None:
        """Put the delivery on the queue of its kind of event."""


class Announcements(Protocol):
    """Telling others that a deployment changed. At least once, newest state wins."""

    def changed(self, deployment: Deployment) -> None:
        """Put the state on the event bus and ask for the check run to be brought up to date."""

    def refresh(self, deployment: str) -> None:
        """Ask for the check run to be brought up to date."""

    def place_changed(self, deployment: str) -> None:
        """Ask for the check run of one that waits to be brought up to date, if it looks otherwise by now."""

    def repeated(self, deployment: str, by: str) -> None:
        """Ask for the check run to say that another deployment runs this one again."""

    def line_changed(self, queue: str) -> None:
        """Ask for the check runs of all that wait in a queue to be brought up to date, soon and once for many asks."""

    def line_later(self, queue: str, seconds: int) -> None:
        """Ask for that once ``seconds`` have passed; at most a quarter of an hour."""


class AuditLog(Protocol):
    def publish(self, message: AuditMessage) -> None:
        """Publish to the audit topic. The same event again is one message. Raise AuditUnavailable."""


class Workflows(Protocol):
    def start_deploy(self, execution: str, queue: str) -> None:
        """Start the deploy machine under this execution name. Started before is success."""

    def ending(self, execution: str) -> str | None:
        """Return how a deploy execution ended, in Step Functions' word; None while it runs.

        Raise NotFound when there is none of this name (any more: they are kept for 90 days).
        """

    def settle(self, token: str, output: Mapping[str, Any]) -> None:
        """Answer a task token. Raise TooLate when nobody waits for it any more."""

    def fail(self, token: str, error: str, cause: str) -> None:
        """Fail a task token. Raise TooLate when nobody waits for it any more."""


class ForgeAddresses(Protocol):
    """Where things are on the forge."""

    def check_run_url(self, repository: str, check_run_id: int) -> str:
        """Return the address of a check run's page."""

    def clone_url(self, repository: str) -> str:
        """Return the repository's HTTPS address for git."""


class Forge(ForgeAddresses, Protocol):
    """The forge's API for one repository at a time. Raises ForgeUnavailable and ForgeRefused."""

    def compare(self, installation: int, repository: str, base: str, head: str) -> Comparison:
        """Tell how ``head`` relates to ``base``."""

    def change(self, installation: int, repository: str, base: str, head: str) -> Change:
        """Return what ``head`` changes that ``base`` (branches or commits) does not have.

        Raise NotFound when they have no commit in common.
        """

    def may_write(self, installation: int, repository: str, user: str) -> bool:
        """Tell whether ``user`` has write permission on the repository."""

    def permission(self, installation: int, repository: str, user: str) -> Permission:
        """Return what ``user`` may do in the repository; NONE also when there is no such user."""

    def branch_head(self, installation: int, repository: str, branch: str) -> str:
        """Return the commit that a branch is at. Raise NotFound when there is no such branch."""

    def default_branch(self, installation: int, repository: str) -> str:
        """Return the name of the default branch."""

    def pull_request(self, installation: int, repository: str, number: int) -> PullRequest:
        """Return a pull request as it is now. Raise NotFound."""

    def reviews(self, installation: int, repository: str, number: int) -> Sequence[PullRequestReview]:
        """Return the reviews of a pull request, oldest first."""

    def comment(self, installation: int, repository: str, number: int, text: str) -> None:
        """Write a comment (Markdown) under a pull request."""

    def react(self, installation: int, repository: str, comment: int, reaction: str) -> None:
        """Put a reaction (GitHub's word, such as ``eyes`` or ``rocket``) on a comment."""

    def is_team_member(self, installation: int, organization: str, team: str, user: str) -> bool:
        """Tell whether ``user`` is an active member of a team (its slug) of the organization."""

    def create_check_run(self, installation: int, repository: str, check_run: CheckRun) -> int:
        """Create a check run and return its id."""

    def update_check_run(self, installation: int, repository: str, check_run_id: int, check_run: CheckRun) -> None:
        """Replace what a check run shows."""

    def find_check_run(self, installation: int, repository: str, sha: str, external_id: str) -> int | None:
        """Return the id of the newest check run with this external id, if there is one."""

    def commit_check_runs(self, installation: int, repository: str, sha: str) -> Mapping[int, str]:
        """Return the external ids of all check runs of our App on a commit, by their own ids."""

    def clone_token(self, installation: int, repository: str) -> str:
        """Return a token that can read this repository's contents, and nothing else, for an hour."""


class ForgeDeliveries(Protocol):
    """The App's own webhook deliveries, as the forge recorded them."""

    def failed(self, since: str) -> Sequence[FailedDelivery]:
        """Return deliveries since then (ISO 8601) of which no attempt has succeeded."""

    def redeliver(self, delivery: int) -> None:
        """Ask the forge to deliver once more."""


class Redeliveries(Protocol):
    """Which webhooks the forge was asked to deliver once more, by GUID; for a week."""

    def asked(self, guid: str) -> Asked | None:
        """Return how often and when, or None when it was not."""

    def remember(self, guid: str, asked: Asked) -> None:
        """Replace what is remembered."""


class Accounts(Protocol):
    """Who somebody is at the forge."""

    def login_of(self, token: str) -> str | None:
        """Return the login of a token's owner; None for a token that is not valid."""

    def exchange(self, code: str, redirect_uri: str) -> str | None:
        """Return the token that an OAuth code stands for; None for a code that is not valid."""

    def authorize_url(self, state: str, redirect_uri: str) -> str:
        """Return the address where a person signs in."""


class PushedTrees(Protocol):
    """What a push changed. When the commit before it is not known any more, every file counts as new."""

    @property
    def files(self) -> Mapping[str, str]:
        """All files after the push: path to the id of its content."""

    @property
    def changes(self) -> Sequence[FileChange]:
        """All files that differ, however many."""

    @property
    def before_is_known(self) -> bool:
        """Whether ``changes`` compares with the commit before the push."""

    def read(self, contents: Collection[str]) -> Mapping[str, bytes]:
        """Return contents by id, fetched in one request. What is larger than 1 MiB is returned empty."""


class SourceHistory(Protocol):
    def fetch(self, url: str, token: str, before: str, after: str) -> AbstractContextManager[PushedTrees]:
        """Fetch two commits of the repository at ``url``.

        Raise NotFound when the forge does not have ``after``, ForgeUnavailable and ForgeRefused.
        """


class Artifacts(Protocol):
    def get(self, key: str) -> bytes:
        """Return a stored object. Raise NotFound."""

    def get_start(self, key: str, size: int) -> ObjectStart:
        """Return at most the first ``size`` bytes of a stored object. Raise NotFound."""

    def put(self, key: str, content: bytes) -> None:
        """Store an object."""
