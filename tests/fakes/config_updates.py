"""The records of config repositories, and branches at the VCS provider, in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tidegate.config_updates.rules.ci_token import InvalidCiToken
from tidegate.config_updates.rules.entry import UpdateEntry
from tidegate.config_updates.rules.environment import EnvironmentState
from tidegate.config_updates.rules.promotion import Promotion, Stage
from tidegate.config_updates.rules.queue import UpdateHead
from tidegate.config_updates.rules.replay import NewCommits
from tidegate.config_updates.rules.status import StatusRefused
from tidegate.ports import Moved
from tidegate.rules.errors import Conflict, NotFound
from tidegate.vcs.rules.check_report import CheckReport


class MemoryConfigUpdates:
    """The port ``ConfigUpdateStore``."""

    def __init__(self) -> None:
        self._heads: dict[str, UpdateHead] = {}
        self._entries: dict[tuple[str, str], UpdateEntry] = {}
        self._ended: list[UpdateEntry] = []
        self._environments: dict[tuple[str, str, str], EnvironmentState] = {}
        self._promotions: dict[tuple[str, str, int], Promotion] = {}
        self._tokens: dict[tuple[str, str, str], str] = {}
        self._files: dict[str, tuple[str, bytes]] = {}

    def head(self, repository: str) -> UpdateHead:
        return self._heads.get(repository, UpdateHead(repository))

    def commit(
        self,
        before: UpdateHead,
        after: UpdateHead,
        entries: Sequence[UpdateEntry] = (),
        environments: Sequence[EnvironmentState] = (),
    ) -> UpdateHead:
        _unchanged(self.head(before.repository).version, before.version)
        for state in environments:
            _unchanged(self.environment(state.repository, state.image_set, state.name).version, state.version)
        for state in environments:
            self.save_environment(state)
        for entry in entries:
            self._entries[entry.repository, entry.id] = entry
            if entry.ended_at:
                self._ended.append(entry)
        saved = replace(after, version=before.version + 1)
        self._heads[before.repository] = saved
        return saved

    def repositories(self) -> Iterable[str]:
        return list(self._heads)

    def entry(self, repository: str, entry: str) -> UpdateEntry:
        try:
            return self._entries[repository, entry]
        except KeyError:
            raise NotFound("entry", entry) from None

    def entries(self, repository: str, entries: Collection[str]) -> Mapping[str, UpdateEntry]:
        return {each: self._entries[repository, each] for each in entries if (repository, each) in self._entries}

    def history(self, repository: str, limit: int, before: datetime | None = None) -> Sequence[UpdateEntry]:
        of_it = [each for each in self._ended if each.repository == repository and each.ended_at]
        dated = [(each.ended_at, each) for each in of_it if each.ended_at]
        newest = sorted(dated, key=lambda pair: (pair[0], pair[1].id), reverse=True)
        return [each for at, each in newest if before is None or at < before][:limit]

    def environment(self, repository: str, image_set: str, name: str) -> EnvironmentState:
        known = self._environments.get((repository, image_set, name))
        return known or EnvironmentState(repository, image_set, name)

    def environments(self, repository: str) -> Sequence[EnvironmentState]:
        return [self._environments[key] for key in sorted(self._environments) if key[0] == repository]

    def save_environment(self, state: EnvironmentState) -> EnvironmentState:
        key = state.repository, state.image_set, state.name
        _unchanged(self.environment(*key).version, state.version)
        saved = self._environments[key] = replace(state, version=state.version + 1)
        return saved

    def promotion(self, repository: str, entry: str, attempt: int) -> Promotion | None:
        return self._promotions.get((repository, entry, attempt))

    def save_promotion(self, promotion: Promotion) -> Promotion:
        key = promotion.repository, promotion.entry, promotion.attempt
        known = self._promotions.get(key)
        _unchanged(known.version if known else 0, promotion.version)
        if known and known.stage is Stage.ENDED:
            raise Conflict("an ended promotion")
        saved = self._promotions[key] = replace(promotion, version=promotion.version + 1)
        return saved

    def open_promotions(self, repository: str) -> Sequence[Promotion]:
        of_it = (self._promotions[key] for key in sorted(self._promotions) if key[0] == repository)
        return [each for each in of_it if each.stage is not Stage.ENDED]

    def keep_target_token(self, repository: str, image_set: str, target: str, digest: str, by: str) -> None:
        self._tokens[repository, image_set, target] = digest

    def target_token(self, repository: str, image_set: str, target: str) -> str:
        return self._tokens.get((repository, image_set, target), "")

    def keep_configuration(self, repository: str, commit: str, content: bytes) -> None:
        self._files[repository] = commit, content

    def configuration(self, repository: str, commit: str) -> bytes | None:
        known = self._files.get(repository)
        return known[1] if known and known[0] == commit else None


def _unchanged(stored: int, version: int) -> None:
    if stored != version:
        raise Conflict(f"version {stored}, not {version}")


@dataclass
class MemoryConfigBranches:
    """The ports ``ConfigBranches`` and ``BranchMover`` on branches, files and reports that a test sets.

    ``moves`` are all attempts to move a branch, ``refuse`` the provider's reason to move none. ``parents`` are those of
    commits, by which ancestors are known. ``takes_requests`` is the answer to requests of checks.
    """

    heads: dict[str, str] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    reports: dict[str, list[CheckReport]] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)
    takes_requests: bool = True
    moves: list[tuple[str, str, str]] = field(default_factory=list)
    refuse: str = ""

    def branch_heads(self, repository: str, branches: Sequence[str]) -> Mapping[str, str]:
        return {each: self.heads[each] for each in branches if each in self.heads}

    def check_reports(
        self, repository: str, branch: str, commits: Sequence[str]
    ) -> Mapping[str, Sequence[CheckReport]]:
        return {each: self.reports.get(each, []) for each in commits}

    def file_content(self, repository: str, commit: str, path: str) -> bytes | None:
        return self.files.get((commit, path))

    def request_check(self, repository: str, report: CheckReport) -> bool:
        self.requested.append(report.name)
        return self.takes_requests

    def write_token(self, repository: str) -> str:
        return "may-write"

    def move(self, repository: str, branch: str, old: str, new: str) -> Moved:
        self.moves.append((branch, old, new))
        at = self.heads.get(branch, "")
        if at == new:
            return Moved(done=True, at=at)
        if at != old or self.refuse:
            return Moved(done=False, at=at, reason=self.refuse if at == old else "")
        self.heads[branch] = new
        return Moved(done=True, at=new)

    def push(self, repository: str, branch: str, old: str, new: NewCommits, bundle: bytes) -> Moved:
        return self.move(repository, branch, old, new.tip)


@dataclass
class MemoryTargetStatuses:
    """The port ``TargetStatuses``: what URLs answer; others do not. ``asked`` are those that were read."""

    answers: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def read(self, url: str) -> bytes:
        self.asked.append(url)
        if url not in self.answers:
            raise StatusRefused(f"{url} did not answer.")
        return self.answers[url]


@dataclass
class MemoryCiTokens:
    """The port ``CiTokens``: the claims of tokens by these."""

    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    gitlab: bool = False

    def claims(self, token: str) -> Mapping[str, Any]:
        if token not in self.tokens:
            raise InvalidCiToken("it is unknown")
        return self.tokens[token]


@dataclass
class MemoryUpdateWorkflows:
    """The port ``UpdateWorkflows``: what was started, in order, and how executions ended."""

    workers: list[tuple[str, str]] = field(default_factory=list)
    promotions: list[tuple[str, str, str, int]] = field(default_factory=list)
    endings: dict[str, str] = field(default_factory=dict)

    def start_worker(self, execution: str, repository: str) -> None:
        if (execution, repository) not in self.workers:
            self.workers.append((execution, repository))

    def worker_ending(self, execution: str) -> str | None:
        if execution not in {name for name, _ in self.workers}:
            raise NotFound("execution", execution)
        return self.endings.get(execution)

    def start_promotion(self, execution: str, repository: str, entry: str, attempt: int) -> None:
        if (execution, repository, entry, attempt) not in self.promotions:
            self.promotions.append((execution, repository, entry, attempt))

    def promotion_ending(self, execution: str) -> str | None:
        if execution not in {name for name, *_ in self.promotions}:
            raise NotFound("execution", execution)
        return self.endings.get(execution)
