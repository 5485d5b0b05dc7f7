"""The record of a pull (or merge) request: its data, three conditions, and the state that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from tidegate.changes.rules.change_set import Key
from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.deploys.rules.evaluated_plan import EvaluatedPlan
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.policies.rules.policy import RuleChanges
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.roots.rules.root import pull_request_execution
from tidegate.texts.sentences import listed
from tidegate.vcs.rules.check_run import Conclusion
from tidegate.vcs.rules.pull_request import PullRequestSpec, SeenPullRequest

#: Roots that a sentence names.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The base branch changed ``roots`` after something was planned on its commit ``planned_on``.

    ``now`` is the latest such commit.
    """

    base: str
    planned_on: str
    now: str
    roots: tuple[str, ...]

    def among(self, roots: Collection[str]) -> Overtaken | None:
        """Return it reduced to some roots, None if it concerns none of them."""
        found = tuple(name for name in self.roots if name in roots)
        return replace(self, roots=found) if found else None

    def sentence(self, base: str, named: Sequence[str]) -> str:
        """Return the text, with the formatted names of the branch and the roots."""
        since = f"since this was planned on {self.planned_on[:7]}"
        what = f"{listed(named, _NAMED)}, or the rules for {'it' if len(named) == 1 else 'them'}"
        return f"{base} has moved on to {self.now[:7]} {since}, and changed {what}."

    def __str__(self) -> str:
        return self.sentence(self.base, self.roots)


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
    """A condition in the Kubernetes form. ``reason`` is one CamelCase word.

    ``since`` is when the status last changed (``lastTransitionTime``).
    """

    type: ConditionType
    status: Status
    reason: str
    message: str
    since: datetime


class PullRequestState(StrEnum):
    """The next step for a pull request."""

    IDLE = "Idle"
    DISCOVERY_NEEDED = "DiscoveryNeeded"
    PLANNING = "Planning"
    COMMENT_NEEDED = "CommentNeeded"


@dataclass(frozen=True, slots=True)
class Applying:
    """The newest deployment of a root in a stack by ``tidegate apply``, or the one of its merge."""

    root: str
    stack: str
    deployment: str

    @property
    def key(self) -> Key:
        return self.root, self.stack


class VerdictKind(StrEnum):
    """The kind of a verdict: the first that applies.

    ``conflict``: head and base cannot be merged. ``failed``: an internal error, or a plan failed. ``refused``: a root
    was not run, such as for a provider that is not allowed. ``held_up``: policy sets refuse plans. ``incomplete``: not
    all could be planned. ``not_planned``: nothing was, as for a draft. ``with_options``: the plans are informational.
    """

    CONFLICT = "conflict"
    FAILED = "failed"
    REFUSED = "refused"
    HELD_UP = "held_up"
    NOT_PLANNED = "not_planned"
    INCOMPLETE = "incomplete"
    WITH_OPTIONS = "with_options"
    PASSED = "passed"


@dataclass(frozen=True, slots=True)
class LetPass:
    """A policy set that refuses plans, and whose approvals let them pass."""

    policy_set: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PullRequestVerdict:
    """The check run of the whole pull request: its title, and its conclusion.

    ``kind`` is the verdict's kind, ``blocking`` are the policy sets that block the merge, ``passed`` those that owners
    approved.
    """

    title: str
    conclusion: Conclusion
    kind: VerdictKind
    blocking: tuple[str, ...] = ()
    passed: tuple[LetPass, ...] = ()


