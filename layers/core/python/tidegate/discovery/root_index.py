"""The index of a commit's roots, computed once and advanced to following commits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cachetools import LRUCache

from tidegate.changes.rules.change_set import Candidate, Candidates, Key, Member
from tidegate.changes.rules.waits import MOST_REFUSED
from tidegate.config.assignment import Declarations
from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.engine_files import leaves_open, with_engine_files
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.matcher import PatternIndex
from tidegate.config.patterns import leads_out
from tidegate.discovery.find_roots import CommitModules, FoundRoots, find_roots
from tidegate.roots.rules.root import Root

#: Assigns roots to stacks by a configuration, as ``configure`` does.
Configure = Callable[[LoadedConfiguration, Iterable[Root]], ConfiguredRoots]
#: Repositories whose newest index is cached. One of 10,000 roots takes some 60 MB.
_KEPT = 8


@dataclass(frozen=True, slots=True)
class Deployable:
    """A member of a change set, and its rules."""

    member: Member
    configured: ConfiguredRoot


class Selection:
    """Some configured roots, to query what runs when some of them changed."""

    def __init__(self, configured: ConfiguredRoots, chosen: Iterable[ConfiguredRoot]) -> None:
        self._by_key = {each.key: each for each in chosen}
        self._stacks = configured.stacks
        self._candidates = Candidates((each.candidate for each in self._by_key.values()), configured.stacks)

    def deployables(self, changed: Collection[Key]) -> tuple[Deployable, ...]:
        """Return what runs if ``changed`` changed. Raise CyclicChange."""
        members = self._candidates.change_set(changed).members
        return tuple(Deployable(member, self._by_key[member.key]) for member in members)

    def after(self, deployables: Sequence[Deployable], others: Collection[Candidate]) -> Mapping[Key, tuple[Key, ...]]:
        """Return each member's dependencies among ``others``, if they were part of the change.

        What they would pull in counts with them unless it is a member itself. Raise CyclicChange.
        """
        keys = {each.member.key for each in deployables}
        left_out = {each.key: each for each in others if each.key not in self._by_key}
        if not (left_out and keys):
            return {}
        candidates = (*(each.candidate for each in self._by_key.values()), *left_out.values())
        whole = Candidates(candidates, self._stacks).change_set({*keys, *left_out}).members
        return {each.key: _beyond(each, keys, left_out) for each in whole if each.key in keys}


def _beyond(member: Member, keys: Collection[Key], others: Collection[Key]) -> tuple[Key, ...]:
    waits = member.waits
    stacks = {*waits.plan_after, *waits.apply_after}
    inside = {(name, member.stack) for name in waits.roots} - set(keys)
    return tuple(sorted({*inside, *(key for key in others if key[1] in stacks)})[:MOST_REFUSED])


class RootIndex:
    """The roots of a commit by a configuration, computed as needed."""

    def __init__(
        self, modules: CommitModules, repository: str, configuration: LoadedConfiguration, configuring: Configure
    ) -> None:
        self.modules = modules
        self.repository = repository
        self.configuration = configuration
        self._configuring = configuring

    def other(self, configuration: LoadedConfiguration) -> RootIndex:
        """Return the index of the same commit by another configuration."""
        return RootIndex(self.modules, self.repository, configuration, self._configuring)

    @cached_property
    def found(self) -> FoundRoots:
        """The roots."""
        return find_roots(self.modules, self.repository, self.configuration)

    @cached_property
    def leaving_engines_open(self) -> Sequence[ConfiguredRoot]:
        """The roots whose engine version the configuration leaves open."""
        return [each for each in self._configuring(self.configuration, self.found.roots).roots if leaves_open(each)]

    @cached_property
    def configured(self) -> ConfiguredRoots:
        """The roots in their stacks, with engines chosen by files where the configuration leaves them open."""
        configured = self._configuring(self.configuration, self.found.roots)
        modules, limits = self.modules, self.configuration.limits
        return with_engine_files(configured, modules.engine_files, limits, modules.required)

    def configured_as(self, roots: Iterable[Root]) -> ConfiguredRoots:
        """Return the configuration of roots that need not exist."""
        return self._configuring(self.configuration, roots)

    @cached_property
    def by_name(self) -> Mapping[str, list[ConfiguredRoot]]:
        """The configured roots by name, each in all of its stacks."""
        found: dict[str, list[ConfiguredRoot]] = {}
        for each in self.configured.roots:
            found.setdefault(each.root.name, []).append(each)
        return found

    @cached_property
    def discovered_in(self) -> Mapping[str, list[str]]:
        """The names of discovered roots by directory."""
        found: dict[str, list[str]] = {}
        for root in self.found.discovered:
            found.setdefault(root.dir, []).append(root.name)
        return found

    @cached_property
    def declared_in(self) -> Mapping[str, list[str]]:
        """The names of declared roots by directory."""
        found: dict[str, list[str]] = {}
        for root in self.found.declared:
            found.setdefault(root.dir, []).append(root.name)
        return found

    def follows(self, name: str) -> bool:
        """Tell whether a root is affected by changes of its local modules."""
        own = self.configuration.declarations.get(name)
        return own.follow_modules if own else self._found_by_themselves[name]

    @cached_property
    def _found_by_themselves(self) -> Mapping[str, bool]:
        return {root.name: self.declarations.of(root).follow_modules for root in self.found.discovered}

    @cached_property
    def of_merges(self) -> Selection:
        """What a merge may deploy: all roots but those only for people."""
        return Selection(self.configured, (each for each in self.configured.roots if each.autoplan))

    @property
    def by_hand(self) -> Selection:
        """What a person may deploy: everything."""
        return Selection(self.configured, self.configured.roots)

    @cached_property
    def declarations(self) -> Declarations:
        """What the file says of each root."""
        return Declarations(self.configuration)

    @cached_property
    def declared_patterns(self) -> PatternIndex:
        """The patterns of declared roots, whether they exist or not."""
        index = PatternIndex()
        for each in self.configuration.declared:
            index.add(each.root.name, each.root.dir, each.when_modified)
        return index

    @cached_property
    def outward_patterns(self) -> PatternIndex:
        """The patterns of discovered roots that leave their directories."""
        index = PatternIndex()
        for root in self.found.discovered:
            patterns = self.declarations.of(root).when_modified
            index.add(root.name, root.dir, [each for each in patterns if leads_out(each)])
        return index

    @property
    def discovers(self) -> bool:
        """Whether undeclared modules are roots."""
        return self.configuration.roots is None or bool(self.configuration.globs)

    @cached_property
    def reads_modules(self) -> bool:
        """Whether the modules' references matter: for discovered roots, and for roots that follow modules."""
        said = self.configuration.declarations.values()
        return self.discovers or any(each.follow_modules for each in said)

    @cached_property
    def looks_around(self) -> bool:
        """Whether a pattern of discovered roots may leave their directories."""
        said = (self.configuration.defaults, *(each.declaration for each in self.configuration.globs))
        return self.discovers and any(leads_out(pattern) for each in said for pattern in each.when_modified)


class RootIndexes:
    """The newest index of some repositories' branches, for as long as this process lives."""

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[str, str], tuple[str, RootIndex]] = LRUCache(_KEPT)

    def take(self, repository: str, branch: str, commit: str) -> RootIndex | None:
        """Return a commit's index, if known. It is removed: after a failure it must not be used again."""
        sha, index = self._kept.pop((repository, branch), ("", None))
        return index if sha == commit else None

    def keep(self, repository: str, branch: str, commit: str, index: RootIndex) -> None:
        """Keep the index of a branch's newest commit."""
        self._kept[repository, branch] = commit, index
