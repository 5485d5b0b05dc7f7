"""Tables in the terminal: nothing is cut, names stay whole, and a narrow terminal gets less of them."""

from __future__ import annotations

import pytest
from rich.console import Console

from tidegate_cli import screen

ROWS = (
    ("staging/network", "staging", "waiting for review", "Use a third zone for everything"),
    ("dev/shop", "dev", "applied", "Deploy version 1.5.0 of the shop"),
)


def printed(width):
    """Return the lines of a table in a terminal of this width."""
    table = screen.table("ROOT", "STACK", "STATE", "WHAT", whole=["ROOT"], spare=["STACK"])
    for row in ROWS:
        table.add_row(*row)
    console = Console(width=width, record=True, force_terminal=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()


def test_a_wide_terminal_has_a_line_for_each_row():
    heading, *lines = printed(120)
    assert heading.split() == ["ROOT", "STACK", "STATE", "WHAT"]
    assert [line.split("  ")[0] for line in lines] == ["staging/network", "dev/shop"]


def test_what_lacks_room_breaks_between_words_and_leaves_out_what_can_be_spared():
    assert "STACK" in printed(60)[0]
    assert "STACK" not in printed(44)[0]


def test_where_there_is_no_room_each_row_is_a_paragraph():
    assert printed(20)[0] == "staging/network"
    assert "  STATE: applied" in printed(20)


@pytest.mark.parametrize("width", range(20, 130, 5))
def test_no_word_is_broken_and_none_is_lost(width):
    words = " ".join(printed(width)).split()
    assert [word for row in ROWS for cell in (row[0], *row[2:]) for word in cell.split() if word not in words] == []
    assert all(len(line) <= width for line in printed(width))
