"""What tag queries are true for, and what is told to whoever writes one that means nothing."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.roots.rules.query_words import InvalidTagQuery
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import Tagged, spelled, tagged

NETWORK = Tagged(
    "envs/prod/network",
    frozenset(
        {"network", "prod", "dir:envs/prod/network", "workspace:default"}
        | {"stack_name:prod-net", "stack_name:prod", "dest_branch:main"}
    ),
)


def true(query: str, of: Tagged = NETWORK) -> bool:
    return parse_tag_query(query).matches(of)


def refusal(query: str) -> InvalidTagQuery:
    with pytest.raises(InvalidTagQuery) as caught:
        parse_tag_query(query)
    return caught.value


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", True),
        ("Prod", False),
        ("prod network", True),
        ("prod and dev", False),
        ("prod or dev", True),
        ("prod AND NOT dev", True),
        ("dev and prod or network", True),
        ("dev prod or network", False),
        ("(dev prod) or network", True),
        ("dev or prod network", True),
        ("dir:envs/prod/network", True),
        ("dir:envs/prod", False),
        ("dir:envs/*", False),
        ("envs/prod in dir", True),
        ("pro in dir", False),
        ("not (prod in dir)", False),
        ("stack_name:prod and workspace:default", True),
        ("dest_branch:main", True),
    ],
)
def test_the_worked_examples(query, expected):
    assert true(query) is expected


def test_not_before_in_is_refused_with_what_to_write():
    assert str(refusal("not prod in dir")) == (
        "Column 10 of the tag query: 'not' applies to one tag only, so 'in' has no tag before it. Write not (prod "
        "in dir)."
    )


def test_in_takes_only_dir():
    assert str(refusal("network in tags")) == (
        "Column 12 of the tag query: 'tags' follows 'in'. Only 'dir' is allowed there."
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (" \t\n", True),
        ("'and' or 'x'", False),
        ("prod\nand network\n", True),
        ("a or prod b or network", True),
        ("a and b c or prod", False),
        ("prod and (network) dev or prod", True),
        ("not (dev) prod", True),
        ("not dev prod", True),
        ("prod not dev", True),
        ("'prod'\"network\"", True),
        ("dir~prod/network", True),
        ("'dir~prod'", False),
        ("/prod/ in dir", True),
        ("/ in dir", False),
        ("'prod' in dir", True),
        ("prod in 'dir'", True),
        ("dir:envs/*/network", True),
        ("dir:envs/**", True),
        ("dir:**/network", True),
        ("dir:./**/", True),
        ("dir:envs/prod/network/**", True),
        ("dir:envs/prod/n?tw*k", True),
        ("dir:envs/prod/network/*", False),
        ("dir:envs/prod/net?", False),
        ("'dir:envs/**'", False),
    ],
)
def test_more_examples(query, expected):
    assert true(query) is expected


def test_quoted_tags_may_hold_anything_and_are_never_keywords():
    odd = Tagged(".", frozenset({"and", "a b", "it's", 'x"y', "back\\slash", "dir:*"}))
    for query in ("'and'", '"a b"', "'it\\'s'", "'x\"y'", "'back\\\\slash'", "'dir:*'"):
        assert true(query, odd), query


def test_the_top_of_the_repository_is_a_directory_like_others():
    top = tagged(Root("infra", "."))
    assert true("dir:. and dir:** and name:infra and workspace:default", top)
    assert not true("dir:*", top)


@pytest.mark.parametrize(
    ("query", "column", "problem", "allowed"),
    [
        ("and a", 1, "a tag is missing before 'and'", "Write a tag before it"),
        ("(or a)", 2, "a tag is missing before 'or'", "Write a tag before it"),
        ("a and", 6, "nothing follows 'and'", "A tag, 'not' or '(' is allowed there"),
        ("a and or b", 7, "'or' follows 'and'", "A tag, 'not' or '(' is allowed there"),
        ("(a or )", 7, "')' follows 'or'", "A tag, 'not' or '(' is allowed there"),
        ("a)", 2, "this closing parenthesis is unmatched", "Remove it, or add '(' before"),
        (")", 1, "this closing parenthesis is unmatched", "Remove it, or add '(' before"),
        ("b (a", 3, "this parenthesis is not closed", "Add ')' at the end of its group"),
        ("a ()", 3, "the parentheses are empty", "Write a tag between them"),
        ("(", 1, "this parenthesis is not closed", "Add ')' at the end of its group"),
        ("a not", 3, "nothing follows 'not'", "A tag or a group in parentheses is allowed there"),
        ("not not a", 5, "'not' follows 'not'", "A tag or a group in parentheses is allowed there"),
        ("a 'b", 3, "this quote is not closed", "Add ' at the end of the tag"),
        ("a in", 5, "nothing follows 'in'", "Only 'dir' is allowed there"),
        ("(a) in dir", 5, "a tag is missing before 'in'", "Write a tag before it"),
        ("a" * 2001, 2001, "the query has 2001 characters", "The limit is 2000 characters"),
        ("(" * 100, 52, "the query is nested too deeply", "At most 50 levels are allowed"),
        ("a b or " * 100 + "a", 355, "the query is nested too deeply", "At most 50 levels are allowed"),
    ],
)
def test_what_means_nothing_is_refused_at_its_column_with_what_is_allowed(query, column, problem, allowed):
    error = refusal(query)
    assert (error.column, error.problem, error.allowed) == (column, problem, allowed)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("a b or c", [1]),
        ("x or a b", [6]),
        ("x or (a b)", []),
        ("(a b) or c", []),
        ("a b and c", []),
        ("(a b or c) and (d e or f)", [2, 17]),
        ("a and b or c", []),
        ("not a b or c", [1]),
    ],
)
def test_tags_side_by_side_are_warned_of_where_their_group_has_an_or(query, columns):
    warnings = parse_tag_query(query).warnings
    assert [column for column, _ in warnings] == columns
    assert all("'a and (b or c)'" in sentence for _, sentence in warnings)


TAGS = ["a", "b", "c", "d"]


def naive(tokens: list[str], tags: set[str]) -> bool:
    """Evaluate by the rules as they are told, on words alone: split, and look at the pieces."""
    if not tokens:
        return True
    level = 0
    beside = None
    ors = []
    for number, token in enumerate(tokens):
        if level == 0 and number and token not in {"and", "or", ")"} and tokens[number - 1] not in {"and", "or", "not"}:
            beside = number if beside is None else beside
        if level == 0 and token == "or" and beside is None:
            ors.append(number)
        level += {"(": 1, ")": -1}.get(token, 0)
    if ors:
        return naive(tokens[: ors[0]], tags) or naive(tokens[ors[0] + 1 :], tags)
    if beside is not None:
        return naive(tokens[:beside], tags) and naive(tokens[beside:], tags)
    level = 0
    for number, token in enumerate(tokens):
        level += {"(": 1, ")": -1}.get(token, 0)
        if level == 0 and token == "and":
            return naive(tokens[:number], tags) and naive(tokens[number + 1 :], tags)
    if tokens[0] == "not":
        return not naive(tokens[1:], tags)
    return naive(tokens[1:-1], tags) if tokens[0] == "(" else tokens[0] in tags


def groups(inner):
    return st.one_of(
        st.sampled_from(TAGS).map(lambda tag: [tag]),
        st.sampled_from(TAGS).map(lambda tag: ["not", tag]),
        inner.map(lambda words: ["(", *words, ")"]),
        inner.map(lambda words: ["not", "(", *words, ")"]),
        st.tuples(inner, st.sampled_from([["and"], ["or"], []]), inner).map(
            lambda parts: [*parts[0], *parts[1], *parts[2]]
        ),
    )


queries = st.recursive(st.sampled_from(TAGS).map(lambda tag: [tag]), groups, max_leaves=12)


@given(queries, st.sets(st.sampled_from(TAGS)))
def test_a_second_evaluator_finds_the_same(tokens, tags):
    assert true(" ".join(tokens), Tagged(".", frozenset(tags))) is naive(tokens, tags)


def naive_directory(pattern: str, directory: str) -> bool:
    """Evaluate a pattern of directories as an expression of regular ones."""
    parts = [
        "(?:[^/]+/)*" if part == "**" else re.escape(part).replace(r"\*", "[^/]*") + "/" for part in pattern.split("/")
    ]
    return re.fullmatch("".join(parts), f"{directory}/") is not None


@given(
    st.lists(st.sampled_from(["a", "ab", "*", "**", "a*", "*b"]), min_size=1, max_size=5).map("/".join),
    st.lists(st.sampled_from(["a", "ab", "b", "aab"]), min_size=1, max_size=5).map("/".join),
)
def test_a_second_matcher_of_directories_finds_the_same(pattern, directory):
    assert true(f"dir:{pattern}", tagged(Root("r", directory))) is naive_directory(pattern, directory)


fragments = st.sampled_from(
    ["(", ")", "'", '"', "\\", " and ", " or ", "not ", " in ", "dir", " ", "a", "dir:*", "\n", "é"]
)


@given(st.lists(fragments, max_size=60).map("".join) | st.text(max_size=60))
def test_any_text_gives_a_result_or_one_refusal(text):
    with contextlib.suppress(InvalidTagQuery):
        assert true(text) in {True, False}


@pytest.mark.parametrize(
    "piece", ["(", "not (", "a or b c ", "a (", "a ", "a or ", "not a ", "'", "\\", "'\\", "dir:*"]
)
def test_long_and_deep_texts_are_answered_at_once(piece):
    begun = time.process_time()
    for text in (piece * (2000 // len(piece)), piece * 100_000):
        with contextlib.suppress(InvalidTagQuery):
            true(text)
    assert time.process_time() - begun < 5


def test_no_pattern_takes_long():
    begun = time.process_time()
    assert not true("dir:" + "*a" * 500 + "/" + "**/*a*/" * 100 + "b", tagged(Root("r", "/".join(["a" * 60] * 16))))
    assert time.process_time() - begun < 5


def test_tags_that_are_asked_for_are_known():
    assert parse_tag_query("b a and not (a or 'in' or x in dir) dir:* stack_name:c").tags == (
        "b",
        "a",
        "in",
        "stack_name:c",
    )
    assert parse_tag_query("").tags == ()


@given(queries, st.sets(st.sampled_from(TAGS)))
def test_a_query_that_is_spelled_out_means_the_same(tokens, tags):
    spelled_out = spelled(parse_tag_query(" ".join(tokens)).term)
    assert true(spelled_out, Tagged(".", frozenset(tags))) is naive(tokens, tags)


@pytest.mark.parametrize("text", ["dir:a/*", "a/b in dir", "dir~a", "'it\\'s \\\\ \"odd\"'", "''", "'dir:a/*'", ""])
def test_each_kind_of_term_is_spelled_as_it_is_read(text):
    term = parse_tag_query(text).term
    assert parse_tag_query(spelled(term)).term == term


class TestDirectoriesFromAnother:
    def from_directory(self, query: str, directory: str, of: str) -> bool:
        return parse_tag_query(query).relative_to(directory).matches(tagged(Root("r", of), ["x"]))

    @pytest.mark.parametrize(
        ("query", "directory", "of"),
        [
            ("relative_dir:../b", "live/a", "live/b"),
            ("relative_dir:.", "live/a", "live/a"),
            ("relative_dir:../..", "live/a", "."),
            ("relative_dir:b/./c/../d", ".", "b/d"),
            ("'relative_dir:../a b'", "live/a", "live/a b"),
            ("x and not (relative_dir:../c or c in dir) relative_dir:../b", "live/a", "live/b"),
        ],
    )
    def test_the_path_is_told_from_there(self, query, directory, of):
        assert self.from_directory(query, directory, of)
        assert not self.from_directory(query, f"{directory}/deeper", of)
        assert not true(query, tagged(Root("r", of), ["x"]))

    def test_what_leads_out_of_the_repository_is_no_directory(self):
        assert not self.from_directory("relative_dir:../../b", "a", "b")
        assert self.from_directory("relative_dir:../..b", "a", "..b")

    def test_queries_that_mean_the_same_have_the_same_text(self):
        query = parse_tag_query("relative_dir:../b a or c")
        assert query.relative_to("x/a") == query.relative_to("x/c") != query.relative_to("y/a")
        assert query.relative_to("x/a").warnings == query.warnings != ()

    def test_a_query_without_such_tags_stays_as_it_is_written(self):
        query = parse_tag_query("a  (b)")
        assert query.relative_to("x") is query
