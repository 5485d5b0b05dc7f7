"""The default branch's configuration for a deployment's root."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.policies.rules.policy import PolicySetStatus, PolicyVerdict
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import Access


@dataclass(frozen=True, slots=True)
class RootSettings:
    """A root's configuration at the time of the request: how jobs run and who decides.

    A re-run reads the newest configuration.
    """

    review_rule: ReviewRule = field(default_factory=ReviewRule)
    #: How its jobs run.
    run: RunSettings = field(default_factory=RunSettings)
    #: Its access control; without one, whoever has write access.
    access: Access | None = None
    #: Apply requirements of the root.
    requires: tuple[Requirements, ...] = ()
    #: Whether no check defines the requirements.
    unmatched: bool = False


@dataclass(frozen=True, slots=True)
class PolicyChecks:
    """The policy sets that evaluate a plan before review and apply, and their verdicts."""

    sets: tuple[PolicySetStatus, ...] = ()
    #: The verdicts on the newest plan.
    verdicts: tuple[PolicyVerdict, ...] = ()
