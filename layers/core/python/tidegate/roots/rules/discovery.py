"""Which directories are root modules, and which of them a change affects."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from tidegate.roots.rules.links import Links
from tidegate.roots.rules.module_file import ModuleFile

TOP = "."
#: The engine writes it on ``init``.
LOCK_FILE = ".terraform.lock.hcl"
_SUFFIXES = (".tf", ".tf.json", ".tofu", ".tofu.json")
_LOCAL = ("./", "../")
#: Directories that are followed through links: some lead in cycles.
_MOST_LINKED = 1_000


@dataclass(frozen=True, slots=True)
class Module:
    """A directory with a module: the local modules it uses, and whether it configures its state's location.

    ``mark`` is other evidence of a root, as text; empty if there is none. ``lent`` tells that other directories link to
    all of its files. ``linked`` that it exists only by a link. ``required`` are its engine version constraints.
    """

    uses: frozenset[str]
    keeps_state: bool
    mark: str = ""
    lent: bool = False
    linked: bool = False
    required: tuple[str, ...] = ()


def is_module_file(path: str) -> bool:
    """Tell whether a file makes its directory a module.

    Engines ignore files whose names begin with a dot, and their downloads are not the repository's.
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
    """Return a root's default name: its directory, or at the top the repository's name."""
    return repository.rpartition("/")[2] if directory == TOP else directory


class Standing(Enum):
    """Whether a directory is a root if ``tidegate.yaml`` leaves it open."""

    ROOT = "root"
    #: Nothing uses it, and nothing marks it as a root: the configuration may declare it.
    UNMARKED = "unmarked"
    #: It is used by others, as a module or through links.
    USED = "used"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A directory's verdict, and why, as a sentence."""

    standing: Standing
    why: str


_KEEPS_STATE = Verdict(Standing.ROOT, "It has a backend or cloud block.")
_UNMARKED = Verdict(
    Standing.UNMARKED,
    f"It has no backend, cloud or provider block and no {LOCK_FILE}, so it counts as a module, not as a root.",
)
_LENT = Verdict(Standing.USED, "Other directories have symbolic links to all of its files.")
_LINKED = Verdict(Standing.USED, "It is used through a symbolic link.")
_PROVIDER, _LOCKED, _UNREAD = "a provider block", f"a {LOCK_FILE}", "a file that cannot be fully parsed"


def modules_in(files: Mapping[str, ModuleFile], links: Links, locked: Collection[str] = ()) -> dict[str, Module]:
    """Return the modules by directory, given all module files, and those used through links.

    ``locked`` are the directories with a lock file.
    """
    sources: dict[str, set[str]] = {}
    keeping: set[str] = set()
    marks = dict.fromkeys(locked, _LOCKED)
    lent: dict[str, bool] = {}
    required: dict[str, tuple[str, ...]] = {}
    for path, file in files.items():
        place = directory_of(path)
        sources.setdefault(place, set()).update(file.sources)
        required[place] = required.get(place, ()) + file.required
        if file.keeps_state:
            keeping.add(place)
        if file.configures:
            marks[place] = _PROVIDER
        elif file.problem:
            marks.setdefault(place, _UNREAD)
        elsewhere = any(directory_of(each) != place and is_module_file(each) for each in links.to(path))
        lent[place] = lent.get(place, True) and elsewhere
    found = {
        place: Module(_uses(place, said), place in keeping, marks.get(place, ""), lent[place], required=required[place])
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


def check_directories(modules: Mapping[str, Module]) -> dict[str, Verdict]:
    """Return for each directory whether it is discovered as a root, and why.

    Roots configure their state's location, or nothing uses them and a provider block or a lock file marks them as
    roots. An unreadable file may contain either. A directory whose files are all targets of links lends them to roots,
    and is none.
    """
    users = {used: place for place, module in modules.items() for used in module.uses}
    return {place: _verdict(module, users.get(place)) for place, module in modules.items()}


def _verdict(module: Module, user: str | None) -> Verdict:
    if module.linked:
        return _LINKED
    if module.lent:
        return _LENT
    if module.keeps_state:
        return _KEEPS_STATE
    if user is not None:
        return Verdict(Standing.USED, f"The module in {user!a} uses it, and it has no backend or cloud block.")
    return Verdict(Standing.ROOT, f"It has {module.mark}, and no module uses it.") if module.mark else _UNMARKED


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
