"""Roots with their whole configuration in each of their stacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from tidegate.changes.rules.change_set import Candidate, Key
from tidegate.changes.rules.stack import DEFAULT_STACK, Stack
from tidegate.deploys.rules.aws_target import WEB_IDENTITY
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import RESERVED, Tagged
from tidegate.rules.access import Access
from tidegate.texts.sentences import listed

_STACK = "stack_name:"
#: The fields of how a root is deployed, as sentences name them.
_WORDS = {
    "name": "the name",
    "dir": "the directory or workspace",
    "workspace": "the directory or workspace",
    "engine": "the engine",
    "environment": "the environment",
    "variables": "variables",
    "plan": "plan steps",
    "apply": "apply steps",
    "masks": "masks",
    "clone": "clone",
    "aws": "the account (aws)",
    "google": "service accounts (google)",
    "azure": "applications (azure)",
    "cluster": "the cluster",
    "destroy": "destroy",
}


@dataclass(frozen=True, slots=True)
class ConfiguredRoot:
    """One root in one of its stacks. ``tagged`` has the tags of the root, of its stack and of its stack groups.

    The engine of ``root`` is the one that runs here. ``shared`` tells that the root is in several stacks. ``access``
    is None where the file has no access control. ``workflow`` is the tag query of its workflow, in quotes; without
    one it is empty. ``engine_file`` is the path of the file that chose the engine's version, if one of the
    repository's own did, or ``required_version``. ``destroy`` tells that what it made is destroyed.
    ``sources`` name for each thing that was decided the line of the file that did, 0 for what holds without one:
    ``root``, ``stack``, ``workflow``, ``engine``, ``plan_review``, ``access``, ``hooks``, ``plan`` and ``apply`` (their
    steps), ``environment``, ``aws``, ``google``, ``azure``, ``runner``, and ``variables.NAME`` for each variable.
    """

    root: Root
    tagged: Tagged
    when_modified: tuple[str, ...]
    stack: str = DEFAULT_STACK
    shared: bool = False
    depends_on: TagQuery | None = None
    autoplan: bool = True
    follow_modules: bool = True
    review_rule: ReviewRule = field(default_factory=ReviewRule)
    access: Access | None = None
    run: RunSettings = field(default_factory=RunSettings)
    workflow: str = ""
    sources: Mapping[str, int] = field(default_factory=dict, compare=False)
    engine_file: str = field(default="", compare=False)
    destroy: bool = False

    @property
    def key(self) -> Key:
        return self.root.name, self.stack

    @property
    def within(self) -> tuple[str, ...]:
        """The stack groups that contain its stack, by name."""
        names = {tag.removeprefix(_STACK) for tag in self.tagged.tags if tag.startswith(_STACK)}
        return tuple(sorted(names - {self.stack}))

    @property
    def tags(self) -> tuple[str, ...]:
        """Its own tags and those of branches, without those that every root has."""
        return tuple(sorted(tag for tag in self.tagged.tags if not tag.startswith(RESERVED)))

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.root, self.tagged, self.stack, self.depends_on)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of its account; none if it uses the installation's."""
        aws = self.run.aws
        way = (WEB_IDENTITY,) if aws and aws.web_identity else ()
        return (aws.plan_role, aws.apply_role, *way) if aws and aws.plan_role else ()

    @property
    def accounts(self) -> Mapping[str, object]:
        """Its cloud identities, by key: only the default branch grants them."""
        return {"aws": self.roles, "google": self.run.google, "azure": self.run.azure}

    @property
    def how(self) -> Mapping[str, object]:
        """How it is deployed, by field: a change deploys the root again."""
        parts = (self.root, self.run)
        values = {each.name: getattr(part, each.name) for part in parts for each in fields(part)}
        del values["runner"]  # Another runner deploys the same.
        return {**values, "destroy": self.destroy}


def how_changed(before: ConfiguredRoot, after: ConfiguredRoot) -> str:
    """Return the differences in how a root is deployed under two configurations, as text. There is at least one."""
    now = after.how
    return listed(list(dict.fromkeys(_WORDS[name] for name, was in before.how.items() if was != now[name])))


@dataclass(frozen=True, slots=True)
class ConfiguredRoots:
    """All roots in their stacks.

    ``refused`` says by the root's name what is wrong with it, such as that it matches several stacks: only changes that
    affect it, or the configuration, fail. ``held_back`` are these where they would be if valid: others may depend on
    them. ``left_out`` says why a root is in no stack, so that it never runs.
    """

    roots: tuple[ConfiguredRoot, ...]
    stacks: Mapping[str, Stack]
    refused: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    held_back: tuple[Candidate, ...] = ()
