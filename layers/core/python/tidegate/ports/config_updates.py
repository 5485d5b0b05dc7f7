"""Config updates: the queues of config repositories with their records, and branches at the VCS provider."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.config_updates.rules.entry import UpdateEntry
    from tidegate.config_updates.rules.environment import EnvironmentState
    from tidegate.config_updates.rules.promotion import Promotion
    from tidegate.config_updates.rules.queue import UpdateHead
    from tidegate.config_updates.rules.replay import NewCommits, Replay, Replayed
    from tidegate.plans.rules.plan import Artifact
    from tidegate.vcs.rules.check_report import CheckReport


class ConfigUpdateStore(Protocol):
    """The records of config repositories. An unwritten head, environment or promotion has version 0."""

    def head(self, repository: str) -> UpdateHead:
        """Return a queue's head, consistently."""

    def commit(
        self,
        before: UpdateHead,
        after: UpdateHead,
        entries: Sequence[UpdateEntry] = (),
        environments: Sequence[EnvironmentState] = (),
    ) -> UpdateHead:
        """Replace the head if it still has ``before``'s version, and return it with its new version.

        ``entries`` and ``environments`` are saved with it. Raise Conflict if the head or an environment has changed.
        If there are more than one transaction takes, the head is replaced last, so that a caller that dies repeats it.
        """

    def repositories(self) -> Iterable[str]:
        """Return the repositories that have a queue. May be stale by a second."""

    def entry(self, repository: str, entry: str) -> UpdateEntry:
        """Return an entry. Raise NotFound. Ended entries are kept for a year."""

    def entries(self, repository: str, entries: Collection[str]) -> Mapping[str, UpdateEntry]:
        """Return the existing entries by id, in one read for each hundred."""

    def history(self, repository: str, limit: int, before: datetime | None = None) -> Sequence[UpdateEntry]:
        """Return entries that have ended, the newest first."""

    def environment(self, repository: str, image_set: str, name: str) -> EnvironmentState:
        """Return what is known of an environment, consistently."""

    def environments(self, repository: str) -> Sequence[EnvironmentState]:
        """Return what is known of all environments, consistently."""

    def save_environment(self, state: EnvironmentState) -> EnvironmentState:
        """Replace an environment's state if it still has this version; return it with its new one. Raise Conflict."""

    def promotion(self, repository: str, entry: str, attempt: int) -> Promotion | None:
        """Return a promotion, consistently; None if there is none."""

    def save_promotion(self, promotion: Promotion) -> Promotion:
        """Replace a promotion if it still has this version; return it with its new one. Raise Conflict.

        One that has ended does not change any more.
        """

    def open_promotions(self, repository: str) -> Sequence[Promotion]:
        """Return the promotions that have not ended."""

    def keep_target_token(self, repository: str, image_set: str, target: str, digest: str, by: str) -> None:
        """Store the SHA-256 of a target's token in hexadecimal; it replaces the one before."""

    def target_token(self, repository: str, image_set: str, target: str) -> str:
        """Return the stored digest of a target's token, empty if there is none."""

    def keep_configuration(self, repository: str, commit: str, content: bytes) -> None:
        """Store a commit's ``tidegate.yaml`` in place of an earlier one, unless it is larger than 256 KiB."""

    def configuration(self, repository: str, commit: str) -> bytes | None:
        """Return the stored file if it is that of this commit."""


class ConfigBranches(Protocol):
    """Branches, files and checks of config repositories. Raises ForgeUnavailable and ForgeRefused."""

    def branch_heads(self, repository: str, branches: Sequence[str]) -> Mapping[str, str]:
        """Return the head commits of the existing ones of these branches, in one call where the provider can."""

    def check_reports(
        self, repository: str, branch: str, commits: Sequence[str]
    ) -> Mapping[str, Sequence[CheckReport]]:
        """Return what commit statuses and check runs say of commits of a branch; on GitHub in a call for each 50.

        On GitLab, jobs count of this branch only: who may push can run them for another one, with variables of theirs.
        """

    def file_content(self, repository: str, commit: str, path: str) -> bytes | None:
        """Return a file of a commit; None if there is no such commit or file, or it is no plain file."""

    def request_check(self, repository: str, report: CheckReport) -> bool:
        """Request a check again that ended without a result. Return False if the provider does not take that."""

    def write_token(self, repository: str) -> str:
        """Return a token that may write this repository's contents, for an hour. Raise AppLacksPermission."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Whether a branch moved; if not, ``at`` is where it is ("" for nowhere), ``reason`` the provider's, if it refused.

    A branch that is elsewhere than expected has no ``reason``: read it and decide again.
    """

    done: bool
    at: str
    reason: str = ""


class BranchMover(Protocol):
    """Moves branches to commits, each only from where it was expected. Raises ForgeUnavailable."""

    def move(self, repository: str, branch: str, old: str, new: str) -> Moved:
        """Move a branch to a commit that the provider has. ``old`` is empty for a branch that must not exist.

        Whatever the answer was, the result tells where the branch is afterwards.
        """

    def push(self, repository: str, branch: str, old: str, new: NewCommits, bundle: bytes) -> Moved:
        """Move a branch to new commits, after checking that git's bundle holds exactly these.

        Raise UnexpectedCommits for a bundle with anything else.
        """


class Replays(Protocol):
    """What runners are asked to make, and what they made."""

    def keep_order(self, job: str, order: Replay) -> Artifact:
        """Store what a job is to replay, and return where."""

    def result(self, job: str, sha256: str) -> Replayed | None:
        """Return what became of it, None if what is stored has another SHA-256. Raise NotFound if nothing is."""

    def bundle(self, job: str) -> bytes:
        """Return the new commits as git's bundle. Raise NotFound."""


class TargetStatuses(Protocol):
    """Status URLs of targets."""

    def read(self, url: str) -> bytes:
        """Return what an https URL answers, at most 64 KiB, within seconds. Raise StatusRefused."""


class UpdateWorkflows(Protocol):
    """Executions of the machines ``config-update`` and ``promotion``. An existing one counts as started."""

    def start_worker(self, execution: str, repository: str) -> None:
        """Start the worker of a config repository."""

    def worker_ending(self, execution: str) -> str | None:
        """Return a worker's final status in Step Functions; None while it runs. Raise NotFound if there is none."""

    def start_promotion(self, execution: str, repository: str, entry: str, attempt: int) -> None:
        """Start the promotion of one attempt of an entry."""

    def promotion_ending(self, execution: str) -> str | None:
        """Return a promotion's final status, as ``worker_ending`` does."""


class CiTokens(Protocol):
    """Tokens of CI runs. ``gitlab`` tells whose claims they have: GitLab's, or GitHub's."""

    @property
    def gitlab(self) -> bool:
        """Whether GitLab issues them."""

    def claims(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token that the provider issued for this installation, and that has not expired.

        Raise InvalidCiToken, ForgeUnavailable.
        """
