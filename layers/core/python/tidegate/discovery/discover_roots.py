"""Discover what a commit changes: roots in their stacks, by the configuration and by the directories' content."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tidegate.changes.rules.change_set import CHANGED, Candidate, Key
from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots, how_changed
from tidegate.config.loaded import LoadedConfiguration, without_file
from tidegate.config.loader import Around, load_configuration
from tidegate.config.matchless import matchless
from tidegate.config.model.file import FILE
from tidegate.config.resolution import configure
from tidegate.config.rule_changes import UNKNOWN_BEFORE, changed_files, rule_changes
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.discovery.find_roots import CommitModules
from tidegate.discovery.root_index import Configure, Deployable, RootIndex, Selection
from tidegate.discovery.touched_roots import TouchedRoots
from tidegate.ports import FileChange, PushedTrees
from tidegate.roots.rules.root import Root
from tidegate.rules.errors import InvalidConfiguration

#: Directories that a sentence names, and characters of each.
_NAMED, _SHOWN = 5, 120
_NEW = "This commit's tidegate.yaml adds the root, or moves it to another stack."


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read the configuration of a commit of ``repository``.

    ``around`` is the surrounding configuration, such as the default review rule; ``configuring`` assigns roots to
    stacks.
    """

    repository: str
    around: Around = PlanReview.ALWAYS
    configuring: Configure = configure

    def of(self, blob: str | None, contents: Mapping[str, bytes]) -> LoadedConfiguration:
        """Return the configuration with this blob, if any. Raise InvalidConfiguration."""
        return load_configuration(contents[blob] if blob else None, self.repository, self.around)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a commit changes and pulls in, each member after its dependencies.

    ``refused`` has a sentence for each root that cannot be deployed until something is corrected, ``notes`` for other
    remarks; ``skips`` tells whether a note is about a touched root that the configuration excludes. ``kept`` are the
    names of touched roots that only people deploy. ``configures`` tells whether the commit changes the configuration,
    ``configuration`` is its content. ``rule_changes`` are the commit's changes to what runs or grants something, as
    text. ``gone`` are the directories that may have held a root before, and hold none now. ``returning`` are the roots
    in stacks that the previous configuration lacks (or is invalid): earlier commits may have deployed nothing of them.
    ``warnings`` are sentences on parts of a changed configuration that match nothing. ``index`` serves the discovery of
    the next commit.
    """

    index: RootIndex = field(compare=False)
    members: tuple[Deployable, ...] = ()
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skips: bool = False
    configures: bool = False
    configuration: LoadedConfiguration = field(default_factory=without_file, compare=False)
    kept: tuple[str, ...] = ()
    rule_changes: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    returning: frozenset[Key] = frozenset()
    warnings: tuple[str, ...] = ()

    @property
    def all_roots(self) -> AllRoots:
        """All roots of the commit."""
        index = self.index
        return AllRoots(index.configured, tuple(sorted(root.name for root in index.found.roots)), self.configuration)

    @property
    def roots(self) -> tuple[Root, ...]:
        """The roots by name, each once."""
        roots = {each.member.root.name: each.member.root for each in self.members}
        return tuple(roots[name] for name in sorted(roots))


@dataclass(frozen=True, slots=True)
class AllRoots:
    """All roots of a commit, in their stacks, and its ``configuration``."""

    configured: ConfiguredRoots
    names: tuple[str, ...]
    configuration: LoadedConfiguration = field(default_factory=without_file, compare=False)
    roots: tuple[Root, ...] = ()

    def problems(self, names: Iterable[str]) -> list[str]:
        """Return a sentence for each of the named roots that is in no stack."""
        return [*_refused(self.configured, names), *_left_out(self.configured, names)]

    def named(self, names: Collection[str]) -> tuple[Deployable, ...]:
        """Return the named roots, in all of their stacks, without those that they pull in. Raise CyclicChange."""
        return self.chosen({each.key for each in self.configured.roots if each.root.name in names})

    def chosen(self, keys: Collection[Key]) -> tuple[Deployable, ...]:
        """Return these roots in these stacks, without those that they pull in. Raise CyclicChange."""
        chosen = [each for each in self.configured.roots if each.key in keys]
        return Selection(self.configured, chosen).deployables([each.key for each in chosen])


def discover_roots(
    trees: PushedTrees, reading: Reading, *, by_hand: bool = False, known: RootIndex | None = None
) -> Discovery:
    """Return what the commit changes. Raise InvalidConfiguration if its configuration is invalid, and CyclicChange.

    ``by_hand`` tells that a person asks: then roots excluded from merges count, too. ``known`` is the previous commit's
    index, made with the same ``reading``: it is consumed, and saves the work that does not depend on the changes.
    """
    own = next((change for change in trees.changes if change.path == FILE), None)
    if not trees.before_is_known or (known and known.modules.are_linked(trees.changes)):
        known = None
    after = (own.after if own else None) if known else trees.files.get(FILE)
    contents = trees.read({blob for blob in (after, own.before if own else None) if blob})
    pushed = _Pushed(trees, reading, own, contents)
    index = pushed.index(known)
    search = _Search(pushed, index)
    members = search.members(by_hand=by_hand)
    return Discovery(
        index,
        members,
        tuple(search.refused),
        tuple(dict.fromkeys((*search.notes, *search.skipped))),
        bool(search.skipped),
        own is not None and own.after is not None,
        index.configuration,
        tuple(search.kept),
        search.rule_changes(),
        frozenset(search.gone),
        search.returning(),
        search.warnings(),
    )


def read_configuration(trees: PushedTrees, reading: Reading) -> LoadedConfiguration:
    """Return the newer commit's configuration, as ``discover_roots`` does."""
    blob = trees.files.get(FILE)
    return reading.of(blob, trees.read({blob} if blob else ()))


