"""Engines chosen by files such as ``.terraform-version``, where ``tidegate.yaml`` leaves them open."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import replace

from tidegate.changes.rules.change_set import Candidate
from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.limits import Limits
from tidegate.roots.rules.discovery import directories_above
from tidegate.roots.rules.root import Engine, EngineName
from tidegate.roots.rules.versions import newest_allowed
from tidegate.rules.errors import TidegateError

#: The first in a directory wins if the engine is not configured.
NAMES = {".terraform-version": EngineName.TERRAFORM, ".opentofu-version": EngineName.TOFU}
#: Used as the path if a module's ``required_version`` chose.
REQUIRED = "required_version"
_VERSION = re.compile(r"v?(\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[0-9A-Za-z.]{1,30})?)")
_EXACT = re.compile(r" *+=? *+(\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[0-9A-Za-z.]{1,30})?) *+")


class UnusableEngineFile(TidegateError):
    """A file chooses no allowed engine: which file, why, and what to do."""


def is_engine_file(path: str) -> bool:
    """Tell whether a file chooses engines."""
    return posixpath.basename(path) in NAMES


def leaves_open(one: ConfiguredRoot) -> bool:
    """Tell whether the configuration leaves the version of a root's engine open."""
    return one.root.engine.version is None


def with_engine_files(
    configured: ConfiguredRoots, files: Mapping[str, bytes], limits: Limits, required: Callable[[str], Collection[str]]
) -> ConfiguredRoots:
    """Return the roots with engines from the nearest files at or above their directories.

    Without such a file, the module's ``required_version`` counts: ``required`` returns those of directories. It must be
    an exact version, or a range that selects among the organization's versions. A root with an invalid file is refused.
    """
    if not any(map(leaves_open, configured.roots)):
        return configured
    refused = dict(configured.refused)
    roots = []
    for each in configured.roots:
        try:
            roots.append(_chosen(each, files, limits, required))
        except UnusableEngineFile as problem:
            refused[each.root.name] = str(problem)
    usable = tuple(each for each in roots if each.root.name not in refused)
    new = refused.keys() - configured.refused.keys()
    held_back = (Candidate(each.root, each.tagged, each.stack) for each in configured.roots if each.root.name in new)
    return replace(configured, roots=usable, refused=refused, held_back=(*configured.held_back, *held_back))


def engine_file_of(one: ConfiguredRoot, paths: Container[str]) -> str | None:
    """Return the file that chooses a root's engine, None if none does."""
    names = [name for name, engine in NAMES.items() if engine is one.root.engine.name or not one.sources.get("engine")]
    near = (posixpath.normpath(posixpath.join(place, name)) for place in _around(one.root.dir) for name in names)
    return next((path for path in near if path in paths), None) if leaves_open(one) else None


def _around(directory: str) -> Iterable[str]:
    return directories_above(posixpath.join(directory, "x"))


def _chosen(
    one: ConfiguredRoot, files: Mapping[str, bytes], limits: Limits, required: Callable[[str], Collection[str]]
) -> ConfiguredRoot:
    path = engine_file_of(one, files)
    if path is not None:
        engine = Engine(NAMES[posixpath.basename(path)], _version(path, files[path]))
    elif version := _demanded(one, required(one.root.dir), limits) if leaves_open(one) else None:
        path, engine = REQUIRED, Engine(one.root.engine.name, version)
    else:
        return one
    if problem := limits.problem(engine):
        raise UnusableEngineFile(f"{path}: {problem}. Choose a version that the organization allows.")
    return replace(one, root=replace(one.root, engine=engine), engine_file=path)


def _demanded(one: ConfiguredRoot, constraints: Collection[str], limits: Limits) -> str | None:
    """Return the exact version that constraints demand.

    Otherwise, the newest of the organization's listed versions that they allow. Raise UnusableEngineFile if none.
    """
    exact = {found[1] if (found := _EXACT.fullmatch(each)) else None for each in constraints}
    version = exact.pop() if len(exact) == 1 else None
    offered = limits.offered(one.root.engine.name)
    if version or not (constraints and offered):
        return version
    newest = newest_allowed(offered, constraints)
    if newest is None:
        raise UnusableEngineFile(
            f"{REQUIRED} {', '.join(constraints)!a} matches none of the {one.root.engine.name} versions that the "
            f"organization's file allows ({limits.file}:{limits.line}): {', '.join(offered)}. Change the constraint, "
            "or ask an operator to allow a matching version."
        )
    return newest


def _version(path: str, content: bytes) -> str:
    lines = (line.partition("#")[0].strip() for line in content[:1000].decode("utf-8", "replace").splitlines())
    text = next(filter(None, lines), "")
    found = _VERSION.fullmatch(text)
    if found is None:
        raise UnusableEngineFile(
            f"{path} contains {text[:50]!a}, which is not an exact version. Write a version such as 1.11.4, or set "
            "engine.version in tidegate.yaml."
        )
    return found[1]
