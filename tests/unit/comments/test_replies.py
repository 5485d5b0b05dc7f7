"""What a reply begins with: the comment that it answers, made harmless."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.comments.texts.replies import answering
from tidegate.discovery.texts.chosen_roots import unknown_roots


def test_a_reply_quotes_the_comment_that_it_answers():
    assert answering("tidegate deploy -p live/app", "Done.") == "> `tidegate deploy -p live/app`\n\nDone."


def test_of_a_long_comment_a_line_is_quoted():
    quoted = answering("tidegate plan " + "x" * 10_000, "Done.").splitlines()[0]
    assert quoted.endswith("…`")
    assert len(quoted) < 120


@pytest.mark.parametrize("text", ["tidegate `x` @everyone", "tidegate ``` <img src=x>", "tidegate\x1b]8;;evil\x07 #1"])
def test_nothing_in_a_quote_is_markup(text):
    quoted, empty, reply = answering(text, "Done.").split("\n")
    assert (empty, reply) == ("", "Done.")
    fence = re.match("`+", quoted.removeprefix("> ")).group()
    assert quoted.endswith(fence)
    assert fence not in quoted.removeprefix(f"> {fence}").removesuffix(fence)
    assert "\x1b" not in quoted


@given(st.text())
def test_a_quote_is_one_line_whatever_the_comment(text):
    first, empty, reply = answering(text, "Done.").split("\n")
    assert first.startswith("> `")
    assert (empty, reply) == ("", "Done.")


def test_the_nearest_root_is_looked_for_a_few_times_only_as_that_takes_long_among_many():
    known = [f"live/region-{number % 20}/account-{number // 20}/network" for number in range(3000)]
    unknown = [f"live/region-x/account-y{number}/network" for number in range(50)]
    reply = unknown_roots(unknown, known)
    assert (reply.count("There is no root"), reply.count("Did you mean")) == (50, 5)


def test_of_one_unknown_root_the_nearest_is_named():
    assert "There is no root `live/ap`. Did you mean `live/app`?" in unknown_roots(["live/ap"], ["live/app", "x"])
