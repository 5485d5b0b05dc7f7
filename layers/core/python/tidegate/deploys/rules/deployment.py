"""A deployment: one attempt to deploy one revision to one root. ``state.py`` has its states."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.lineage import Lineage
from tidegate.deploys.rules.membership import Membership
from tidegate.deploys.rules.outcome import Ending, Outcome
from tidegate.deploys.rules.planned import ApplyJob, Planned
from tidegate.deploys.rules.request import DeployedCommits, DeploymentRequest, Rerun
from tidegate.deploys.rules.root_settings import PolicyChecks, RootSettings
from tidegate.deploys.rules.state import State, ends_without_result, may_follow
from tidegate.deploys.rules.timeline import Audited, Step
from tidegate.deploys.rules.waiting import AfterGate, Gate, RequirementsCheck, Review
from tidegate.roots.rules.root import Revision, Root, queue_id


def was_applied_before(deployment: Deployment) -> bool:
    """Tell whether a merge had nothing to deploy because its pull request was applied before."""
    return deployment.state is State.NO_CHANGES and deployment.planned.job is None and bool(deployment.reason)


@dataclass(frozen=True, slots=True)
class Deployment:
    """The record of a deployment: what it deploys, where it is, and values by who writes them and when."""

    # What it deploys.
    id: str
    repository: str
    root: Root
    revision: Revision
    request: DeploymentRequest
    #: The stack that the root is deployed in, the groups around it by name, and the root's own tags.
    stack: str = DEFAULT_STACK
    within: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    #: That the root is in several stacks, so that the stack belongs to the deployment's identity.
    shared: bool = False

    # Its progress.
    state: State = State.QUEUED
    reason: str = ""
    #: The name of what it failed with, such as ``States.HeartbeatTimeout``.
    error: str = ""
    changed_at: datetime | None = None
    #: Since when it waits for a concurrency slot, None if it does not.
    slot_since: datetime | None = None
    #: Counts saves: a save must be based on the newest record.
    version: int = 0
    #: One step for each state, including the first.
    history: tuple[Step, ...] = ()
    audited: tuple[Audited, ...] = ()

    # Set when it is created or admitted.
    rerun: Rerun = field(default_factory=Rerun)
    commits: DeployedCommits = field(default_factory=DeployedCommits)
    change: Membership = field(default_factory=Membership)
    settings: RootSettings = field(default_factory=RootSettings)
    lineage: Lineage = field(default_factory=Lineage)

    # Set as it progresses.
    planned: Planned = field(default_factory=Planned)
    policies: PolicyChecks = field(default_factory=PolicyChecks)
    gate: Gate | None = None
    review: Review | None = None
    requirements: RequirementsCheck = field(default_factory=RequirementsCheck)
    apply: ApplyJob = field(default_factory=ApplyJob)
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def queue(self) -> str:
        return queue_id(self.repository, self.root.name)

    @property
    def destroys_deployed(self) -> bool:
        """Whether it destroys what another deployment deployed, with that one's files."""
        return self.request.destroy is not None and bool(self.request.destroy.deployment)

    @property
    def rejected_by(self) -> str | None:
        """Return who rejected the deployment, at its gate or in its review."""
        if self.gate is not None and self.gate.next is AfterGate.REJECTED:
            return self.gate.by
        return self.review.by if self.review is not None and self.review.approved is False else None

    @property
    def timeline(self) -> tuple[Step, ...]:
        """Return the steps for people: without *planning* where it was admitted, but no plan began."""
        admitted = next((step for step in self.history if step.state is State.PLANNING), None)
        steps = zip_longest(self.history, self.history[1:])
        return tuple(step for step, after in steps if not (step is admitted and self._waits_first(after)))

    def _waits_first(self, after: Step | None) -> bool:
        """Tell whether what follows its admission is not a plan."""
        if after is None:
            return False
        return self.planned.job is None or (self.change.waits.before_plan and after.state is State.GATED)

    def moved(self, state: State, at: datetime, reason: str = "", by: str = "") -> Deployment:
        """Return the record after the step to ``state``. Raise ValueError for an invalid step."""
        if not may_follow(self.state, state):
            raise ValueError(f"{self.id} cannot go from {self.state} to {state}")
        history = (*self.history, Step(state, at, by, reason))
        return replace(self, state=state, reason=reason, changed_at=at, history=history, slot_since=None)

    def begun(self) -> Deployment:
        """Return the record of a new deployment: its timeline begins with the request."""
        first = Step(self.state, self.request.at, self.request.by, self.reason)
        return self if self.history else replace(self, history=(first,))

    def ended(self, ending: Ending) -> Deployment:
        """Return the record after its end. Raise ValueError when it cannot end like that."""
        by = self.rejected_by if ending.state is State.REJECTED else None
        if ending.state is State.CANCELLED and self.outcome.cancelled is not None:
            by = self.outcome.cancelled.by
        ended = self.moved(ending.state, ending.at, ending.reason, by or "")
        outcome = replace(ended.outcome, last_lines=ending.last_lines, ending=ending)
        return replace(ended, error=ending.error, outcome=outcome)

    def ending_without_result(self, error: str | None, at: datetime, *, apply_was_taken: bool) -> Ending:
        """Return how a deployment ends whose result nobody will report.

        ``error`` is the error name of the failed Terraform machine, if it is known.
        """
        state = ends_without_result(self.state, apply_was_taken=apply_was_taken)
        why = f"Internal error ({error})" if error else "The Step Functions execution ended without a result"
        known = "nothing was applied" if state is State.ENGINE_FAULT else "an apply was running"
        return Ending(state, f"{why}; {known}.", error or "", "", at)
