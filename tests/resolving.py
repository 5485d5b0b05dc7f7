"""Small configuration files, and what follows from them for roots."""

from __future__ import annotations

from textwrap import dedent

from tests.builders import REPOSITORY
from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.loader import load_configuration
from tidegate.config.resolution import configure
from tidegate.roots.rules.root import Root

#: Two roots, each with a tag of its own and one of both.
A_AND_B = """
dirs:
  a: {tags: [x, both]}
  b: {tags: [y, both]}
"""


def resolve(text: str, *found: Root, **branches: str) -> ConfiguredRoots:
    """Return what a file says of the roots that it declares, or of those that were found."""
    loaded = load_configuration(dedent(text).encode(), REPOSITORY)
    return configure(loaded, found or [each.root for each in loaded.roots or ()], **branches)


def only(text: str, *found: Root, **branches: str) -> ConfiguredRoot:
    resolved = resolve(text, *found, **branches)
    assert not resolved.refused
    (one,) = resolved.roots
    return one


def stacks_of(resolved: ConfiguredRoots) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in resolved.roots:
        found.setdefault(each.root.name, []).append(each.stack)
    return found


def refusal(text: str, *found: Root) -> str:
    """Return why the only root is refused, which is in no stack then."""
    resolved = resolve(text, *found)
    assert not resolved.roots
    (problem,) = resolved.refused.values()
    return problem
