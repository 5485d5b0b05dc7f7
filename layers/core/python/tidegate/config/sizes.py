"""Roots that wait for so many others that the record of a deployment could not hold their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidegate.config.configured import ConfiguredRoot
from tidegate.config.model.file import FILE
from tidegate.roots.rules.root_index import TagIndex
from tidegate.rules.errors import quoted

#: Bytes that the names of all roots may have which one depends on. A record has room for 400 KB in all, of which how
#: its root runs may take 100 KB, and who may do what with it 50 KB.
MOST_AWAITED = 200_000
#: What a name takes besides its letters.
_EACH = 4


def refused_sizes(configured: Sequence[ConfiguredRoot]) -> dict[str, str]:
    """Return by its name a sentence for each root that depends on more roots of its stack than can be stored.

    That counts for each change, also for one of fewer roots: so it shows when the file is written.
    """
    by_stack: dict[str, list[ConfiguredRoot]] = {}
    for each in configured:
        by_stack.setdefault(each.stack, []).append(each)
    return {name: sentence for members in by_stack.values() for name, sentence in _refused(members)}


def _refused(members: Sequence[ConfiguredRoot]) -> Iterator[tuple[str, str]]:
    sizes = [len(each.root.name.encode()) + _EACH for each in members]
    if sum(sizes) <= MOST_AWAITED:
        return
    index = TagIndex([each.tagged for each in members])
    queries = {each.depends_on.text: each.depends_on for each in members if each.depends_on}
    matching = {text: index.matching(query) for text, query in queries.items()}
    oversized: Mapping[str, int] = {
        text: len(places) for text, places in matching.items() if sum(sizes[place] for place in places) > MOST_AWAITED
    }
    for each in members:
        if each.depends_on and each.depends_on.text in oversized:
            yield each.root.name, _sentence(each, oversized[each.depends_on.text])


def _sentence(each: ConfiguredRoot, number: int) -> str:
    line = each.sources.get("root", 0)
    where = f" ({FILE}:{line})" if line else ""
    return (
        f"Its depends_on{where} matches {number} roots of the stack {quoted(each.stack)}, which are too many to store "
        "with a deployment. Make the query match fewer roots, or move them into their own stack, and plan this "
        "root's stack after it (rules.plan_after)."
    )
