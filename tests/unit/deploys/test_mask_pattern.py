from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deploys.rules.mask_pattern import (
    LONGEST_PATTERN,
    MOST_PATTERNS,
    pattern_problem,
    patterns_problem,
)


@pytest.mark.parametrize(
    "pattern",
    [
        r"ghp_[A-Za-z0-9]{36}",
        r"ghp_\w+",
        r"AKIA[A-Z0-9]{16}",
        r"token=\S+",
        r"eyJ[\w-]{10,100}\.[\w-]{10,}",
        r"(?:secret|password): ?[^ \]]{4,200}",
        r"xox[bp]-(\d{12}-){2}[a-z0-9]{24}",
        r"postgres://\S+|mysql://\S+",
        r"^key$|\bid\.\d{1,5}x",
        r"a.c",
        r"[]x]y",
    ],
)
def test_patterns_of_secrets_can_be_used(pattern):
    assert pattern_problem(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "1 to 500"),
        ("a" * (LONGEST_PATTERN + 1), "1 to 500"),
        ("a\nb", "printable"),
        ("(a+)+$", "is only allowed at the end"),
        ("(a|aa){1,9}b", "several ways"),
        (r"\w+@\w+", "is only allowed at the end"),
        ("(a+)b", "is only allowed at the end"),
        ("a*", "it matches the empty string"),
        ("(?:)", "it matches the empty string"),
        (r"(a)\1", "not supported"),
        (r"(?=secret)x", "groups"),
        ("(?i)secret", "groups"),
        ("a++", "quantifier"),
        ("a+?b", "quantifier"),
        ("+a", "to match the character itself"),
        ("a{1,400}b{1,400}c", "too many ways"),
        ("a{5000}", "too many ways"),
        ("a{99999}", "to match the character itself"),
        ("a{3,2}b", "not a valid quantifier"),
        ("(ab", "it has an unclosed group"),
        ("ab)", "it has an unmatched closing parenthesis"),
        ("[ab", "it has an unclosed character class"),
        ("a\\", "not supported"),
        ("[z-a]", "it is not a valid regular"),
        (r"\b{3}a", "several ways"),
    ],
)
def test_what_is_not_sure_to_be_quick_is_refused(pattern, why):
    assert why in (pattern_problem(pattern) or "")


def test_the_first_of_many_that_cannot_be_used_is_told_with_its_position():
    assert patterns_problem(["abc", "(a+)+"])[0] == 1
    assert patterns_problem(["abc"]) is None
    assert patterns_problem(["abc"] * (MOST_PATTERNS + 1))[0] == MOST_PATTERNS


@given(st.text(alphabet=r"ab.*+?{1,9}()|[]\w", max_size=14))
def test_what_can_be_used_takes_little_time_on_any_text(pattern):
    if pattern_problem(pattern) is None:
        expression = re.compile(f"(?:{pattern})")
        begun = time.process_time()
        for letter in ("a", "b", "ab", "1"):
            expression.sub("", letter * 2_000 + "!")
        assert time.process_time() - begun < 2
