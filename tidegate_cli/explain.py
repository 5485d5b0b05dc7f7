"""``tidegate explain``: each root of a checkout with its configuration, and the lines that set it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.exits import Exit
from tidegate_cli.options import Json
from tidegate_cli.problems import NotFound

if TYPE_CHECKING:
    from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
    from tidegate.roots.rules.root import Root
    from tidegate_cli.checkout import Checkout

_COMMAND = "tidegate explain --file FILE"


_What = Annotated[
    str | None,
    typer.Argument(
        metavar="PATH|ROOT", help="A directory or file of the checkout, or a root's name. Without it: all roots."
    ),
]
_File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="The file to read. Default: the nearest tidegate.yaml upwards."),
]
_Branch = Annotated[
    str | None, typer.Option("--branch", metavar="BRANCH", help="Assume this branch. Default: the current one.")
]


def explain(
    what: _What = None,
    *,
    file: _File = None,
    branch: _Branch = None,
    json: Json = False,
) -> None:
    """Show the tags, stack, workflow, engine, variables, permissions and gates of each root, and where they are set.

    Lists directories with modules that are no roots, with the reason. Exits 1 if a root cannot be deployed until you
    correct the file.
    """
    from tidegate.roots.rules.discovery import used_by
    from tidegate_cli import explain_presenter, screen
    from tidegate_cli.checkout import the_checkout
    from tidegate_cli.configuration import loaded_of_checkout
    from tidegate_cli.explain_roots import reasons

    checkout = the_checkout(Path.cwd())
    screen.note("" if file else checkout.warning)
    loaded, shown = loaded_of_checkout(file, checkout.top, checkout.repository, _COMMAND)
    found = checkout.found(loaded)
    configured = checkout.configured(loaded, checkout.branch if branch is None else branch)
    modules = checkout.modules
    why = reasons(modules, loaded, found)
    chosen, others = _chosen(checkout, what, [*found.roots, *found.gone], list(why.others))
    no_roots = {place: why.others[place] for place in others}
    names = {root.name for root in chosen}
    refused = {name: reason for name, reason in checkout.refused(found, configured).items() if name in names}
    left_out = {root.name: configured.left_out[root.name] for root in chosen if root.name in configured.left_out}
    explained = [
        explain_presenter.Explained(
            each,
            configured.stacks[each.stack],
            _dependencies(each, configured),
            loaded,
            sorted(used_by(each.root.dir, modules.modules)),
            why.roots[each.root.name],
            modules.required(each.root.dir),
        )
        for each in _of(configured, chosen)
    ]
    if json:
        document: dict[str, Any] = {
            "file": shown or None,
            "roots": [explain_presenter.document(each) for each in explained],
        }
        screen.print_json(document | {"left_out": left_out, "refused": refused, "no_roots": no_roots})
    else:
        console = screen.console()
        for part in explain_presenter.shown(explained, left_out, refused, no_roots, shown):
            console.print(part, crop=False, soft_wrap=True)
    if refused:
        raise typer.Exit(int(Exit.FAILED))


def _of(configured: ConfiguredRoots, chosen: Sequence[Root]) -> Iterator[ConfiguredRoot]:
    names = {root.name for root in chosen}
    return (each for each in configured.roots if each.root.name in names)


def _dependencies(one: ConfiguredRoot, configured: ConfiguredRoots) -> list[str]:
    """Return the roots of the same stack that a root depends on."""
    if one.depends_on is None:
        return []
    others = (each for each in configured.roots if each.stack == one.stack and each.root.name != one.root.name)
    return sorted({each.root.name for each in others if one.depends_on.matches(each.tagged)})


def _chosen(
    checkout: Checkout, what: str | None, roots: Sequence[Root], others: Sequence[str]
) -> tuple[list[Root], list[str]]:
    """Return the roots that are meant: by name, or by a path that is theirs, lies in them, or holds them.

    And of ``others``, directories with modules that are no roots, those that a path means in the same way.
    """
    if what is None:
        return sorted(roots, key=lambda root: root.name), list(others)
    named = [root for root in roots if root.name == what]
    if named:
        return named, []
    place = _place(checkout, what)
    places = {*others, *(root.dir for root in roots)}
    meant = {each for each in places if place is not None and _is_below(each, place)}
    if not meant and place is not None:
        around = sorted((each for each in places if _is_below(place, each)), key=lambda each: (each != ".", len(each)))
        meant = set(around[-1:])
    if not meant:
        raise NotFound(f"{checkout.top} has no root {what}, and none at this path.", _meant(what, roots))
    found = sorted((root for root in roots if root.dir in meant), key=lambda root: root.name)
    return found, [each for each in others if each in meant]


def _place(checkout: Checkout, what: str) -> str | None:
    """Return a path, as it is typed here, from the checkout's top; None for one outside."""
    path = (Path.cwd() / what).resolve()
    if not path.is_relative_to(checkout.top):
        return None
    return posixpath.normpath(path.relative_to(checkout.top).as_posix())


def _is_below(place: str, top: str) -> bool:
    return top in {".", place} or place.startswith(f"{top}/")


def _meant(what: str, roots: Sequence[Root]) -> str:
    from difflib import get_close_matches

    names = sorted({root.name for root in roots})
    near = get_close_matches(what, names, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return "tidegate explain shows all roots." if names else "No directory here contains a root module."