@dataclass(frozen=True, slots=True)
class PullRequestRecord:
    """A pull request and what became of it. ``version`` counts writes.

    ``discovered`` and ``commented`` are the revisions (``PullRequestSpec.revision``) whose layers are known, and that
    the comments show; ``layers`` the ids of the speculative plans of ``discovered``; ``attempt`` counts its executions,
    the last of which works on it, ``restarted`` tells that this replaced one that ended without a result; ``comments``
    are pairs of a stack and the forge's id of its comment; ``notice`` says in sentences, a line each, what is not
    planned for a reason that holds up the merge, ``notes`` what else is not; ``skipped`` tells that nothing is planned
    as long as it is a draft, ``guarded`` that policy sets would judge what is not planned. ``request`` is what somebody
    asked this attempt for. ``overtaken`` are the roots of its layers that the base branch changed since it was planned,
    the last time by its commit ``base_now``. ``queued`` is the newest commit that a merge queue made of it.
    ``closed_at`` is when it was closed or merged, ``merge_sha`` the commit that the merge made, where that is known.
    ``rule_changes`` are what it changes of what runs or grants something. ``rules`` say where it is applied,
    ``applies`` what was asked to be applied before the merge, ``merge_refused`` what was applied (``applied_digest``)
    when the forge last refused to merge it. ``verdict`` is what was shown last. ``deploys`` are the roots that its
    merge deploys, each with its deployment once that is known; ``told`` are digests of what the comments of stacks say
    of them, ``settled`` tells that these need not follow them any more. ``plans`` are those that policies judged until
    it was merged. ``stacks`` are those that the layers are in, by name.
    """

    spec: PullRequestSpec
    conditions: tuple[Condition, ...] = ()
    discovered: str = ""
    commented: str = ""
    layers: tuple[str, ...] = ()
    attempt: int = 1
    restarted: bool = False
    comments: tuple[tuple[str, int], ...] = field(default_factory=tuple)
    notice: str = ""
    notes: str = ""
    skipped: bool = False
    guarded: bool = False
    request: PlanRequest | None = None
    overtaken: tuple[str, ...] = ()
    base_now: str = ""
    queued: str = ""
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    merged: bool = False
    merge_sha: str = ""
    rules: ApplyRules = field(default_factory=ApplyRules)
    applies: tuple[Applying, ...] = ()
    merge_refused: str = ""
    verdict: PullRequestVerdict | None = None
    rule_changes: RuleChanges = field(default_factory=RuleChanges)
    deploys: tuple[Applying, ...] = ()
    told: tuple[tuple[str, str], ...] = ()
    settled: bool = False
    plans: tuple[EvaluatedPlan, ...] = ()
    stacks: tuple[str, ...] = ()
    version: int = 0

    @property
    def execution(self) -> str:
        """The name of the execution that works on it."""
        return pull_request_execution(self.spec.id, self.spec.revision, self.attempt)

    @property
    def is_open(self) -> bool:
        """Whether it is neither closed nor merged."""
        return not self.closed_at

    @property
    def is_deploying(self) -> bool:
        """Whether its comments follow what its merge deploys."""
        return self.merged and bool(self.merge_sha and self.deploys and self.comments) and not self.settled

    @property
    def older(self) -> Overtaken | None:
        """The outdated plans, if the base branch changed their roots."""
        if not self.overtaken:
            return None
        return Overtaken(self.spec.base, self.spec.base_sha, self.base_now, self.overtaken)

    @property
    def state(self) -> PullRequestState:
        """The next step, by the last evaluated conditions."""
        return state(self.conditions)


def stands_where(record: PullRequestRecord, seen: SeenPullRequest) -> bool:
    """Tell whether the VCS provider has the same head and base branch as the record."""
    known, now = record.spec, seen.spec
    return (known.head_sha, known.base) == (now.head_sha, now.base)


def first_record(seen: SeenPullRequest, base_sha: str) -> PullRequestRecord:
    """Return the record of a new pull request. ``base_sha`` is the base branch's current commit."""
    return PullRequestRecord(replace(seen.spec, base_sha=base_sha), opened_at=seen.opened_at)


def followed(record: PullRequestRecord, seen: SeenPullRequest, base_sha: str, at: datetime) -> PullRequestRecord:
    """Return the record of a pull request that is open, as it is seen ``at``.

    Another revision needs a new execution, and so does a reopened pull request, or a draft that becomes ready.
    """
    if seen.spec.head_sha != record.spec.head_sha:  # A push removes it from the merge queue.
        record = replace(record, queued="")
    since = record.spec.base_since if seen.spec.base == record.spec.base else at
    spec = replace(seen.spec, base_sha=base_sha, base_since=since, pushes=record.spec.pushes)
    ready = record.skipped and not spec.is_draft
    if record.is_open and spec.revision == record.spec.revision and not ready:
        return replace(record, spec=spec)
    # A head that comes back had its layers stopped when it went.
    if record.is_open and not ready and spec.revision != record.discovered:
        return _next_attempt(replace(record, spec=spec))
    return anew(replace(record, spec=spec, closed_at=None, merged=False, merge_sha="", deploys=(), plans=()))


def anew(record: PullRequestRecord) -> PullRequestRecord:
    """Return the record without knowledge of its revision: another execution discovers it."""
    return _next_attempt(replace(record, discovered="", commented=""))


