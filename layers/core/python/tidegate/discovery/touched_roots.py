"""Which roots a commit's files affect: by their patterns, and by the modules that they use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice

from tidegate.config.engine_files import engine_file_of, is_engine_file
from tidegate.config.patterns import FilePatterns, root_patterns
from tidegate.discovery.find_roots import FoundByThemselves
from tidegate.discovery.root_index import RootIndex
from tidegate.ports import PushedTrees
from tidegate.roots.rules.discovery import Standing, directory_of, is_module_file, owner_of, strict_users_of, users_of
from tidegate.roots.rules.links import too_many
from tidegate.roots.rules.root import Root

#: Changed files outside of a root's directory that are checked, to name one in the reason.
_CHECKED = 10
#: Paths of all changed files, including those through links.
_MOST_PATHS = 2_000_000
#: Characters of a path that a sentence shows.
_SHOWN = 120


class TouchedRoots:
    """What changed files affect.

    A declared root is affected by every file that its patterns match. A discovered one is affected by files of its own
    module, and by every file matching a pattern that leaves its directory. Both are affected by files of the local
    modules that they use, directly or indirectly, unless the configuration excludes that. A file belongs to the nearest
    module around it.
    """

    def __init__(self, trees: PushedTrees, index: RootIndex) -> None:
        self._index = index
        links = index.modules.links
        reached = (path for change in trees.changes for path in (change.path, *links.seen_as(change.path)))
        self._paths = list(dict.fromkeys(islice(reached, _MOST_PATHS)))
        for path in reached:
            raise too_many(path, "too many symbolic links lead to changed files")
        self._submodules = [change.path for change in trees.changes if change.before is change.after is None]

    @cached_property
    def former(self) -> set[str]:
        """The directories that held a module before, which may have been a root, and hold none now."""
        changed = {directory_of(path) for path in self._paths if is_module_file(path)}
        gone = {place for place in changed if place not in self._index.modules.places}
        return set(filter(FoundByThemselves(self._index.configuration).may_be, gone))

    @property
    def anything(self) -> bool:
        """Whether any root may be affected, without reading a module."""
        return bool(self._declared or self._modules or self._engine_files or self._index.looks_around)

    @cached_property
    def names(self) -> set[str]:
        """The names of the affected roots, whether their directories exist or not."""
        names = set(self._declared)
        if self._index.looks_around:
            names |= self._index.outward_patterns.concerned(self._paths)
        return names | set(self._of_modules(self._modules)) | set(self._of_engine_files)

    @cached_property
    def _engine_files(self) -> set[str]:
        return set(filter(is_engine_file, self._paths))

    @cached_property
    def _of_engine_files(self) -> Mapping[str, str]:
        """The roots whose engine a changed or deleted file chooses, with these files."""
        if not self._engine_files:
            return {}
        paths = {*self._index.modules.engine_files, *self._engine_files}
        open_roots = self._index.leaving_engines_open
        found = {each.root.name: engine_file_of(each, paths) for each in open_roots}
        return {name: path for name, path in found.items() if path in self._engine_files}

    def _of_modules(self, changed: set[str]) -> Iterator[str]:
        """Yield the names of discovered roots, and of those that follow modules."""
        if not changed:
            return
        users = strict_users_of(changed, self._index.modules.modules)
        for place in changed | users:
            discovered = self._index.discovered_in.get(place, ())
            yield from discovered if place in changed else filter(self._index.follows, discovered)
        for place in users:
            yield from filter(self._index.follows, self._index.declared_in.get(place, ()))

    @cached_property
    def unmarked(self) -> list[str]:
        """The directories of changed modules that are no roots because nothing marks them."""
        own = FoundByThemselves(self._index.configuration)
        if not (own.any and self._modules):
            return []
        verdicts = self._index.modules.verdicts
        named = self._index.declared_in
        candidates = sorted(place for place in self._modules if place in verdicts and place not in named)
        alone = (place for place in candidates if verdicts[place].standing is Standing.UNMARKED)
        return [place for place in alone if own.may_be(place) and not own.is_root(place, Standing.UNMARKED)]

    @cached_property
    def places(self) -> set[str]:
        """The directories of changed modules, and of all that use these."""
        return users_of(self._modules, self._index.modules.modules) if self._modules else set()

    def why(self, root: Root) -> str:
        """Return why a root is affected whose own files are unchanged; nothing if they changed."""
        if root.dir in {"", "."} or any(path.startswith(f"{root.dir}/") for path in self._paths):
            return ""
        path = self._of_engine_files.get(root.name) or self._reached.get(root.name)
        if path is None:
            return "This commit changes files that the root uses outside of its directory."
        return f"This commit changes {path if len(path) <= _SHOWN else path[:_SHOWN] + '…'}, which the root uses."

    @cached_property
    def _reached(self) -> dict[str, str]:
        """The first files that reach roots, by the roots' names."""
        found: dict[str, str] = {}
        for path in self._paths[:_CHECKED]:
            for name in self._reached_by(path):
                found.setdefault(name, path)
        return found

    def _reached_by(self, path: str) -> Iterator[str]:
        yield from self._index.declared_patterns.concerned([path])
        if self._index.looks_around:
            yield from self._index.outward_patterns.concerned([path])
        owner = owner_of(path, self._index.modules, self.former) if self._index.reads_modules else None
        yield from self._of_modules({owner} if owner in self._modules else set())

    @cached_property
    def _declared(self) -> set[str]:
        return self._index.declared_patterns.concerned(self._paths)

    @cached_property
    def _modules(self) -> set[str]:
        """The directories of modules that changed files belong to: for each the nearest one at or above it."""
        if not self._index.reads_modules:
            return set()
        owners = (self._index.modules, self.former)
        patterns: dict[str, FilePatterns] = {}
        changed: set[str] = set()
        for path in self._paths:
            place = owner_of(path, *owners)
            if place is None or place in changed:
                continue
            if place not in patterns:
                patterns[place] = root_patterns(place, self._patterns(place))
            if patterns[place].match(path):
                changed.add(place)
        return changed | self._in_submodules

    @property
    def _in_submodules(self) -> set[str]:
        """The directories in changed submodules that modules use: their content is not in this repository."""
        if not self._submodules:
            return set()
        used = {place for module in self._index.modules.modules.values() for place in module.uses}
        return {place for place in used if any(f"{place}/".startswith(f"{path}/") for path in self._submodules)}

    def _patterns(self, place: str) -> tuple[str, ...]:
        """Return the patterns of a module: of the roots that it may be, in any workspace, or else those of all."""
        workspaces = {each.workspace or "default" for each in self._index.configuration.globs} or {"default"}
        declarations = self._index.declarations
        here = [declarations.of(Root("", place, workspace)).when_modified for workspace in sorted(workspaces)]
        own = (pattern for patterns in here for pattern in patterns if "../" not in pattern)
        return tuple(dict.fromkeys(own))
