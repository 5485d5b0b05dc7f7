"""Text of Tidegate's own, without the marks of Markdown."""

from __future__ import annotations

import pytest

from tidegate.texts.markdown import code, escaped, prose, without_marks


def test_names_in_a_sentence_are_left_without_their_marks():
    assert without_marks(f"The root {code('network')} of {code('a`b')} waits.") == "The root network of a`b waits."


@pytest.mark.parametrize(
    "text",
    [
        "refuses it by main.deny (a.b[0])",
        "a *b* & <c> `d",
        "www.example.com of @me: #5",
        "a\\.b `c\\.d` ``",
        "",
        "a `b",
    ],
)
def test_what_is_escaped_in_a_sentence_is_plain_again_without_its_marks(text):
    assert without_marks(escaped(text)) == text
    assert without_marks(f"{code(text or 'x')} {escaped(text)}") == f"{text or 'x'} {text}"


def test_a_mark_that_is_never_closed_stays():
    assert without_marks("`` a") == "`` a"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("`tidegate destroy a.b` does, after a review.", r"`tidegate destroy a.b` does, after a review\."),
        ("`a` and `b*`", "`a` and `b*`"),
        ("a `b", r"a \`b"),
        ("a* @me", "a\\* @\u200bme"),
    ],
)
def test_what_a_sentence_marks_as_code_stays_code_and_nothing_else_is_markup(text, shown):
    assert prose(text) == shown
