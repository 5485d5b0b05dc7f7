"""What happened, as anybody outside of Tidegate could have seen it. All times are seconds since the epoch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its parents, and for each root the mark that its module has there."""

    sha: str
    parents: tuple[str, ...]
    marks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Push:
    """The default branch went from one commit to another. ``before`` is None for the first push."""

    at: float
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Check:
    """A check run of a root as the forge shows it in the end. ``deployment`` is its external id.

    ``begun`` is when it says that the deployment began.
    """

    id: int
    sha: str
    root: str
    deployment: str
    status: str
    conclusion: str | None
    title: str
    url: str = ""
    begun: float | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody did: ``what`` is Confirm, Reject or Unlock; ``allowed`` tells whether they may write."""

    at: float
    by: str
    what: str
    root: str
    deployment: str
    allowed: bool = True


@dataclass(frozen=True, slots=True)
class Audit:
    """A message of the audit topic. Those in a history stand in the order in which they arrived."""

    state: str
    event: str
    deployment: str
    root: str
    revision: str = ""
    trigger: str = ""
    plan: str | None = None
    approved_by: str | None = None
    started: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class StateVersion:
    """A stored version of a root's Terraform state; ``mark`` is None when it holds no record. Oldest first."""

    root: str
    at: float
    lineage: str
    serial: int
    mark: str | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What an engine did to the world: it began to put a root to a mark, or it came to the end of that."""

    root: str
    mark: str
    what: str
    at: float


@dataclass(frozen=True, slots=True)
class History:
    """Everything that the checker looks at. ``writers`` are those who may decide about deployments.

    ``unreviewed`` are the roots whose plans are applied without a review when nothing else asks for one.
    """

    repository: str
    writers: tuple[str, ...]
    commits: Mapping[str, Commit] = field(default_factory=dict)
    pushes: tuple[Push, ...] = ()
    checks: tuple[Check, ...] = ()
    acts: tuple[Act, ...] = ()
    audits: tuple[Audit, ...] = ()
    states: tuple[StateVersion, ...] = ()
    effects: tuple[Effect, ...] = ()
    unreviewed: tuple[str, ...] = ()

    @property
    def roots(self) -> list[str]:
        """All roots that anything is known of."""
        named = {root for commit in self.commits.values() for root in commit.marks}
        return sorted(named | {audit.root for audit in self.audits if audit.root})

    def mark(self, revision: str, root: str) -> str | None:
        """Return the mark of a root at a revision, None when it is not known."""
        commit = self.commits.get(revision)
        return commit.marks.get(root) if commit else None

    def contains(self, newer: str, older: str) -> bool:
        """Tell whether ``older`` is ``newer`` or one of its ancestors."""
        seen, ahead = set(), [newer]
        while ahead:
            sha = ahead.pop()
            if sha == older:
                return True
            if sha not in seen and sha in self.commits:
                seen.add(sha)
                ahead += self.commits[sha].parents
        return False

    def to_json(self) -> str:
        """Return the history as JSON, to be looked at again."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> History:
        """Return the history that ``to_json`` wrote."""
        kinds: dict[str, Any] = {
            "pushes": Push,
            "checks": Check,
            "acts": Act,
            "audits": Audit,
            "states": StateVersion,
            "effects": Effect,
        }
        fields = json.loads(text)
        lists = {name: tuple(kind(**item) for item in fields[name]) for name, kind in kinds.items()}
        commits = {sha: Commit(sha, tuple(item["parents"]), item["marks"]) for sha, item in fields["commits"].items()}
        names = {name: tuple(fields[name]) for name in ("writers", "unreviewed")}
        return cls(repository=fields["repository"], commits=commits, **lists, **names)
