"""Colours of a log's lines: only they get through, whatever else a line holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.ansi import Piece, bare, pieces
from tidegate.web.log_lines import shown


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", []),
        ("plain", [("plain", "")]),
        ("\x1b[31mred\x1b[0m", [("red", "fg1")]),
        (
            "\x1b[1;4;92mloud\x1b[22;24mless\x1b[39mplain",
            [("loud", "bold underline fg10"), ("less", "fg10"), ("plain", "")],
        ),
        ("\x1b[41ma\x1b[49mb", [("a", "bg1"), ("b", "")]),
        ("\x1b[38;5;9mx\x1b[48;5;3my", [("x", "fg9"), ("y", "fg9 bg3")]),
        ("\x1b[38;5;200mx", [("x", "")]),
        ("\x1b[38;2;1;31;4mx\x1b[31my", [("x", ""), ("y", "fg1")]),
        ("\x1b[38:5:9mx", [("x", "fg9")]),
        ("\x1b[mreset\x1b[;mtwice", [("resettwice", "")]),
        ("a\x1b[2Kb\x1b[5;5Hc\x1b[?25ld", [("abcd", "")]),
        ("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link", [("textlink", "")]),
        ("10%\r20%\r100%", [("100%", "")]),
        ("line\r", [("line", "")]),
        ("\x1b[31", []),
        ("\u202eevil\u2066", [("evil", "")]),
        ("\x1b[7;8;5mx", [("x", "")]),
    ],
)
def test_a_line_is_shown_as_a_terminal_would(line, expected):
    assert [(piece.text, piece.style) for piece in pieces(line)] == expected


_NAMES = {"bold", "dim", "italic", "underline", "strike"} | {f"{kind}{n}" for kind in ("fg", "bg") for n in range(16)}


@given(st.text(alphabet=st.sampled_from("\x1b[]0123456789;:mKHab<\r\x07\x9b\u202e\\?38"), max_size=60))
def test_whatever_a_line_holds_only_known_styles_and_harmless_text_come_out(line):
    for piece in pieces(line):
        assert set(piece.style.split()) <= _NAMES
        assert not set(piece.text) & set("\x1b\x9b\x07\r\n\u202e")
    assert bare(line) == "".join(piece.text for piece in pieces(line))


@pytest.mark.parametrize(
    ("line", "style"),
    [
        ("  + resource", "fg2"),
        ('  - resource "aws_vpc" "old" {', "fg1"),
        ("  ~ tags", "fg3"),
        ("-/+ resource", "fg1"),
        ("      - tags = {}", "fg1"),
        ("- Finding hashicorp/aws versions", ""),
        ("  - hashicorp/aws", ""),
        ("│ Error: no such bucket", "bold fg1"),
        ("Apply complete! Resources: 1 added", "bold fg2"),
        ("tidegate: cloning", "dim"),
        ("# a will be created", "bold"),
        ("nothing special", ""),
    ],
)
def test_lines_without_colours_are_coloured_by_what_they_say(line, style):
    assert shown(line) == [Piece(line, style)]


def test_lines_with_colours_keep_them():
    assert shown("\x1b[32m- gone\x1b[0m") == [Piece("- gone", "fg2")]
