"""Drift: changes made outside of Tidegate, as scheduled plans of the default branch find them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum

from tidegate.config.rules.timetable import Timetable
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.rules.state import DONE
from tidegate.deploys.texts.lock_text import locked_by
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.vcs.rules.headline import Headline

_COUNTED = tuple(each.name for each in fields(PlannedChanges) if each.default == 0)
#: Characters of a reason in a record, which has room for 400 roots.
_LONGEST_REASON = 300


class DriftReport(StrEnum):
    """Where the result is published: in an issue for each schedule, or in a check run on the newest commit."""

    ISSUE = "issue"
    CHECK = "check"


class DriftState(StrEnum):
    """A root's drift status. ``skipped`` was not checked, for a reason; its earlier status still counts."""

    DRIFTED = "drifted"
    NONE = "none"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class DriftEntry:
    """A schedule in the default branch's configuration. ``query`` is the text of its tag query."""

    name: str
    query: str
    timetable: Timetable
    reconcile: bool = False
    report: DriftReport = DriftReport.ISSUE


@dataclass(frozen=True, slots=True)
class DriftFinding:
    """How a root stands in one of its stacks.

    ``drifted_since`` is when drift was seen first that is not known to be gone, None without. ``job`` made the plan;
    ``changes`` are its counts, without addresses. ``deployment`` is the one that is to apply the drift away.
    """

    root: str
    stack: str
    shared: bool
    state: DriftState
    reason: str = ""
    drifted_since: datetime | None = None
    job: str | None = None
    changes: PlannedChanges | None = None
    deployment: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.root, self.stack

    @property
    def label(self) -> str:
        """Its name, with the stack if it is in several."""
        return f"{self.root} ({self.stack})" if self.shared else self.root


@dataclass(frozen=True, slots=True)
class DriftRecord:
    """A schedule of a repository, and what its last run found. ``version`` counts writes.

    ``execution`` is the current run, empty without one, and ``started_at`` when the last one began. ``layers`` are the
    ids of its plans, ``former`` those of earlier runs that still exist. ``sha`` is the commit of ``findings``, as of
    ``ended_at``, and ``headline`` what that is in words. ``problem`` says why EventBridge has no schedule, ``notice``
    what the last run left out, or could not publish, and why. ``issue`` is the issue's number, 0 without one, and
    ``is_reported`` whether it is open.
    """

    repository: str
    branch: str
    entry: DriftEntry
    problem: str = ""
    execution: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    sha: str = ""
    headline: Headline = field(default_factory=Headline)
    layers: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    findings: tuple[DriftFinding, ...] = ()
    notice: str = ""
    issue: int = 0
    is_reported: bool = False
    version: int = 0

    @property
    def id(self) -> str:
        """Its id in names; no pull request has such an id."""
        return f"{self.repository}~{self.entry.name}"

    def of(self, *states: DriftState) -> tuple[DriftFinding, ...]:
        """Return the findings with these statuses."""
        return tuple(each for each in self.findings if each.state in states)

    @property
    def drifted(self) -> tuple[DriftFinding, ...]:
        """Known drift, including roots that the last run skipped."""
        return tuple(each for each in self.findings if each.drifted_since)

    @property
    def needs_people(self) -> bool:
        """Whether a person must act: on drift, or on a failed plan."""
        return bool(self.drifted or self.of(DriftState.FAILED))

    @property
    def summary(self) -> str:
        """The counts on one line, such as ``1 drifted, 2 without drift``."""
        words = {"failed": "failed", "drifted": "drifted", "skipped": "not checked", "none": "without drift"}
        counted = ((len(self.of(DriftState(state))), text) for state, text in words.items())
        return ", ".join(f"{number} {text}" for number, text in counted if number) or "no roots"


def begun(record: DriftRecord, execution: str, at: datetime) -> DriftRecord:
    """Return the record of a schedule when its run ``execution`` begins."""
    former = tuple(dict.fromkeys((*record.former, *record.layers)))
    return replace(record, execution=execution, started_at=at, layers=(), former=former)


def found(record: DriftRecord, layers: Iterable[SpeculativePlan], at: datetime) -> DriftRecord:
    """Return the record with the results of its plans. Continuing drift keeps its start."""
    before = {each.key: each for each in record.findings}
    findings = [_finding(each, before.get((each.root.name, each.stack)), at) for each in layers]
    return replace(record, findings=tuple(sorted(findings, key=_by_importance)), ended_at=at)


def _finding(layer: SpeculativePlan, before: DriftFinding | None, at: datetime) -> DriftFinding:
    state = _STATES.get(layer.state, DriftState.FAILED)
    since, deployment = (before.drifted_since, before.deployment) if before else (None, "")
    if state is DriftState.NONE:
        since, deployment = None, ""
    elif state is DriftState.DRIFTED:
        since = since or at
    return DriftFinding(
        layer.root.name,
        layer.stack,
        layer.shared,
        state,
        _reason(layer),
        since,
        layer.job,
        _counts(layer.plan.changes) if layer.plan else None,
        deployment,
    )


def _reason(layer: SpeculativePlan) -> str:
    if layer.is_done:
        return layer.reason[:_LONGEST_REASON]
    return "The run ended before Tidegate planned it."


_STATES = {
    LayerState.PLANNED: DriftState.DRIFTED,
    LayerState.NO_CHANGES: DriftState.NONE,
    LayerState.REFUSED: DriftState.SKIPPED,
}
_ORDER = (DriftState.FAILED, DriftState.DRIFTED, DriftState.SKIPPED, DriftState.NONE)


def _by_importance(finding: DriftFinding) -> tuple[int, str, str]:
    return _ORDER.index(finding.state), finding.root, finding.stack


def _counts(changes: PlannedChanges) -> PlannedChanges:
    """Return the counts without the addresses, which are many."""
    return PlannedChanges(**{name: getattr(changes, name) for name in _COUNTED})


def why_not_checked(head: QueueHead | None) -> str:
    """Return why a plan of the newest commit would show more than drift, given a root's queue; else an empty text."""
    if head is None:
        return ""
    if head.in_flight is not None or head.length:
        return "The root has a deployment in progress or in its queue."
    if head.lock is not None:
        return locked_by(head.root_name, head.lock)
    last, deployed = head.attempted, head.deployed
    if last is None or last.state in DONE or last.trigger is Trigger.DRIFT:
        return ""  # A failed drift reconciliation leaves the drift.
    if deployed is not None and deployed.revision.sha == last.revision.sha:
        return ""
    how = last.state.replace("_", " ")
    return (
        f"Its newest deployment, of {last.revision.short}, did not complete ({how}). The difference may be what that "
        "deployment left undone."
    )
