"""What a file says, as the program uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from tidegate.config.branches import BranchPattern
from tidegate.config.declarations import (
    DeclaredGlob,
    DeclaredPolicy,
    DeclaredStack,
    DeclaredWorkflow,
    DestinationBranch,
    Drift,
    EngineText,
    Hooks,
    RootDeclaration,
)
from tidegate.config.limits import Limits
from tidegate.config.model import WHEN_MODIFIED
from tidegate.domain.requirements import Requirements
from tidegate.domain.review_rule import PlanReview, ReviewRule
from tidegate.domain.root import Engine, Root
from tidegate.domain.tag_query import TagQuery
from tidegate.domain.tag_terms import Tagged, tagged


@dataclass(frozen=True, slots=True)
class DeclaredRoot:
    """A root that the file declares, the patterns of the files that change it, who reviews its plans, and its tags."""

    root: Root
    when_modified: tuple[str, ...]
    review_rule: ReviewRule = field(default_factory=ReviewRule)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequirementCheck:
    """What roots that match a query require of deploys by hand."""

    query: TagQuery
    requirements: Requirements
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Misleading:
    """What of a file can be used, and is easily misunderstood. ``text`` is sentences."""

    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """What a file says. ``roots`` is None when it declares none, so that they are to be discovered.

    ``review_rule`` is that of roots without one of their own, ``requirements`` those of deploys by hand of every
    root, unless there are ``checks``: then the first that matches a root has its own.

    ``engine`` is that of roots which name none, ``engine_text`` the same as it is written, if it is.
    ``declarations`` say by name what the file says of the ``roots``, ``globs`` what it says of roots that are found
    in directories which fit a pattern, ``defaults`` what holds for roots that nothing declares.
    ``several`` tells whether a root may be in several stacks. ``policies`` are None without access control.
    ``branch_tags`` and ``dest_branch_tags`` give tags to the branches that fit, the first that does.
    ``destination_branches`` are empty for the default branch alone. ``limits`` are the organization's.
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
    branch_tags: tuple[tuple[str, BranchPattern], ...] = ()
    dest_branch_tags: tuple[tuple[str, BranchPattern], ...] = ()
    drift: Drift = field(default_factory=Drift)
    destination_branches: tuple[DestinationBranch, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def requirements_of(self, root: Root) -> tuple[Requirements, ...] | None:
        """Return what a deploy of a root by hand requires, None when no check matches it: then it is refused.

        A root of another commit may have the name of one declared root and the place of another, as for its
        reviews. It is judged as either, and by its own name and place with the tags of both; each counts.
        One that is not declared here by its name at its place may be any that is: it requires what all of them do.
        """
        if self.checks is None:
            return (self.requirements,)
        same = [each for each in self.roots or () if _is_same(each.root, root)]
        judged = [tagged(each.root, each.tags) for each in same]
        if root not in [each.root for each in same]:
            judged.append(tagged(root, (tag for each in same for tag in each.tags)))
        wanted = [self._checked(each) for each in judged]
        if _identity(root) not in {_identity(each.root) for each in same}:
            wanted += [asked for asked in map(self._declared, self.roots or ()) if asked is not None]
        found = [requirements for requirements in wanted if requirements is not None]
        return tuple(dict.fromkeys(found)) if len(found) == len(wanted) else None

    def _declared(self, each: DeclaredRoot) -> Requirements | None:
        return self._checked(tagged(each.root, each.tags))

    def required_of(self, judged: Tagged) -> Requirements | None:
        """Return what deploys by hand require of a root with these tags, None when no check matches them."""
        return self.requirements if self.checks is None else self._checked(judged)

    def _checked(self, judged: Tagged) -> Requirements | None:
        matching = (check.requirements for check in self.checks or () if check.query.matches(judged))
        return next(matching, None)

    def rule_of(self, root: Root) -> ReviewRule:
        """Return who reviews the plans of a root: as declared for it, or else as for every root.

        A root of another commit that is not declared here by this name at this place may be any of these, renamed,
        moved or copied, with the same state: what waits under the rule of one of them waits then.
        """
        rules = {_identity(each.root): each.review_rule for each in self.roots or ()}
        return rules.get(_identity(root)) or reduce(ReviewRule.and_also, rules.values(), self.review_rule)


def without_file(review: PlanReview = PlanReview.ALWAYS) -> LoadedConfiguration:
    """Return what holds without a file. ``review`` is the installation's default."""
    rule = ReviewRule(review)
    defaults = RootDeclaration(when_modified=WHEN_MODIFIED, review_rule=rule)
    return LoadedConfiguration(Engine(), WHEN_MODIFIED, None, rule, defaults=defaults)


def _identity(root: Root) -> tuple[str, str, str]:
    return root.name, root.dir, root.workspace


def _is_same(declared: Root, root: Root) -> bool:
    return declared.name == root.name or (declared.dir, declared.workspace) == (root.dir, root.workspace)
