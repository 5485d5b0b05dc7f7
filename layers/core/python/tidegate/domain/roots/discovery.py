"""Which directories are root modules, and which of them a change concerns."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidegate.domain.roots.module_file import ModuleFile

TOP = "."
_SUFFIXES = (".tf", ".tf.json", ".tofu", ".tofu.json")
_LOCAL = ("./", "../")


@dataclass(frozen=True, slots=True)
class Module:
    """A directory that holds a module: the local modules it uses, and whether it says where its state lies."""

    uses: frozenset[str]
    keeps_state: bool


def is_module_file(path: str) -> bool:
    """Tell whether a file makes its directory a module; what engines download is none of the repository's."""
    return path.endswith(_SUFFIXES) and ".terraform" not in path.split("/")


def directory_of(path: str) -> str:
    """Return the directory of a file; ``.`` is the top."""
    return posixpath.dirname(path) or TOP


def default_root_name(repository: str, directory: str) -> str:
    """Return the name that a root has when nobody gave it one: its directory, or at the top the repository's name."""
    return repository.rpartition("/")[2] if directory == TOP else directory


def modules_in(files: Mapping[str, ModuleFile]) -> dict[str, Module]:
    """Return the modules by directory, given what every module file says."""
    uses: dict[str, set[str]] = {}
    keeping: set[str] = set()
    for path, file in files.items():
        place = directory_of(path)
        uses.setdefault(place, set()).update(_local_modules(place, file.sources))
        if file.keeps_state:
            keeping.add(place)
    return {place: Module(frozenset(used - {place}), place in keeping) for place, used in uses.items()}


def root_directories(modules: Mapping[str, Module]) -> set[str]:
    """Return the directories of root modules: all that no other uses, and all that say where their state lies."""
    used = {place for module in modules.values() for place in module.uses}
    return {place for place, module in modules.items() if module.keeps_state or place not in used}


def directories_above(path: str) -> Iterator[str]:
    """Yield the directory of a file and all around it, the top last."""
    place = directory_of(path)
    while place != TOP:
        yield place
        place = directory_of(place)
    yield TOP


def owner_of(path: str, *owners: Collection[str]) -> str | None:
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


def _local_modules(place: str, sources: Iterable[str]) -> set[str]:
    """Return the directories that local sources name; what lies above the repository's top is left out."""
    local = (source for source in sources if source.startswith(_LOCAL) or source in {".", ".."})
    found = {posixpath.normpath(posixpath.join(place, source)) for source in local}
    return {target for target in found if target != ".." and not target.startswith("../")}
