"""What the default branch's configuration says of a deployment's root."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.policies.rules.policy import PolicySetStatus, PolicyVerdict
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import Access


@dataclass(frozen=True, slots=True)
class RootSettings:
    """How a root's deployments run and who decides about them, by the configuration when this one was asked for.

    Those of a rerun are read again from the newest configuration.
    """

    review_rule: ReviewRule = field(default_factory=ReviewRule)
    #: How its jobs run.
    run: RunSettings = field(default_factory=RunSettings)
    #: Who may do what with it; without, whoever may write.
    access: Access | None = None
    #: What the root requires of every apply.
    requires: tuple[Requirements, ...] = ()
    #: That no check says what the root requires.
    unmatched: bool = False


@dataclass(frozen=True, slots=True)
class PolicyChecks:
    """The policy sets that a plan is checked by before anybody reviews or applies it, and what they say."""

    sets: tuple[PolicySetStatus, ...] = ()
    #: What the sets say of the newest plan.
    verdicts: tuple[PolicyVerdict, ...] = ()
