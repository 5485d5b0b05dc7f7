"""The declarations of a file, before the roots are known: texts may still contain ``${STACK_VAR_NAME}``.

``loader`` parses the file into these, ``resolution`` turns them into configured roots. ``line`` is the line in the
file, from 1; 0 for a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.changes.rules.stack import StackDefinition
from tidegate.config.rules.drift import DriftReport
from tidegate.config.rules.plan_options import ALLOWED_PLAN_ARGS
from tidegate.config.rules.timetable import Interval, Window
from tidegate.deploys.rules.cluster import DeclaredCluster
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.runner_size import RunnerNeeds
from tidegate.deploys.rules.speculative_plan import Checkout
from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.roots.rules.root_query import TagQuery
from tidegate.rules.access import Access


@dataclass(frozen=True, slots=True)
class EngineText:
    """An engine as written: each part may be absent, or hold stack variables."""

    name: str | None = None
    version: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class AwsText:
    """The account, roles, region and authentication as written, each empty if unset."""

    account: str = ""
    plan_role: str = ""
    apply_role: str = ""
    region: str = ""
    line: int = 0
    identity: str = ""

    def over(self, outer: AwsText) -> AwsText:
        """Return this; ``outer`` fills what is unset."""
        return AwsText(
            self.account or outer.account,
            self.plan_role or outer.plan_role,
            self.apply_role or outer.apply_role,
            self.region or outer.region,
            self.line,
            self.identity or outer.identity,
        )


@dataclass(frozen=True, slots=True)
class RunnerText:
    """A runner's requested size, and its line."""

    needs: RunnerNeeds
    line: int = 0

    def over(self, outer: RunnerText) -> RunnerText:
        """Return this; ``outer`` fills what is unset."""
        return RunnerText(self.needs.over(outer.needs), self.line)


@dataclass(frozen=True, slots=True)
class CloudText:
    """A root's identity in another cloud as written: texts by key, without unset ones."""

    said: tuple[tuple[str, str], ...] = ()
    line: int = 0

    def over(self, outer: CloudText) -> CloudText:
        """Return this; ``outer`` fills what is unset."""
        return CloudText(tuple({**dict(outer.said), **dict(self.said)}.items()), self.line)


@dataclass(frozen=True, slots=True)
class DeclaredStack:
    """A stack as written. ``query`` is None for a stack group."""

    definition: StackDefinition
    query: TagQuery | None
    line: int
    engine: EngineText | None = None
    aws: AwsText | None = None
    runner: RunnerText | None = None
    google: CloudText | None = None
    azure: CloudText | None = None


@dataclass(frozen=True, slots=True)
class DeclaredWorkflow:
    """A workflow: the first whose query matches a root counts. ``plan`` or ``apply`` is None for the usual steps.

    ``lines`` has the line of each text of it that names stack variables, ``key_lines`` that of each of its keys.
    """

    query: TagQuery
    line: int
    environment: str = ""
    engine: EngineText | None = None
    plan: tuple[WorkflowStep, ...] | None = None
    apply: tuple[WorkflowStep, ...] | None = None
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)
    key_lines: Mapping[str, int] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Hooks:
    """Steps around the workflow's own: ``all`` before those of the kind of job. ``lines`` is as in a workflow."""

    plan_before: tuple[WorkflowStep, ...] = ()
    plan_after: tuple[WorkflowStep, ...] = ()
    apply_before: tuple[WorkflowStep, ...] = ()
    apply_after: tuple[WorkflowStep, ...] = ()
    line: int = 0
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class DeclaredPolicy:
    """Who may do what with roots that match a query: the first match wins."""

    query: TagQuery
    access: Access
    line: int


@dataclass(frozen=True, slots=True)
class RootDeclaration:
    """What the file says of a root of its own, or of all roots whose directory fits a glob. None: left open.

    ``review_rule`` is complete, ``reviewed`` tells whether the root's own section says when plans wait, so that its
    stack does not decide it. ``follow_modules`` tells whether changes of the local modules that it uses change it,
    ``destroy`` whether what it made is destroyed. ``cluster`` is what the root is, None for a root module.
    """

    line: int = 0
    tags: tuple[str, ...] = ()
    engine: EngineText | None = None
    when_modified: tuple[str, ...] = ()
    depends_on: TagQuery | None = None
    autoplan: bool = True
    review_rule: ReviewRule = field(default_factory=ReviewRule)
    reviewed: bool = False
    follow_modules: bool = True
    destroy: bool = False
    aws: AwsText | None = None
    runner: RunnerText | None = None
    google: CloudText | None = None
    azure: CloudText | None = None
    cluster: DeclaredCluster | None = None


@dataclass(frozen=True, slots=True)
class DeclaredGlob:
    """What the file says of roots that are found in directories which fit ``pattern``, as in ``dir:`` of tag queries.

    ``workspace`` is one of the workspaces that each of these directories has, None for the one named ``default``
    of a section that names no workspaces. ``root`` tells whether these directories are roots, None that what they hold
    decides. Without a ``*``, ``pattern`` is a directory that the file makes no root.
    """

    pattern: str
    workspace: str | None
    declaration: RootDeclaration
    root: bool | None = None


@dataclass(frozen=True, slots=True)
class DriftSchedule:
    """A drift schedule: when roots that match a query are checked, where the result is shown, and whether drift is
    undone.
    """

    name: str
    query: TagQuery
    interval: Interval
    reconcile: bool
    window: Window | None
    line: int
    report: DriftReport = DriftReport.ISSUE


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether roots are checked for drift, and when."""

    enabled: bool = False
    schedules: tuple[DriftSchedule, ...] = ()


@dataclass(frozen=True, slots=True)
class DestinationBranch:
    """A branch, by a glob, whose pull requests and pushes count; ``sources`` are globs, ``!`` excludes."""

    branch: str
    sources: tuple[str, ...] = ("*",)
    line: int = 0


@dataclass(frozen=True, slots=True)
class PullRequestRules:
    """How pull requests are planned.

    ``allowed_providers`` and ``allowed_modules`` are patterns of what their plans may use; None is the runner's choice.
    ``allowed_plan_args`` are patterns of options that comments may give, ``replan_on_base_change`` tells whether they
    are planned again when the base branch changes what they are about.
    """

    drafts: bool = True
    checkout: Checkout = Checkout.MERGE
    allowed_providers: tuple[str, ...] | None = None
    allowed_modules: tuple[str, ...] | None = None
    allowed_plan_args: tuple[str, ...] = ALLOWED_PLAN_ARGS
    replan_on_base_change: bool = False
