"""Speculative plans: one for each root that a pull request affects, or that drift detection checks.

A pull request's are deleted when it closes, those of drift detection with the next run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.freeze import Freeze
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.plans.rules.plan import Plan
from tidegate.policies.rules.policy import PolicySetStatus, PolicyVerdict
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Root
from tidegate.rules.access import Access


class LayerState(StrEnum):
    """Where a speculative plan is. ``planned`` has changes; ``refused`` was not run, for ``reason``."""

    WAITING = "waiting"
    PLANNING = "planning"
    PLANNED = "planned"
    NO_CHANGES = "no_changes"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"


class Checkout(StrEnum):
    """What is planned: the merge result of head and base, or the head alone."""

    MERGE = "merge"
    BRANCH = "branch"


@dataclass(frozen=True, slots=True)
class SpeculativePlan:
    """One root in one stack at one head of a pull request.

    ``id`` is legal as a part of job ids. ``sha`` is the head, ``base_sha`` the base branch's commit that it is merged
    with. What the merge would do stands in ``tier`` of ``tiers`` (1 goes first), ``waits``, ``review`` and ``access``,
    as a deployment has it. ``plan`` is what the job left; ``last_lines`` end the engine's output after a failure.
    ``policy_sets`` are those that the plan is evaluated by, ``verdicts`` what they say, and ``digest`` is what plans
    have in common that say what it does. ``allowed_providers`` and ``allowed_modules`` are patterns of what the plan
    may use, None for the runner's choice. A layer that looks for drift names its ``schedule``, and has no pull request
    (0). ``is_extra`` tells that a merge does not deploy it, and somebody asked for its plan; ``options`` are those that
    the engine was given besides, which ``run`` has as well. ``fork_sha`` is the one commit that head and base both come
    after, where the forge knows that there is but one. ``gone`` tells that the pull request takes the root away: what
    its state holds is counted on the base's commit. ``destroy`` tells that the plan destroys what the root made, as its
    file says. ``requires`` is what its root requires of an apply, ``unmatched`` tells that no check says what,
    ``freezes`` are the times in which it is not applied. ``conflict`` tells that it failed as a person has to merge
    head and base first: ``reason`` names the files. ``within`` are the parent stacks of its stack by name, ``tags`` the
    root's own tags.
    """

    id: str
    repository: str
    pull_request: int
    root: Root
    sha: str
    base_sha: str
    stack: str = DEFAULT_STACK
    shared: bool = False
    checkout: Checkout = Checkout.MERGE
    allowed_providers: tuple[str, ...] | None = None
    allowed_modules: tuple[str, ...] | None = None
    why: str = ""
    tier: int = 1
    tiers: int = 1
    waits: Waits = field(default_factory=Waits)
    review: ReviewRule = field(default_factory=ReviewRule)
    access: Access | None = None
    run: RunSettings = field(default_factory=RunSettings)
    state: LayerState = LayerState.WAITING
    reason: str = ""
    job: str | None = None
    plan: Plan | None = None
    last_lines: str = ""
    policy_sets: tuple[PolicySetStatus, ...] = ()
    verdicts: tuple[PolicyVerdict, ...] = ()
    digest: str = ""
    changed_at: datetime | None = None
    version: int = 0
    schedule: str = ""
    is_extra: bool = False
    options: tuple[str, ...] = ()
    fork_sha: str = ""
    conflict: bool = False
    within: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    gone: bool = False
    destroy: bool = False
    requires: tuple[Requirements, ...] = ()
    unmatched: bool = False
    freezes: tuple[Freeze, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether nothing of it still runs or waits to."""
        return self.state not in {LayerState.WAITING, LayerState.PLANNING}

    @property
    def is_gone(self) -> bool:
        """Whether the pull request takes the root away, and it is known what stays behind, or why it is not."""
        return self.gone and self.state is LayerState.NO_CHANGES

    @property
    def left(self) -> int | None:
        """How many resources stay behind of a root that is gone, None where that is not known."""
        return self.plan.changes.resources if self.gone and self.plan else None

    @property
    def leaves_resources(self) -> bool:
        """Whether it is gone and resources stay behind, or may: how many is not always known."""
        return self.is_gone and self.left != 0
