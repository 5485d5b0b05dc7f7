"""The loaded configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.config.declarations import (
    AwsText,
    CloudText,
    DeclaredGlob,
    DeclaredPolicy,
    DeclaredStack,
    DeclaredWorkflow,
    DestinationBranch,
    Drift,
    EngineText,
    Hooks,
    PullRequestRules,
    RootDeclaration,
    RunnerText,
)
from tidegate.config.expressions import Expression
from tidegate.config.limits import Limits
from tidegate.config.model.file import WHEN_MODIFIED
from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.config.rules.config_updates import ConfigUpdates
from tidegate.deploys.rules.freeze import Freeze
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.workflow import CloneSettings
from tidegate.notifications.rules.subscription import Subscription
from tidegate.policies.rules.policy_set import PolicySet
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Engine, Root
from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import Tagged


@dataclass(frozen=True, slots=True)
class DeclaredRoot:
    """A root that the file declares, the patterns of the files that change it, who reviews its plans, and its tags."""

    root: Root
    when_modified: tuple[str, ...]
    review_rule: ReviewRule = field(default_factory=ReviewRule)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequirementCheck:
    """The apply requirements of roots that match a query."""

    query: TagQuery
    requirements: Requirements
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Misleading:
    """A valid but easily misunderstood part of a file. ``text`` is sentences."""

    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """What a file says. ``roots`` is None when it declares none, so that they are to be discovered.

    ``review_rule`` is that of roots without one of their own, ``requirements`` what applies require of every
    root, unless there are ``checks``: then the first that matches a root has its own.

    ``engine`` is that of roots which name none, ``engine_text`` the same as written, if it is. ``declarations`` say by
    name what the file says of the ``roots``, ``globs`` what it says of roots that are found in directories which fit a
    pattern, ``defaults`` what holds for roots that nothing declares. ``several`` tells whether a root may be in several
    stacks. ``policies`` are None without access control. ``branch_tags`` and ``dest_branch_tags`` give tags to the
    branches that fit, the first that does. ``destination_branches`` are empty for the default branch alone,
    ``pull_requests`` says how those that go there are planned, ``policy_sets`` what their plans are checked against,
    ``applying`` where they are applied. ``limits`` are the organization's. ``masks`` are patterns of what is masked in
    logs, ``clone`` says what runners clone, ``freezes`` are times in which nothing is applied, ``aws`` is the account
    of roots whose stacks and own sections leave it open, as are ``google`` and ``azure``, and ``runner`` what these ask
    of runners. ``config_updates`` is None for what is no config repository. ``clusters`` are roots as well, which are
    declared whether or not root modules are to be discovered. ``notifications`` say who is notified of what;
    ``undelivered`` says why destinations in them get nothing from this repository, by their names; None if the
    installation is not known here.
    """

    engine: Engine
    when_modified: tuple[str, ...]
    roots: tuple[DeclaredRoot, ...] | None
    review_rule: ReviewRule = field(default_factory=ReviewRule)
    requirements: Requirements = field(default_factory=Requirements)
    checks: tuple[RequirementCheck, ...] | None = None
    warnings: tuple[Misleading, ...] = field(default=(), compare=False)
    engine_text: EngineText | None = None
    defaults: RootDeclaration = field(default_factory=lambda: RootDeclaration(when_modified=WHEN_MODIFIED))
    declarations: Mapping[str, RootDeclaration] = field(default_factory=dict)
    globs: tuple[DeclaredGlob, ...] = ()
    stacks: tuple[DeclaredStack, ...] = ()
    several: bool = False
    workflows: tuple[DeclaredWorkflow, ...] = ()
    hooks: Hooks = field(default_factory=Hooks)
    policies: tuple[DeclaredPolicy, ...] | None = None
    branch_tags: tuple[tuple[str, Expression], ...] = ()
    dest_branch_tags: tuple[tuple[str, Expression], ...] = ()
    drift: Drift = field(default_factory=Drift)
    destination_branches: tuple[DestinationBranch, ...] = ()
    pull_requests: PullRequestRules = field(default_factory=PullRequestRules)
    policy_sets: tuple[PolicySet, ...] = ()
    applying: ApplyRules = field(default_factory=ApplyRules)
    limits: Limits = field(default_factory=Limits)
    masks: tuple[str, ...] = ()
    clone: CloneSettings = field(default_factory=CloneSettings)
    freezes: tuple[Freeze, ...] = ()
    aws: AwsText | None = None
    runner: RunnerText | None = None
    google: CloudText | None = None
    azure: CloudText | None = None
    config_updates: ConfigUpdates | None = None
    clusters: tuple[DeclaredRoot, ...] = ()
    notifications: tuple[Subscription, ...] = ()
    undelivered: Mapping[str, str] | None = None

    @property
    def declared(self) -> tuple[DeclaredRoot, ...]:
        """All roots that the file declares, clusters last."""
        return (*(self.roots or ()), *self.clusters)

    @property
    def names_roles(self) -> bool:
        """Whether it may give a root an identity in a cloud."""
        declarations = (*self.declarations.values(), *(each.declaration for each in self.globs))
        said: tuple[LoadedConfiguration | DeclaredStack | RootDeclaration, ...] = (self, *self.stacks, *declarations)
        return any(each.aws or each.google or each.azure for each in said)

    @property
    def asks_for_runners(self) -> bool:
        """Whether it may request another runner size for a root."""
        declarations = (*self.declarations.values(), *(each.declaration for each in self.globs))
        said = (self.runner, *(each.runner for each in self.stacks), *(each.runner for each in declarations))
        return any(said)

    def required_of(self, judged: Tagged) -> Requirements | None:
        """Return the apply requirements of a root with these tags, None if no check matches them."""
        if self.checks is None:
            return self.requirements
        return next((check.requirements for check in self.checks if check.query.matches(judged)), None)


def without_file(review: PlanReview = PlanReview.ALWAYS) -> LoadedConfiguration:
    """Return the defaults without a file. ``review`` is the installation's default."""
    rule = ReviewRule(review)
    defaults = RootDeclaration(when_modified=WHEN_MODIFIED, review_rule=rule)
    return LoadedConfiguration(Engine(), WHEN_MODIFIED, None, rule, defaults=defaults)
