"""Resolve each root's configuration: its stacks, and in each the engine, workflow, variables, reviews and access.

The nearest section wins: the root's own, its stack, its workflow, the whole file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tidegate.changes.rules.change_set import Candidate
from tidegate.changes.rules.stack import Stack, resolve_stacks
from tidegate.config.assignment import Assignment, Declarations, assign
from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.cycles import refused_cycles
from tidegate.config.declarations import RootDeclaration
from tidegate.config.expressions import Expression
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.settings import Settings, Unusable
from tidegate.config.sizes import refused_sizes
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.root_index import TagIndex
from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import Tagged, tagged


def configure(
    loaded: LoadedConfiguration, roots: Iterable[Root], branch: str = "", dest_branch: str = ""
) -> ConfiguredRoots:
    """Return all roots in their stacks, with their configuration there, in the given order.

    ``branch`` is the source branch of a change, ``dest_branch`` its target: they determine the tags of branches. The
    engines of ``roots`` are replaced. Raise InvalidStacks for contradicting stacks, which the loader refuses.
    """
    stacks = resolve_stacks([each.definition for each in loaded.stacks])
    given = tuple(roots)
    declarations = Declarations(loaded)
    owns = [declarations.of(root) for root in given]
    assignment = assign(loaded, given, owns)
    of_branches = (
        *_branch_tag("branch", loaded.branch_tags, branch),
        *_branch_tag("dest_branch", loaded.dest_branch_tags, dest_branch),
    )
    members = list(_members(given, owns, assignment, stacks, of_branches))
    refused = dict(assignment.refused)
    configured = list(_configured(loaded, stacks, members, refused))
    usable = [each for each in configured if each.root.name not in refused]
    refused |= refused_sizes(usable) | refused_cycles(usable, stacks)
    held_back = [Candidate(each.root, each.tagged, each.stack) for each in members if each.root.name in refused]
    held_back += _in_several(given, owns, assignment)
    usable = [each for each in usable if each.root.name not in refused]
    return ConfiguredRoots(tuple(usable), stacks, refused, assignment.left_out, tuple(held_back))


def _in_several(roots: Sequence[Root], owns: Sequence[RootDeclaration], assignment: Assignment) -> Iterator[Candidate]:
    """Yield the roots that are refused for being in several stacks, in each of these."""
    for root, own in zip(roots, owns, strict=True):
        for stack in assignment.several.get(root.name, ()):
            yield Candidate(root, tagged(root, own.tags), stack)


def _branch_tag(kind: str, patterns: Sequence[tuple[str, Expression]], branch: str) -> Iterator[str]:
    """Return the tag of a branch: that of the first pattern it fits. No branch has none."""
    fitting = (f"{kind}:{name}" for name, pattern in patterns if branch and pattern.search(branch))
    yield from [*fitting][:1]


@dataclass(frozen=True, slots=True)
class _Member:
    """A root in one of its stacks, and what the file says of it by itself."""

    root: Root
    own: RootDeclaration
    stack: str
    shared: bool
    tagged: Tagged


def _members(
    roots: Sequence[Root],
    owns: Sequence[RootDeclaration],
    assignment: Assignment,
    stacks: Mapping[str, Stack],
    of_branches: Sequence[str],
) -> Iterator[_Member]:
    with_stack = {
        name: (*(f"stack_name:{each}" for each in (name, *stack.within)), *of_branches)
        for name, stack in stacks.items()
    }
    for root, own, names in zip(roots, owns, assignment.stacks, strict=True):
        for name in names:
            yield _Member(root, own, name, len(names) > 1, tagged(root, (*own.tags, *with_stack[name])))


class _Rule(Protocol):
    """A part of the file that counts for what its query matches."""

    @property
    def query(self) -> TagQuery: ...


def _first(rules: Sequence[_Rule], index: TagIndex, items: int) -> list[int | None]:
    """Return for each thing in an index which rule is the first that matches it, None where none does."""
    found: list[int | None] = [None] * items
    left = items
    for number, rule in enumerate(rules):
        for position in index.matching(rule.query) if left else ():
            if found[position] is None:
                found[position] = number
                left -= 1
    return found


def _configured(
    loaded: LoadedConfiguration, stacks: Mapping[str, Stack], members: Sequence[_Member], refused: dict[str, str]
) -> Iterator[ConfiguredRoot]:
    """Return the members with what holds for them, and add the refusals of roots that cannot be used."""
    index = TagIndex([member.tagged for member in members])
    workflows = _first(loaded.workflows, index, len(members))
    policies = _first(loaded.policies or (), index, len(members))
    settings = Settings(loaded, stacks)
    for member, workflow, policy in zip(members, workflows, policies, strict=True):
        try:
            yield _one(settings, member, workflow, policy)
        except Unusable as problem:
            refused[member.root.name] = str(problem)


def _accounts(
    settings: Settings, own: RootDeclaration, stack: str, run: RunSettings
) -> tuple[RunSettings, Mapping[str, int]]:
    """Return how a root runs in its accounts of clouds, and the lines that say so. Raise Unusable."""
    aws, aws_line = settings.aws(own.aws, stack)
    google, google_line = settings.google(own.google, stack)
    azure, azure_line = settings.azure(own.azure, stack)
    said = {"aws": (aws, aws_line), "google": (google, google_line), "azure": (azure, azure_line)}
    lines = {name: line for name, (target, line) in said.items() if target is not None}
    return (replace(run, aws=aws, google=google, azure=azure) if lines else run), lines


def _one(settings: Settings, member: _Member, workflow: int | None, policy: int | None) -> ConfiguredRoot:
    own = member.own
    engine, engine_line = settings.engine(own.engine, member.stack, workflow)
    access, access_line = settings.access(policy)
    run, sources = settings.run(member.stack, workflow)
    runner, runner_line = settings.runner(own.runner, member.stack)
    if runner is not None:
        run, sources = replace(run, runner=runner), {**sources, "runner": runner_line}
    if own.cluster is not None:
        run = replace(run, cluster=own.cluster)
    run, accounts = _accounts(settings, own, member.stack, run)
    sources = {**sources, **accounts}
    review_rule, review_line = settings.review_rule(own, member.stack)
    if own.destroy:
        review_rule, review_line = replace(review_rule, when=PlanReview.ALWAYS), own.line
    return ConfiguredRoot(
        member.root if engine == member.root.engine else replace(member.root, engine=engine),
        member.tagged,
        own.when_modified,
        member.stack,
        member.shared,
        own.depends_on and own.depends_on.relative_to(member.root.dir),
        own.autoplan,
        own.follow_modules,
        review_rule,
        access,
        run,
        settings.workflow_name(workflow),
        {**sources, "root": own.line, "engine": engine_line, "plan_review": review_line, "access": access_line},
        destroy=own.destroy,
    )
