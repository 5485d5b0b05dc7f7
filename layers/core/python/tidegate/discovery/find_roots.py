"""Find the roots of a commit: declared ones, and root modules."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidegate.config.declarations import DeclaredGlob
from tidegate.config.engine_files import is_engine_file
from tidegate.config.loaded import LoadedConfiguration
from tidegate.deploys.rules.cluster import ProviderName
from tidegate.ports import FileChange, PushedTrees
from tidegate.roots.rules.discovery import (
    LOCK_FILE,
    TOP,
    Module,
    Standing,
    Verdict,
    check_directories,
    default_root_name,
    directory_of,
    is_module_file,
    modules_in,
    used_by,
)
from tidegate.roots.rules.links import Links
from tidegate.roots.rules.module_file import ModuleFile, read_module_file
from tidegate.roots.rules.root import Root, directory, root_name
from tidegate.roots.rules.terms import directory_fits
from tidegate.rules.errors import InvalidName

_DEFAULT = "default"
_NOTHING = ModuleFile()


class CommitModules:
    """The modules of a commit. One request fetches all of their files, on first use."""

    def __init__(self, trees: PushedTrees) -> None:
        self._read = trees.read
        self.links = _links(trees)
        self._files = dict(_module_files(trees, self.links))
        self._engines = {path: blob for path, blob in trees.files.items() if is_engine_file(path)}
        self._counted = Counter(directory_of(path) for path in self._files)
        self._locked = {directory_of(path) for path in trees.files if _is_lock_file(path)}
        self._said: dict[str, ModuleFile] | None = None
        self._modules: Mapping[str, Module] | None = None
        self._verdicts: Mapping[str, Verdict] = {}

    @property
    def places(self) -> Collection[str]:
        """The directories of modules."""
        return self._counted.keys()

    @property
    def modules(self) -> Mapping[str, Module]:
        """The modules by directory."""
        if self._said is None:
            self._said = self._told(self._files)
        if self._modules is None:
            self._modules = modules_in(self._said, self.links, self._locked & self._counted.keys())
            self._verdicts = check_directories(self._modules)
        return self._modules

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Which directories are root modules where the configuration leaves it open, and why."""
        return self._verdicts if self.modules else {}

    @property
    def engine_files(self) -> Mapping[str, bytes]:
        """The files that choose engines, by path, with their content."""
        contents = self._read(set(self._engines.values())) if self._engines else {}
        return {path: contents[blob] for path, blob in self._engines.items()}

    def required(self, place: str) -> tuple[str, ...]:
        """Return the engine versions that a directory's module requires."""
        module = self.modules.get(self.links.place(place) or place)
        return module.required if module else ()

    def __contains__(self, place: object) -> bool:
        """Tell whether a directory, or its link target, holds a module."""
        return place in self._counted or (bool(self.links) and self.links.place(str(place)) in self._counted)

    def leading_out(self, place: str) -> str | None:
        """Return a module file that links out of the repository, in a directory or a module that it uses."""
        files = {directory_of(link): link for link in sorted(self.links.outside) if is_module_file(link)}
        if not files:
            return None
        places = sorted({place, self.links.place(place) or place, *used_by(place, self.modules)})
        return next((files[each] for each in places if each in files), None)

    def are_linked(self, changes: Iterable[FileChange]) -> bool:
        """Tell whether changed files are links or link targets: then everything is computed again."""
        return any(each.link or any(self.links.seen_as(each.path)) for each in changes)

    def advance(self, trees: PushedTrees, *, uses_count: bool) -> bool:
        """Advance to the next commit, and tell whether the results still hold.

        ``uses_count`` tells whether the modules' own references matter, or only their locations. Only changes take
        time.
        """
        self._read = trees.read
        changed = {change.path: change.after for change in trees.changes if is_module_file(change.path)}
        same = self._count(changed)
        for change in trees.changes:
            if is_engine_file(change.path):
                same = False
                self._engines.pop(change.path, None)
                if change.after is not None:
                    self._engines[change.path] = change.after
        same &= self._lock(trees.changes) or not uses_count
        if not uses_count:
            same &= not changed
            self._said = self._modules = None
        if self._said is not None:
            told = self._told({path: blob for path, blob in changed.items() if blob is not None})
            same &= all(told.get(path, _NOTHING) == self._said.get(path, _NOTHING) for path in changed)
            for path in changed:
                self._said.pop(path, None)
            self._said.update(told)
        if not same:
            self._modules = None
        return same

    def _lock(self, changes: Iterable[FileChange]) -> bool:
        """Apply changes of lock files, and tell whether none was added or removed."""
        before = frozenset(self._locked)
        for change in changes:
            if _is_lock_file(change.path):
                self._locked.discard(directory_of(change.path))
                if change.after is not None:
                    self._locked.add(directory_of(change.path))
        return before == self._locked

    def _count(self, changed: Mapping[str, str | None]) -> bool:
        """Apply file changes, and tell whether all directories stay."""
        before = {place: place in self._counted for place in map(directory_of, changed)}
        for path, blob in changed.items():
            place = directory_of(path)
            self._counted[place] += (blob is not None) - (path in self._files)
            if blob is None:
                self._files.pop(path, None)
            else:
                self._files[path] = blob
        for place in before:
            if not self._counted[place]:
                del self._counted[place]
        return all((place in self._counted) is there for place, there in before.items())

    def _told(self, files: Mapping[str, str]) -> dict[str, ModuleFile]:
        contents = self._read(set(files.values()))
        return {path: read_module_file(path, contents[blob]) for path, blob in files.items()}


def _is_lock_file(path: str) -> bool:
    return posixpath.basename(path) == LOCK_FILE


