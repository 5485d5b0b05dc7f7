"""What happened, as anybody outside of Tidegate could have seen it. All times are seconds since the epoch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its parents, for each root the mark that its module has there, and what its ``tidegate.yaml`` says.

    ``stacks`` are the roots' stacks, ``depends`` what each root depends on, ``before`` all that is applied before it
    where one commit changes both, and ``unreviewed`` whose plans need no review when nothing else asks for one.
    ``approvals`` says how many people other than the authors must approve where that is more than one. ``broken`` are
    roots that no engine can plan there, ``denied`` those that a policy refuses.
    """

    sha: str
    parents: tuple[str, ...]
    marks: Mapping[str, str]
    stacks: Mapping[str, str] = field(default_factory=dict)
    depends: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    before: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unreviewed: tuple[str, ...] = ()
    approvals: Mapping[str, int] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Push:
    """The default branch went from one commit to another. ``before`` is None for the first push."""

    at: float
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Check:
    """A check run of a root as the forge shows it in the end. ``deployment`` is its external id.

    ``begun`` is when it says that the deployment began, ``ended`` when it was completed.
    """

    id: int
    sha: str
    root: str
    deployment: str
    status: str
    conclusion: str | None
    title: str
    url: str = ""
    summary: str = ""
    begun: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody did: ``what`` is Approve, Reject, Unlock, Retry or Deploy (by hand).

    ``allowed`` tells whether they may write.
    """

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
    approvals: tuple[str, ...] = ()
    initiator: str = ""
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
    """What an engine did to the harness: it began to put a root to a mark, or it came to the end of that."""

    root: str
    mark: str
    what: str
    at: float


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of a job that a runner began, as a step before the plan wrote it down."""

    root: str
    job: str
    at: float


@dataclass(frozen=True, slots=True)
class Runner:
    """A runner that was started for a job: ``where`` is ``fargate`` or ``lambda``, ``error`` what Lambda says of it."""

    job: str
    where: str
    at: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Gated:
    """A check run that waited for others, as it was seen: ``named`` are the roots and stacks that it named."""

    run: int
    sha: str
    root: str
    title: str
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check run of a pull request said at some time of a head: of its plan, or of a policy set."""

    sha: str
    check: str
    conclusion: str


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request: its head, the roots that it changes, and whether it is open in the end."""

    number: int
    sha: str
    roots: tuple[str, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What the last look for drift said, with the roots that had drifted then and must have been seen."""

    check: str
    conclusion: str
    drifted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Everything that the checker looks at. ``writers`` are those who may decide about deployments.

    ``leaks`` are places that hold a secret, of so many that were ``searched``; ``struck`` counts the troubles by kind.
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
    plans: tuple[Planned, ...] = ()
    runners: tuple[Runner, ...] = ()
    gates: tuple[Gated, ...] = ()
    pulls: tuple[Pull, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    looks: tuple[Look, ...] = ()
    leaks: tuple[str, ...] = ()
    searched: int = 0
    struck: Mapping[str, int] = field(default_factory=dict)

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