def all_roots(trees: PushedTrees, reading: Reading) -> AllRoots:
    """Return all roots of the newer commit. Raise InvalidConfiguration if its configuration is invalid."""
    configuration = read_configuration(trees, reading)
    index = RootIndex(CommitModules(trees), reading.repository, configuration, reading.configuring)
    names = tuple(sorted(root.name for root in index.found.roots))
    return AllRoots(index.configured, names, configuration, index.found.roots)


@dataclass(frozen=True, slots=True)
class _Pushed:
    """The push and its configuration: ``own`` is the file's change, ``contents`` its versions by blob."""

    trees: PushedTrees
    reading: Reading
    own: FileChange | None
    contents: Mapping[str, bytes]

    def configuration(self, blob: str | None) -> LoadedConfiguration:
        """Return a version of the configuration. Raise InvalidConfiguration."""
        return self.reading.of(blob, self.contents)

    def index(self, known: RootIndex | None) -> RootIndex:
        """Return the index of the newer commit: the known one, as far as the changes allow."""
        if known is None:
            configuration = self.configuration(self.trees.files.get(FILE))
            modules = CommitModules(self.trees)
            return RootIndex(modules, self.reading.repository, configuration, self.reading.configuring)
        same = known.modules.advance(self.trees, uses_count=known.reads_modules)
        if self.own is not None:
            return known.other(self.configuration(self.own.after))
        return known if same else known.other(known.configuration)