def _links(trees: PushedTrees) -> Links:
    """Return the links of a commit. Most have none, and then nothing is read."""
    if not trees.links:
        return Links()
    texts = trees.read({trees.files[path] for path in trees.links})
    return Links({path: texts[trees.files[path]].decode("utf-8", "surrogateescape") for path in trees.links})


def _module_files(trees: PushedTrees, links: Links) -> Iterator[tuple[str, str]]:
    """Yield module files with content ids. A link has its target's."""
    for path, blob in trees.files.items():
        if not is_module_file(path):
            continue
        place = links.place(path) if path in links else path
        if place is not None and place in trees.files:
            yield path, trees.files[place] if path in links else blob


@dataclass(frozen=True, slots=True)
class FoundRoots:
    """The roots of a commit. ``declared`` are in the configuration, ``discovered`` are root modules.

    ``gone`` are declared roots whose directories hold no module. ``misnamed`` says by directory why a module is no
    root: because of its name, or of a link that leaves the repository.
    """

    declared: tuple[Root, ...]
    discovered: tuple[Root, ...]
    gone: tuple[Root, ...]
    misnamed: Mapping[str, str]

    @property
    def roots(self) -> tuple[Root, ...]:
        return self.declared + self.discovered


class FoundByThemselves:
    """Which modules are roots without being declared, and in which workspaces."""

    def __init__(self, configuration: LoadedConfiguration) -> None:
        self._all = configuration.roots is None
        self._sections = sorted(configuration.globs, key=lambda each: ("*" in each.pattern, -len(each.pattern)))
        self._found: dict[str, DeclaredGlob | None] = {}

    @property
    def any(self) -> bool:
        """Whether there may be any."""
        return self._all or bool(self._sections)

    def section(self, place: str) -> DeclaredGlob | None:
        """Return the configuration of a directory: its own, or that of the longest matching pattern."""
        if place not in self._found:
            fitting = (each for each in self._sections if directory_fits(each.pattern, place))
            self._found[place] = next(fitting, None)
        return self._found[place]

    def may_be(self, place: str) -> bool:
        """Tell whether the module in a directory may be a root."""
        section = self.section(place)
        return self._all if section is None else section.root is not False

    def is_root(self, place: str, standing: Standing) -> bool:
        """Tell whether it is one: if the configuration leaves it open, the directory's content decides."""
        section = self.section(place)
        wanted = {Standing.ROOT, Standing.UNMARKED} if section and section.root else {Standing.ROOT}
        return standing in wanted and (self._all if section is None else section.root is not False)

    def workspaces(self, place: str) -> list[str]:
        """Return the workspaces in which it is a root."""
        section = self.section(place)
        if section is None:
            return [_DEFAULT]
        return [each.workspace or _DEFAULT for each in self._sections if each.pattern == section.pattern]


def find_roots(commit: CommitModules, repository: str, configuration: LoadedConfiguration) -> FoundRoots:
    """Return the roots of a commit by a configuration, its own or an earlier one."""
    declared = [each.root for each in configuration.declared]
    misnamed = _leading_out(commit, [root.dir for root in declared])
    needs_none = _clusters_without_module(configuration)
    gone = tuple(root for root in declared if root.dir not in commit and root.name not in needs_none)
    there = tuple(root for root in declared if root not in gone and root.dir not in misnamed)
    discovered: Iterable[Root] = ()
    rule = FoundByThemselves(configuration)
    if rule.any:
        own = {root.dir for root in declared if root.name not in needs_none}
        verdicts = commit.verdicts.items()
        places = [place for place, each in verdicts if place not in own and rule.is_root(place, each.standing)]
        misnamed |= _leading_out(commit, places)
        places = [place for place in places if place not in misnamed]
        discovered = _named(_discovered(rule, repository, places), {root.name for root in declared}, misnamed)
    return FoundRoots(there, tuple(discovered), gone, misnamed)


def _clusters_without_module(configuration: LoadedConfiguration) -> set[str]:
    """Return the names of clusters whose provider needs no root module: planning says so if their file is missing."""
    clusters = {name: each.cluster for name, each in configuration.declarations.items() if each.cluster}
    return {name for name, each in clusters.items() if each.provider is not ProviderName.TERRAFORM}


def _leading_out(commit: CommitModules, places: Iterable[str]) -> dict[str, str]:
    """Return by directory why it is no root: a link in it, or in a module that it uses, leaves the repository."""
    if not commit.links.outside:
        return {}
    found = {place: commit.leading_out(place) for place in places}
    return {
        place: f"{link!a} is a symbolic link that points outside of the repository. Replace it by a file."
        for place, link in found.items()
        if link
    }


def _discovered(rule: FoundByThemselves, repository: str, places: Iterable[str]) -> Iterator[Root]:
    """Yield modules as roots under any name, first the one at the top, which keeps its name."""
    for place in sorted(places, key=lambda place: (place != TOP, place)):
        name = default_root_name(repository, place)
        for workspace in rule.workspaces(place):
            yield Root(name if workspace == _DEFAULT else f"{name}/{workspace}", place, workspace)


def _named(roots: Iterable[Root], taken: Collection[str], misnamed: dict[str, str]) -> list[Root]:
    """Return the roots with valid names, and add a sentence for each of the others."""
    found: dict[str, Root] = {}
    for root in roots:
        try:
            _check(root, found, taken)
        except InvalidName as error:
            misnamed[root.dir] = str(error)
        else:
            found[root.name] = root
    return list(found.values())


def _check(root: Root, *taken: Collection[str]) -> None:
    directory(root.dir)
    root_name(root.name)
    if any(root.name in names for names in taken):
        raise InvalidName("root name", root.name, "another root has the same name; rename one of them")
