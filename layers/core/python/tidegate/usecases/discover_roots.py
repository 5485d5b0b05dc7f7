"""Discover the roots that a push changes: by the configuration file, or else by what the directories hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from tidegate.config.loader import DeclaredRoot, LoadedConfiguration, load_configuration, without_file
from tidegate.config.matcher import changed_roots
from tidegate.config.model import FILE
from tidegate.config.patterns import matches, root_patterns
from tidegate.domain.errors import InvalidConfiguration, InvalidName
from tidegate.domain.module_file import read_module_file
from tidegate.domain.review_rule import PlanReview
from tidegate.domain.root import Engine, Root, directory, root_name
from tidegate.domain.root_discovery import (
    TOP,
    Module,
    default_root_name,
    directory_of,
    is_module_file,
    modules_in,
    owner_of,
    root_directories,
    users_of,
)
from tidegate.ports import FileChange, PushedTrees


@dataclass(frozen=True, slots=True)
class Discovery:
    """The roots that a push changes, by name; a sentence for each refused one, and for what else was seen.

    ``configured`` are the roots that the configuration file names, by name, or None when it leaves them to
    be found; ``configures`` tells whether the push brings this file, and ``configuration`` is what it says.
    """

    roots: tuple[Root, ...]
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    configures: bool = False
    configured: tuple[str, ...] | None = None
    configuration: LoadedConfiguration = field(default_factory=without_file, compare=False)


def discover_roots(trees: PushedTrees, repository: str, review: PlanReview = PlanReview.ALWAYS) -> Discovery:
    """Return what the push changes. Raise InvalidConfiguration when the file after it cannot be used.

    ``review`` tells which plans wait for people where the file does not.
    """
    own = next((change for change in trees.changes if change.path == FILE), None)
    read = trees.read({blob for blob in (trees.files.get(FILE), own.before if own else None) if blob})
    configuration = _loaded(trees, read, repository, review)
    earlier = _Earlier(own, read, repository)
    configures = own is not None and own.after is not None
    if configuration.roots is not None:
        declared = _declared(configuration.roots, trees, earlier)
        names = sorted(each.root.name for each in configuration.roots)
        return replace(declared, configures=configures, configured=tuple(names), configuration=configuration)
    return replace(_discovered(configuration, trees, earlier), configures=configures, configuration=configuration)


def read_configuration(
    trees: PushedTrees, repository: str, review: PlanReview = PlanReview.ALWAYS
) -> LoadedConfiguration:
    """Return what the file of the newer commit says, as ``discover_roots`` does."""
    return _loaded(trees, trees.read({trees.files[FILE]} if FILE in trees.files else ()), repository, review)


def all_roots(trees: PushedTrees, repository: str) -> tuple[Root, ...]:
    """Return all roots of the newer commit, by name. Raise InvalidConfiguration when its file cannot be used."""
    configuration = read_configuration(trees, repository)
    files = {path: blob for path, blob in trees.files.items() if is_module_file(path)}
    if configuration.roots is not None:
        present = {directory_of(path) for path in files}
        return _by_name(each.root for each in configuration.roots if each.root.dir in present)
    modules = _modules(trees, files)
    roots, _ = _selected(configuration.engine, modules, set(modules), _Earlier(None, {}, repository))
    return _by_name(roots)


def _loaded(trees: PushedTrees, read: Mapping[str, bytes], repository: str, review: PlanReview) -> LoadedConfiguration:
    if FILE not in trees.files:
        return without_file(review)
    return load_configuration(read[trees.files[FILE]], repository, review)


class _Earlier:
    """The roots as they were configured before the push."""

    def __init__(self, own: FileChange | None, read: Mapping[str, bytes], repository: str) -> None:
        self.repository = repository
        self.changed = own is not None
        self._configuration: LoadedConfiguration | None = without_file()
        if own is not None and own.before is not None:
            try:
                self._configuration = load_configuration(read[own.before], repository)
            except InvalidConfiguration:
                self._configuration = None

    def differs(self, root: Root) -> bool:
        """Tell whether the push itself configures ``root`` anew.

        After a file that could not be used every root counts as new: what was pushed under it was not deployed.
        """
        if not self.changed:
            return False
        if self._configuration is None:
            return True
        if self._configuration.roots is None:
            name = default_root_name(self.repository, root.dir)
            return root != Root(name, root.dir, engine=self._configuration.engine)
        return root not in {declared.root for declared in self._configuration.roots}


def _declared(declared: Collection[DeclaredRoot], trees: PushedTrees, earlier: _Earlier) -> Discovery:
    touched = {each.root.name for each in changed_roots(declared, [change.path for change in trees.changes])}
    concerned = [each.root for each in declared if each.root.name in touched or earlier.differs(each.root)]
    present = {directory_of(path) for path in trees.files if is_module_file(path)}
    told = [each.root for each in declared] if earlier.changed else concerned
    return Discovery(
        roots=_by_name(root for root in concerned if root.dir in present),
        notes=tuple(_gone(root.dir) for root in told if root.dir not in present),
    )


def _discovered(configuration: LoadedConfiguration, trees: PushedTrees, earlier: _Earlier) -> Discovery:
    files = {path: blob for path, blob in trees.files.items() if is_module_file(path)}
    places = {directory_of(path) for path in files}
    former = {directory_of(change.path) for change in trees.changes if is_module_file(change.path)} - places
    notes = tuple(_gone(place) for place in sorted(former))
    changed = _changed_places(trees, configuration.when_modified, places | former)
    if not changed and not earlier.changed:
        return Discovery((), notes=notes)
    modules = _modules(trees, files)
    roots, refused = _selected(configuration.engine, modules, users_of(changed, modules), earlier)
    return Discovery(_by_name(roots), tuple(refused), notes)


def _changed_places(trees: PushedTrees, when_modified: tuple[str, ...], owners: set[str]) -> set[str]:
    """Return the directories of modules that changed files belong to: the nearest one at or above each."""
    changed: set[str] = set()
    patterns = {}
    for change in trees.changes:
        place = owner_of(change.path, owners)
        if place is None or place in changed:
            continue
        if place not in patterns:
            patterns[place] = root_patterns(place, when_modified)
        if matches(patterns[place], change.path):
            changed.add(place)
    return changed


def _modules(trees: PushedTrees, files: Mapping[str, str]) -> dict[str, Module]:
    """Return the modules of the repository; one request fetches all that they say."""
    contents = trees.read(set(files.values()))
    return modules_in({path: read_module_file(path, contents[blob]) for path, blob in files.items()})


def _selected(
    engine: Engine, modules: Mapping[str, Module], touched: Collection[str], earlier: _Earlier
) -> tuple[Iterable[Root], list[str]]:
    """Return the root modules that were touched or configured anew, and a sentence for each with a bad name."""
    roots: dict[str, Root] = {}
    refused: list[str] = []
    for place in sorted(root_directories(modules), key=lambda place: (place != TOP, place)):
        root = Root(default_root_name(earlier.repository, place), place, engine=engine)
        if place not in touched and not earlier.differs(root):
            continue
        try:
            _check_names(root, roots)
        except InvalidName as error:
            refused.append(str(error))
        else:
            roots[root.name] = root
    return roots.values(), refused


def _check_names(root: Root, taken: Mapping[str, Root]) -> None:
    directory(root.dir)
    root_name(root.name)
    if root.name in taken:
        raise InvalidName("root name", root.name, "the root at the repository's top has it; give one of them another")


def _by_name(roots: Iterable[Root]) -> tuple[Root, ...]:
    return tuple(sorted(roots, key=lambda root: root.name))


def _gone(place: str) -> str:
    return f"The directory {place!a} holds no root module (any more): nothing is deployed, and nothing destroyed."