class _Search:
    """Searches for what a commit changes; collects ``refused``, ``skipped``, ``kept`` and ``notes``."""

    def __init__(self, pushed: _Pushed, index: RootIndex) -> None:
        self._pushed, self._own = pushed, pushed.own
        self._index = index
        self._touched = TouchedRoots(pushed.trees, index)
        self.refused: list[str] = []
        self.skipped: list[str] = []
        self.kept: list[str] = []
        self.gone = set(self._touched.former)
        self.notes = [_gone(place) for place in sorted(self.gone)]

    def members(self, *, by_hand: bool) -> tuple[Deployable, ...]:
        if self._own is None and not self._touched.anything:
            return ()
        self._tell()
        touched = (each for name in self._touched.names for each in self._index.by_name.get(name, ()))
        changed = {each.key: each for each in (*touched, *self._anew())}
        selection = self._index.by_hand if by_hand else self._index.of_merges
        members = selection.deployables(changed)
        refused = selection.after(members, self._refused_anew())
        kept = [] if by_hand else [changed[key] for key in sorted(changed) if not changed[key].autoplan]
        self.skipped += map(_kept, kept)
        self.kept += sorted({each.root.name for each in kept})
        looked_at = selection.after(members, [each.candidate for each in kept])
        return tuple(self._explained(_waiting(each, refused, looked_at)) for each in members)

    def rule_changes(self) -> tuple[str, ...]:
        """Return the commit's changes to what runs programs or grants something."""
        trees, index = self._pushed.trees, self._index
        if not trees.before_is_known:
            return UNKNOWN_BEFORE
        paths = [change.path for change in trees.changes]
        if self._own is None:
            return changed_files(index.configuration, paths)
        earlier = self._earlier
        before = (earlier.configuration, earlier.configured) if earlier else None
        return rule_changes(before, (index.configuration, index.configured), paths)

    def returning(self) -> frozenset[Key]:
        """Return the roots in stacks that are new in the configuration."""
        if self._own is None:
            return frozenset()
        before = {each.key for each in self._earlier.configured.roots} if self._earlier else set()
        return frozenset(each.key for each in self._index.configured.roots if each.key not in before)

    def warnings(self) -> tuple[str, ...]:
        """Return the parts of a changed configuration that match nothing."""
        if self._own is None or self._own.after is None:
            return ()
        return matchless(self._index.configuration, self._index.configured, self._pushed.trees.files)

    def _explained(self, each: Deployable) -> Deployable:
        """Return a member with the reason why it is affected, if none of its own files changed."""
        member = each.member
        if member.why != CHANGED:
            return each
        is_touched = member.root.name in self._touched.names
        why = self._touched.why(member.root) if is_touched else self._by_configuration(each.configured)
        return replace(each, member=replace(member, why=why)) if why else each

    def _by_configuration(self, one: ConfiguredRoot) -> str:
        """Return the configuration change that makes an otherwise unaffected root run."""
        if self._earlier is None:
            return "The tidegate.yaml before this commit was invalid, so Tidegate treats every root as new."
        before = next((each for each in self._earlier.configured.roots if each.key == one.key), None)
        return f"This commit changes {how_changed(before, one)} of the root in tidegate.yaml." if before else _NEW

    def _refused_anew(self) -> list[Candidate]:
        """Return the roots that the commit changes, or refuses by its configuration, where they would be if valid."""
        touched, configured = self._touched.names, self._index.configured
        before = configured.refused if self._own is None else self._earlier.configured.refused if self._earlier else {}
        refused = [each for each in configured.held_back if each.root.name in touched or each.root.name not in before]
        places = self._touched.places & self._index.found.misnamed.keys()
        misnamed = (
            self._index.configured_as(Root(_harmless(place), place) for place in sorted(places)) if places else None
        )
        if misnamed is None:
            return refused
        return [*refused, *(each.candidate for each in misnamed.roots), *misnamed.held_back]

    def _tell(self) -> None:
        """Note which touched roots are not deployed; after a change of the configuration, of all roots."""
        found, configured, touched = self._index.found, self._index.configured, self._touched.names
        told = touched if self._own is None else touched | {root.name for root in found.roots}
        unnamed = self._unnamed()
        gone = {root.dir: None for root in found.gone if self._own or root.name in touched}
        gone |= {root.dir: None for root in unnamed if root.dir not in self._index.modules}
        self.gone.update(gone, (root.dir for root in unnamed), self._touched.unmarked)
        self.notes += [*map(_gone, gone), *(_unnamed(root) for root in unnamed if root.dir not in gone)]
        self.notes += _unmarked(self._touched.unmarked)
        self.skipped += _left_out(configured, told)
        places = self._touched.places | self._misnamed_anew()
        self.refused += [found.misnamed[place] for place in sorted(found.misnamed) if place in places]
        self.refused += _refused(configured, told)

    def _unnamed(self) -> list[Root]:
        """Return the roots that only the previous configuration names, and that no longer exist under any name."""
        if self._own is None or self._earlier is None:
            return []
        places, before = {(root.dir, root.workspace) for root in self._index.found.roots}, self._earlier.found
        return [root for root in (*before.declared, *before.gone) if (root.dir, root.workspace) not in places]

    def _anew(self) -> Iterable[ConfiguredRoot]:
        """Return what the commit reconfigures: put in a stack, moved, or with another engine or other steps.

        After an invalid configuration every root counts as new: pushes under it were not deployed.
        """
        if self._own is None:
            return ()
        before = {each.key: each.how for each in self._earlier.configured.roots} if self._earlier else {}
        return (each for each in self._index.configured.roots if before.get(each.key) != each.how)

    def _misnamed_anew(self) -> set[str]:
        """Return the directories whose names are newly invalid because the configuration changed."""
        if self._own is None:
            return set()
        return self._index.found.misnamed.keys() - (self._earlier.found.misnamed.keys() if self._earlier else ())

    @cached_property
    def _earlier(self) -> RootIndex | None:
        """Return the same commit by the previous configuration, None if that was invalid."""
        try:
            blob = self._own.before if self._own else None
            return self._index.other(self._pushed.configuration(blob))
        except InvalidConfiguration:
            return None


def _refused(configured: ConfiguredRoots, names: Iterable[str]) -> Iterator[str]:
    return (f"{name}: {configured.refused[name]}" for name in sorted(names) if name in configured.refused)


def _left_out(configured: ConfiguredRoots, names: Iterable[str]) -> Iterator[str]:
    return (f"{name}: {configured.left_out[name]}" for name in sorted(names) if name in configured.left_out)


def _harmless(place: str) -> str:
    """Return a printable name for a directory that cannot be a root's name."""
    return re.sub(r"[^A-Za-z0-9._/-]", "?", place)[:100]


def _waiting(
    each: Deployable, refused: Mapping[Key, tuple[Key, ...]], by_hand: Mapping[Key, tuple[Key, ...]]
) -> Deployable:
    key = each.member.key
    if not (refused.get(key) or by_hand.get(key)):
        return each
    waits = replace(each.member.waits, refused=refused.get(key, ()), by_hand=by_hand.get(key, ()))
    return replace(each, member=replace(each.member, waits=waits))


def _kept(each: ConfiguredRoot) -> str:
    return f"{each.root.name}: the root changed, but merges do not deploy it (autoplan: false). Deploy it manually."


def _unnamed(root: Root) -> str:
    return f"{root.name}: tidegate.yaml no longer declares it as a root. Nothing is deployed or destroyed."


def _unmarked(places: Sequence[str]) -> Iterator[str]:
    if places:
        names, more = ", ".join(f"{place[:_SHOWN]!a}" for place in places[:_NAMED]), len(places) - _NAMED
        yield (
            "Tidegate treats these directories as modules, not as roots: "
            f"{names}{f' and {more} more' if more > 0 else ''}. No root uses them, and they have no backend, cloud or "
            "provider block and no lock file. To make one a root, set 'root: true' for it under dirs in "
            "tidegate.yaml."
        )


def _gone(place: str) -> str:
    return f"The directory {place!a} contains no root module (any more). Nothing is deployed or destroyed."
