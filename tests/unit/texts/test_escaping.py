"""Text from outside is data: whatever it is, a forge's Markdown shows it as text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tidegate.texts.markdown import code, escaped, fenced, folded, one_line, plain

#: A busy machine is no reason to fail.
patient = settings(deadline=None)
MARKDOWN = MarkdownIt("gfm-like", {"html": True})

#: What breaks out: fences, HTML, links, mentions, escapes, odd spaces and line ends.
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "```",
                "````",
                "~~~",
                "`",
                "\n",
                "\r",
                "\r\n",
                " ",
                "    ",
                "\t",
                "</details>",
                "<script>",
                "<!--",
                "-->",
                "@octocat",
                "](http://x)",
                "![",
                "https://x.example",
                "www.x.example",
                "\x1b[31m",
                "\x1b]8;;http://x\x07",
                "\x00",
                "\u2028",
                "\u202e",
                "&lt;",
                "|",
                "#1",
                "\\",
                "> ",
                "* ",
                "1. ",
                "---",
                "$(x)",
            ]
        ),
        st.text(max_size=8),
    ),
    max_size=30,
).map("".join)


def tokens(markdown):
    for token in MARKDOWN.parse(markdown):
        yield token
        yield from token.children or ()


@patient
@given(HOSTILE)
def test_nothing_breaks_out_of_a_fence(text):
    parsed = list(tokens(fenced(text, "diff") + "\n\nafter"))
    assert [token.type for token in parsed] == ["fence", "paragraph_open", "inline", "text", "paragraph_close"]
    assert parsed[0].info == "diff"


@patient
@given(HOSTILE)
def test_a_fence_shows_every_line_of_the_text(text):
    content = next(iter(MARKDOWN.parse(fenced(text)))).content
    shown = [line.strip() for line in content.strip("\n").split("\n")]
    assert shown == [line.replace("\x00", "").strip() for line in plain(text).strip("\n").split("\n")]


@patient
@given(HOSTILE)
def test_nothing_breaks_out_of_a_fold(text):
    parsed = [token.type for token in MARKDOWN.parse(folded("Plan", fenced(text)) + "\n\nafter")]
    assert parsed == ["html_block", "fence", "html_block", "paragraph_open", "inline", "paragraph_close"]


@patient
@given(HOSTILE)
def test_escaped_text_is_one_paragraph_of_plain_text(text):
    parsed = list(tokens(f"before {escaped(text)} after"))
    assert {token.type for token in parsed} == {
        "paragraph_open",
        "inline",
        "text",
        "text_special",
        "paragraph_close",
    } - ({"text_special"} if not any(token.type == "text_special" for token in parsed) else set())
    assert "@octocat" not in parsed[1].content


@patient
@given(HOSTILE)
def test_inline_code_is_one_piece_of_code(text):
    parsed = list(tokens(f"before {code(text)} after"))
    assert [token.type for token in parsed] == [
        "paragraph_open",
        "inline",
        "text",
        "code_inline",
        "text",
        "paragraph_close",
    ]


@patient
@given(HOSTILE)
def test_no_control_character_is_left(text):
    assert not [letter for letter in plain(text) if ord(letter) < 32 and letter not in "\n\t"]
    assert "\x1b" not in plain(text)
    plain(text).encode()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1m\x1b[31mError:\x1b[0m no", "Error: no"),
        ("\x1b]8;;https://x.example\x07here\x1b]8;;\x07", "here"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("lock\u202eed", "locked"),
        ("half \ud800 a character", "half  a character"),
        ("\x1b", ""),
        ("\x9b31mred", "red"),
    ],
)
def test_escape_sequences_and_control_characters_are_taken_out(raw, shown):
    assert plain(raw) == shown


@pytest.mark.parametrize(
    "text",
    [
        "@octocat",
        "see https://x.example",
        "www.x.example",
        "#12",
        "GH-12",
        "mail@x.example",
        "$12",
        "%12",
        '%"1.0"',
        "&12",
        "a/b&12",
    ],
)
def test_escaped_text_has_nothing_that_a_forge_links(text):
    assert escaped(text).replace("\\", "") != text


def test_a_long_line_is_cut_and_says_so():
    assert one_line("word " * 100, 20) == "word word word word…"


def test_a_short_line_is_left_as_it_is():
    assert one_line(" two\nwords ", 20) == "two words"
