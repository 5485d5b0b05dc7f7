"""Valid but probably unintended parts of a configuration, as the roots of a checkout show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.matchless import matchless
from tidegate.config.misleading import undeclared
from tidegate.config.model.file import FILE
from tidegate.policies.rules.files import is_below
from tidegate.roots.rules.discovery import Standing, default_root_name, used_by
from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import directory_fits
from tidegate.rules.errors import quoted

if TYPE_CHECKING:
    from tidegate.config.loaded import LoadedConfiguration
    from tidegate.discovery.find_roots import CommitModules
    from tidegate_cli.checkout import Checkout

#: Sentences of one kind: nobody reads more.
_MOST = 20
#: What people write in tag queries who know other languages, and what is written here.
_FOREIGN = (
    (re.compile(r"&&"), "&&", "and"),
    (re.compile(r"\|\|"), "||", "or"),
    (re.compile(r"\bdir="), "dir=", "dir:"),
)


def root_warnings(checkout: Checkout, loaded: LoadedConfiguration, configured: ConfiguredRoots) -> list[str]:
    """Return sentences on root modules that no key stands for, and on stacks, queries and paths that fit nothing.

    What the warnings of the file tell of a query is not told again.
    """
    modules = checkout.modules
    found = (_uncovered(modules, checkout.repository, loaded), _idle_globs(modules, loaded), _empty(loaded, configured))
    told = partial(undeclared, loaded=loaded)
    others = (_aimless(configured, told), _unfollowed(modules, configured))
    idle = matchless(loaded, configured, checkout.files, told)
    return [
        sentence
        for kind in (*found, *others, idle, _not_cloned(checkout, modules, loaded))
        for sentence in islice(kind, _MOST)
    ]


def _unfollowed(modules: CommitModules, configured: ConfiguredRoots) -> Iterator[str]:
    """Yield a sentence for each root that local modules change only where its patterns mean their files."""
    told = {each.root.name: each.root.dir for each in configured.roots if not each.follow_modules}
    for name, place in sorted(told.items()):
        if used := sorted(used_by(place, modules.modules)):
            yield (
                f"{name}: It uses {', '.join(used[:3])}{' and more' if len(used) > 3 else ''}, whose changes run it "  # noqa: PLR2004  # As many as are shown.
                "only if when_modified matches the files (follow_modules: false)."
            )


def _not_cloned(checkout: Checkout, modules: CommitModules, loaded: LoadedConfiguration) -> Iterator[str]:
    """Yield a sentence for each module that uses what lies in a submodule, where none is cloned."""
    submodules = () if loaded.clone.submodules else checkout.submodules
    for place, module in sorted(modules.modules.items()) if submodules else ():
        for used in sorted(module.uses):
            if path := next((each for each in submodules if used == each or is_below(used, each)), None):
                yield (
                    f"{place}: It uses {quoted(used)} of the submodule {quoted(path)}, which is not cloned. "
                    "Set submodules: true under clone."
                )


def _uncovered(modules: CommitModules, repository: str, loaded: LoadedConfiguration) -> Iterator[str]:
    """Yield a sentence for each directory that would be a root if the file named no directories."""
    if loaded.roots is None:
        return
    named = {each.root.dir for each in loaded.declared}
    for place in _standing(modules, Standing.ROOT):
        if place not in named and not any(directory_fits(glob.pattern, place) for glob in loaded.globs):
            name = default_root_name(repository, place)
            yield (
                f"{name}: The directory contains a root module, but no key of dirs or roots matches it, so it is never "
                "deployed. Add it under dirs, or add '**': {} there for all directories that no other key matches."
            )


def _idle_globs(modules: CommitModules, loaded: LoadedConfiguration) -> Iterator[str]:
    roots = _standing(modules, Standing.ROOT)
    alone = _standing(modules, Standing.UNMARKED)
    for glob in loaded.globs:
        places = roots if glob.root is None else [*roots, *alone]
        if glob.pattern != "**" and not any(directory_fits(glob.pattern, place) for place in places):
            mere = any(directory_fits(glob.pattern, place) for place in alone)
            advice = " There are modules without backend, provider and lock file; root: true makes them roots."
            where = f"{FILE}:{glob.declaration.line}: no directory with a root module matches"
            yield f"{where} {quoted(glob.pattern)}.{advice if mere else ''}"


def _standing(modules: CommitModules, standing: Standing) -> list[str]:
    return sorted(place for place, verdict in modules.verdicts.items() if verdict.standing is standing)


def _empty(loaded: LoadedConfiguration, configured: ConfiguredRoots) -> Iterator[str]:
    taken = {each.stack for each in configured.roots}
    # A root that cannot be used may be what the stack is for.
    for stack in loaded.stacks if not configured.refused else ():
        if stack.query is not None and stack.definition.name not in taken:
            name = quoted(stack.definition.name)
            yield f"{FILE}:{stack.line}: no root here is in the stack {name}.{_advice(stack.query)}"


def _aimless(configured: ConfiguredRoots, told: Callable[[TagQuery], bool]) -> Iterator[str]:
    seen = set()
    for each in configured.roots:
        # A cluster waits for others by what it is: nobody wrote a query.
        if each.depends_on is None or each.run.cluster is not None or told(each.depends_on):
            continue
        matching = [other for other in configured.roots if each.depends_on.matches(other.tagged)]
        key = each.sources.get("root", 0), each.depends_on.text, each.stack
        if key not in seen and not any(other.stack == each.stack for other in matching):
            seen.add(key)
            yield f"{each.root.name}: {_why_aimless(each, matching)}"


def _why_aimless(each: ConfiguredRoot, matching: list[ConfiguredRoot]) -> str:
    line, query = each.sources.get("root", 0), each.depends_on
    assert query is not None  # noqa: S101  # Only such roots are asked about.
    where = f" ({FILE}:{line})" if line else ""
    if not matching:
        return f"depends_on {quoted(query.text)}{where} matches no root, so the root waits for nothing.{_advice(query)}"
    names = ", ".join(sorted({f"{other.root.name} of {other.stack}" for other in matching})[:3])
    return (
        f"depends_on {quoted(query.text)}{where} matches only roots of other stacks, such as {names}, but works "
        f"only within the stack {quoted(each.stack)}. To wait for another stack, use rules.apply_after."
    )


def _advice(query: TagQuery) -> str:
    """Return what to write in place of words of other languages."""
    return "".join(
        f" {quoted(wrong)}: write {quoted(right)}." for found, wrong, right in _FOREIGN if found.search(query.text)
    )
