"""All that is known of a commit's roots: made once for a commit, it serves those that follow as long as it holds."""

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

#: Puts roots in their stacks by what a file says, as ``configure`` does.
Configure = Callable[[LoadedConfiguration, Iterable[Root]], ConfiguredRoots]
#: Repositories whose newest index is kept. One of 10,000 roots takes some 60 MB.
_KEPT = 8


@dataclass(frozen=True, slots=True)
class Deployable:
    """A member of a change set, and what holds for it."""

    member: Member
    configured: ConfiguredRoot


class Selection:
    """Some of the configured roots, to be asked what runs when some of them changed."""

    def __init__(self, configured: ConfiguredRoots, chosen: Iterable[ConfiguredRoot]) -> None:
        self._by_key = {each.key: each for each in chosen}
        self._stacks = configured.stacks
        self._candidates = Candidates((each.candidate for each in self._by_key.values()), configured.stacks)

    def deployables(self, changed: Collection[Key]) -> tuple[Deployable, ...]:
        """Return what runs when ``changed`` changed. Raise CyclicChange."""
        members = self._candidates.change_set(changed).members
        return tuple(Deployable(member, self._by_key[member.key]) for member in members)

    def after(self, deployables: Sequence[Deployable], others: Collection[Candidate]) -> Mapping[Key, tuple[Key, ...]]:
        """Return, by member, which of ``others`` it would wait for if they were part of the change.

        What they would pull in counts with them where it is no member itself. Raise CyclicChange.
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
    """The roots of a commit as a file has them, found out step by step as far as it is asked for."""

    def __init__(
        self, modules: CommitModules, repository: str, configuration: LoadedConfiguration, configuring: Configure
    ) -> None:
        self.modules = modules
        self.repository = repository
        self.configuration = configuration
        self._configuring = configuring

    def other(self, configuration: LoadedConfiguration) -> RootIndex:
        """Return the index of the same commit as another file has it."""
        return RootIndex(self.modules, self.repository, configuration, self._configuring)

    @cached_property
    def found(self) -> FoundRoots:
        """The roots."""
        return find_roots(self.modules, self.repository, self.configuration)

    @cached_property
    def leaving_engines_open(self) -> Sequence[ConfiguredRoot]:
        """The roots of which the configuration says no version of the engine."""
        return [each for each in self._configuring(self.configuration, self.found.roots).roots if leaves_open(each)]

    @cached_property
    def configured(self) -> ConfiguredRoots:
        """The roots in their stacks, with the engines that files choose where the configuration does not."""
        configured = self._configuring(self.configuration, self.found.roots)
        modules, limits = self.modules, self.configuration.limits
        return with_engine_files(configured, modules.engine_files, limits, modules.required)

    def configured_as(self, roots: Iterable[Root]) -> ConfiguredRoots:
        """Return what the file says of roots that need not be there."""
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
        """Tell whether changes of the local modules that a root uses change it."""
        own = self.configuration.declarations.get(name)
        return own.follow_modules if own else self._found_by_themselves[name]

    @cached_property
    def _found_by_themselves(self) -> Mapping[str, bool]:
        return {root.name: self.declarations.of(root).follow_modules for root in self.found.discovered}

    @cached_property
    def of_merges(self) -> Selection:
        """What a merge may deploy: all but what the file keeps for people."""
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
        """The patterns of the roots that the file names, whether they are there or not."""
        index = PatternIndex()
        for each in self.configuration.roots or ():
            index.add(each.root.name, each.root.dir, each.when_modified)
        return index

    @cached_property
    def outward_patterns(self) -> PatternIndex:
        """The patterns of discovered roots that lead out of their directories."""
        index = PatternIndex()
        for root in self.found.discovered:
            patterns = self.declarations.of(root).when_modified
            index.add(root.name, root.dir, [each for each in patterns if leads_out(each)])
        return index

    @property
    def discovers(self) -> bool:
        """Whether modules are roots although the file does not name them."""
        return self.configuration.roots is None or bool(self.configuration.globs)

    @cached_property
    def reads_modules(self) -> bool:
        """Whether it matters what modules use: where they are roots by themselves, and where roots follow them."""
        said = self.configuration.declarations.values()
        return self.discovers or any(each.follow_modules for each in said)

    @cached_property
    def looks_around(self) -> bool:
        """Whether a pattern of discovered roots may lead out of their directories."""
        said = (self.configuration.defaults, *(each.declaration for each in self.configuration.globs))
        return self.discovers and any(leads_out(pattern) for each in said for pattern in each.when_modified)


class RootIndexes:
    """The newest index of some repositories' branches, for as long as this process lives."""

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[str, str], tuple[str, RootIndex]] = LRUCache(_KEPT)

    def take(self, repository: str, branch: str, commit: str) -> RootIndex | None:
        """Return the index of a commit, if it is known. It is taken away: whoever fails with it shall not keep it."""
        sha, index = self._kept.pop((repository, branch), ("", None))
        return index if sha == commit else None

    def keep(self, repository: str, branch: str, commit: str, index: RootIndex) -> None:
        """Keep the index of a branch's newest commit."""
        self._kept[repository, branch] = commit, index