def asked(record: PullRequestRecord, before: PullRequestRecord | None, request: PlanRequest) -> PullRequestRecord:
    """Return the record for an execution that does what was requested; ``before`` is the record until now."""
    stays = before is not None and before.execution == record.execution
    return replace(anew(record) if stays else record, request=request)


def restarted(record: PullRequestRecord) -> PullRequestRecord:
    """Return the record with a new execution instead of one that ended without a result."""
    return replace(anew(record), restarted=True, request=record.request)


def _next_attempt(record: PullRequestRecord) -> PullRequestRecord:
    """Return the record for its next execution. Attempts only grow: a force push may restore an old head."""
    return replace(
        record,
        attempt=record.attempt + 1,
        restarted=False,
        skipped=False,
        notice="",
        notes="",
        request=None,
        overtaken=(),
        base_now="",
        verdict=None,
        rule_changes=RuleChanges(),
    )


def judged(record: PullRequestRecord, layers: Collection[SpeculativePlan], at: datetime) -> PullRequestRecord:
    """Return the record with its conditions as of ``at``; ``layers`` are its existing layers."""
    return replace(record, conditions=conditions(record, layers, at))


def conditions(record: PullRequestRecord, layers: Collection[SpeculativePlan], at: datetime) -> tuple[Condition, ...]:
    """Return the three conditions of a record. An unchanged status keeps its time."""
    before = {each.type: each for each in record.conditions}
    found = (_discovered(record, at), _planning(record, layers, at), _commented(record, at))
    return tuple(_lasting(each, before.get(each.type)) for each in found)


def state(conditions: Collection[Condition]) -> PullRequestState:
    """Return the next step; the first that applies. A missing condition counts as unknown."""
    status = {each.type: each.status for each in conditions}
    if status.get(ConditionType.IS_LAST_COMMIT_DISCOVERED) is not Status.TRUE:
        return PullRequestState.DISCOVERY_NEEDED
    if status.get(ConditionType.IS_COMMENT_UP_TO_DATE) is not Status.FALSE:
        return PullRequestState.IDLE
    if status.get(ConditionType.ARE_LAYERS_STILL_PLANNING) is not Status.FALSE:
        return PullRequestState.PLANNING
    return PullRequestState.COMMENT_NEEDED


def _lasting(condition: Condition, before: Condition | None) -> Condition:
    if before is None or before.status is not condition.status:
        return condition
    return replace(condition, since=before.since)


def _discovered(record: PullRequestRecord, at: datetime) -> Condition:
    kind, head = ConditionType.IS_LAST_COMMIT_DISCOVERED, record.spec.head_sha[:7]
    if not record.discovered:
        return Condition(
            kind, Status.FALSE, "NothingDiscovered", f"Tidegate does not know yet which roots {head} changes.", at
        )
    if record.discovered != record.spec.revision:
        return Condition(
            kind,
            Status.FALSE,
            "NewerCommit",
            f"Tidegate does not know yet which roots {head} changes; it knows an older commit.",
            at,
        )
    return Condition(kind, Status.TRUE, "Discovered", f"Tidegate knows which roots {head} changes.", at)


def _planning(record: PullRequestRecord, layers: Collection[SpeculativePlan], at: datetime) -> Condition:
    kind, total = ConditionType.ARE_LAYERS_STILL_PLANNING, len(record.layers)
    done = len({each.id for each in layers if each.is_done} & set(record.layers))
    if not record.discovered:
        return Condition(kind, Status.UNKNOWN, "NothingDiscovered", "There are no speculative plans yet.", at)
    if record.discovered != record.spec.revision:
        return Condition(kind, Status.TRUE, "NewerCommit", "The speculative plans are of an older commit.", at)
    if not total:
        return Condition(kind, Status.FALSE, "NoLayers", "There are no roots to plan.", at)
    message = f"Ended speculative plans: {done} of {total}."
    if done < total:
        return Condition(kind, Status.TRUE, "LayersPlanning", message, at)
    return Condition(kind, Status.FALSE, "LayersEnded", message, at)


def _commented(record: PullRequestRecord, at: datetime) -> Condition:
    kind = ConditionType.IS_COMMENT_UP_TO_DATE
    if not record.discovered:
        return Condition(kind, Status.UNKNOWN, "NothingDiscovered", "There is nothing to report yet.", at)
    if record.commented == record.discovered:
        return Condition(kind, Status.TRUE, "UpToDate", "The comments show all results.", at)
    reason = "OlderCommented" if record.commented else "NothingCommented"
    return Condition(kind, Status.FALSE, reason, "The comments do not show all results yet.", at)
