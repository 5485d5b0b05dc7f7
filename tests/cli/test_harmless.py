"""Nothing in a text from outside acts on a terminal; colours stay where they are wanted."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_cli.harmless import coloured, dumps, plain

#: Everything that a terminal or a reader's eye could be fooled with, colours aside.
ACTING = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SEQUENCES = st.sampled_from(
    ["\x1b[31m", "\x1b[0m", "\x1b[2J", "\x1b]8;;x\x07", "\x9b5i", "\r", "\x1b[8m", "\x1b[38;5;9m"]
)
TEXT = st.lists(st.one_of(st.text(), SEQUENCES)).map("".join)


@given(TEXT)
def test_plain_text_holds_nothing_that_acts(text):
    assert not ACTING.search(plain(text))


@given(TEXT)
def test_coloured_text_holds_nothing_that_acts_but_colours(text):
    assert not ACTING.search(COLOURS.sub("", coloured(text)))


@given(TEXT)
def test_json_holds_nothing_that_acts_and_still_means_the_same(text):
    written = dumps({"text": text}, indent=None)
    assert not ACTING.search(written)
    assert json.loads(written) == {"text": text}


@pytest.mark.parametrize("kept", ["\x1b[1;31m", "\x1b[38;5;208m", "\x1b[48;2;1;2;3m", "\x1b[90m", "\x1b[0m"])
def test_colours_and_weights_are_kept_and_end_with_the_line(kept):
    assert coloured(f"a{kept}b") == f"a{kept}b\x1b[0m"


@pytest.mark.parametrize("dropped", ["\x1b[8m", "\x1b[5m", "\x1b[7m", "\x1b[38;9m", "\x1b[38m", "\x1b[999m"])
def test_what_hides_or_blinks_is_dropped(dropped):
    assert coloured(f"a{dropped}b") == "ab"


def test_of_several_attributes_the_harmless_ones_stay():
    assert coloured("\x1b[1;8;31mx") == "\x1b[1;31mx\x1b[0m"


def test_tabs_and_letters_of_all_languages_stay():
    assert plain("ö\t世界") == "ö\t世界"
