"""What matches queries is found among many things as if each were asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.roots.rules.root_index import TagIndex
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import Tagged

TERMS = [
    "a",
    "not b",
    "dir:x/**",
    "dir:x/y",
    "dir:*/y",
    "dir:x/*",
    "dir:**",
    "y in dir",
    "x/y in dir",
    "/ in dir",
    "''",
]
queries = st.recursive(
    st.sampled_from(TERMS),
    lambda inner: st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(lambda parts: f"({''.join(parts)})"),
    max_leaves=5,
)
items = st.builds(
    lambda directory, tags: Tagged(directory, frozenset({f"dir:{directory}", *tags})),
    st.sampled_from([".", "x", "y", "x/y", "y/x", "x/y/x", "xx/y"]),
    st.sets(st.sampled_from(["a", "b", ""])),
)


@given(st.lists(items, max_size=8), st.lists(queries | st.just(""), max_size=4))
def test_an_index_finds_what_a_query_is_true_for(things, texts):
    index = TagIndex(things)
    for query in map(parse_tag_query, texts):
        assert list(index.matching(query)) == [at for at, thing in enumerate(things) if query.matches(thing)]


def test_an_index_finds_what_each_kind_of_term_is_true_for():
    things = [Tagged(directory, frozenset({f"dir:{directory}"})) for directory in (".", "x", "x/y", "y")]
    for query in map(parse_tag_query, TERMS):
        assert list(TagIndex(things).matching(query)) == [at for at, thing in enumerate(things) if query.matches(thing)]
