"""Cycles in ``depends_on``: such roots could never be deployed, so they are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.changes.rules.change_set import Candidates, Key
from tidegate.changes.rules.stack import Stack
from tidegate.config.configured import ConfiguredRoot
from tidegate.config.model.file import FILE
from tidegate.rules.errors import quoted
from tidegate.rules.graphs import arrows

#: Lines that are shown: more are hard to read.
_SHOWN = 12


def refused_cycles(configured: Sequence[ConfiguredRoot], stacks: Mapping[str, Stack]) -> dict[str, str]:
    """Return a sentence for each root in a cycle, and for each that depends on one, by its name."""
    if all(each.depends_on is None for each in configured):
        return {}
    stuck = Candidates((each.candidate for each in configured), stacks).stuck()
    by_key = {each.key: each for each in configured} if stuck else {}
    return {key[0]: _sentence(key, stuck[key], by_key) for key in sorted(stuck, reverse=True)}


def _sentence(key: Key, cycle: Sequence[str], by_key: Mapping[Key, ConfiguredRoot]) -> str:
    name, stack = key
    beginning = "It is in a dependency cycle" if name in cycle else "It depends on roots in a dependency cycle"
    inside = f" in the stack {quoted(stack)}" if by_key[key].shared else ""
    lines = {by_key[each, stack].sources.get("root", 0) for each in cycle} - {0}
    where = f" ({FILE}:{', '.join(str(line) for line in sorted(lines)[:_SHOWN])})" if lines else ""
    return f"{beginning}{inside}: {arrows(cycle)}{where}. Remove one of these depends_on."
