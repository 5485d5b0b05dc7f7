"""Which directories are root modules, and which of them a change concerns."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidegate.domain.roots.links import Links
from tidegate.domain.roots.module_file import ModuleFile

TOP = "."
_SUFFIXES = (".tf", ".tf.json", ".tofu", ".tofu.json")
_LOCAL = ("./", "../")
#: Directories that are followed through links: some lead in cycles.
_MOST_LINKED = 1_000


@dataclass(frozen=True, slots=True)
class Module:
    """A directory that holds a module: the local modules it uses, and whether it says where its state lies.

    ``lent`` tells that other directories have links to all of its files. ``linked`` that it is one by a link only.
    ``required`` are the versions of the engine that it demands.
    """

    uses: frozenset[str]
    keeps_state: bool
    lent: bool = False
    linked: bool = False
    required: tuple[str, ...] = ()


def is_module_file(path: str) -> bool:
    """Tell whether a file makes its directory a module.

    Engines leave out files whose names begin with a dot, and what they download is none of the repository's.
    """
    return (
        path.endswith(_SUFFIXES)
        and not posixpath.basename(path).startswith(".")
        and ".terraform" not in path.split("/")
    )


def directory_of(path: str) -> str:
    """Return the directory of a file; ``.`` is the top."""
    return posixpath.dirname(path) or TOP


def default_root_name(repository: str, directory: str) -> str:
    """Return the name that a root has when nobody gave it one: its directory, or at the top the repository's name."""
    return repository.rpartition("/")[2] if directory == TOP else directory


def modules_in(files: Mapping[str, ModuleFile], links: Links) -> dict[str, Module]:
    """Return the modules by directory, given what every module file says, and those that are used through links."""
    sources: dict[str, set[str]] = {}
    keeping: set[str] = set()
    lent: dict[str, bool] = {}
    required: dict[str, tuple[str, ...]] = {}
    for path, file in files.items():
        place = directory_of(path)
        sources.setdefault(place, set()).update(file.sources)
        required[place] = required.get(place, ()) + file.required
        if file.keeps_state:
            keeping.add(place)
        elsewhere = any(directory_of(each) != place and is_module_file(each) for each in links.to(path))
        lent[place] = lent.get(place, True) and elsewhere
    found = {
        place: Module(_uses(place, said), place in keeping, lent[place], required=required[place])
        for place, said in sources.items()
    }
    return found | _linked(found, sources, links) if links else found


def _linked(found: Mapping[str, Module], sources: Mapping[str, set[str]], links: Links) -> dict[str, Module]:
    """Return the directories that are used through links: each uses what it leads to, and that from where it is."""
    more: dict[str, Module] = {}
    ahead = [used for module in found.values() for used in module.uses]
    while ahead and len(more) < _MOST_LINKED:
        place = ahead.pop()
        real = links.place(place)
        if place in found or place in more or real is None or real not in sources:
            continue
        more[place] = Module(_uses(place, sources[real]) | {real}, keeps_state=False, linked=True)
        ahead.extend(more[place].uses)
    return more


def root_directories(modules: Mapping[str, Module]) -> set[str]:
    """Return the directories of root modules: all that no other uses, and all that say where their state lies.

    A directory whose files are all links' targets lends them to roots, and is none.
    """
    used = {place for module in modules.values() for place in module.uses}
    own = {place: module for place, module in modules.items() if not (module.lent or module.linked)}
    return {place for place, module in own.items() if module.keeps_state or place not in used}


def directories_above(path: str) -> Iterator[str]:
    """Yield the directory of a file and all around it, the top last."""
    place = directory_of(path)
    while place != TOP:
        yield place
        place = directory_of(place)
    yield TOP


def owner_of(path: str, *owners: Container[str]) -> str | None:
    """Return the nearest directory at or above a file that is one of ``owners``, if there is one."""
    return next((place for place in directories_above(path) if any(place in each for each in owners)), None)


def users_of(changed: Iterable[str], modules: Mapping[str, Module]) -> set[str]:
    """Return ``changed`` and all directories whose modules use one of them, directly or through others."""
    users: dict[str, set[str]] = {}
    for place, module in modules.items():
        for used in module.uses:
            users.setdefault(used, set()).add(place)
    found: set[str] = set()
    ahead = list(changed)
    while ahead:
        place = ahead.pop()
        if place not in found:
            found.add(place)
            ahead.extend(users.get(place, ()))
    return found


def strict_users_of(changed: Iterable[str], modules: Mapping[str, Module]) -> set[str]:
    """Return all directories whose modules use one of ``changed``, directly or through others."""
    reached = users_of(changed, modules)
    return {place for place in reached if place in modules and not modules[place].uses.isdisjoint(reached)}


def used_by(place: str, modules: Mapping[str, Module]) -> set[str]:
    """Return the directories that the module in one uses, directly or through others."""
    found: set[str] = set()
    ahead = [place]
    while ahead:
        module = modules.get(ahead.pop())
        ahead.extend(module.uses - found if module else ())
        found |= module.uses if module else set()
    return found - {place}


def _uses(place: str, sources: Iterable[str]) -> frozenset[str]:
    return frozenset(_local_modules(place, sources) - {place})


def _local_modules(place: str, sources: Iterable[str]) -> set[str]:
    """Return the directories that local sources name; what lies above the repository's top is left out."""
    local = (source for source in sources if source.startswith(_LOCAL) or source in {".", ".."})
    found = {posixpath.normpath(posixpath.join(place, source)) for source in local}
    return {target for target in found if target != ".." and not target.startswith("../")}
