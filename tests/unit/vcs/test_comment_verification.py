"""When a comment that a webhook told of is what the forge has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.vcs.rules.webhook_verification import age_mismatch, comment_mismatch

WRITTEN = datetime(2026, 3, 2, 8, tzinfo=UTC)


def at(**later):
    return WRITTEN + timedelta(**later)


@pytest.mark.parametrize("written", ["tidegate apply -p app", "  tidegate\xa0apply -p\tapp \n"])
def test_what_the_forge_has_word_for_word_is_not_doubted(written):
    assert comment_mismatch("owner", "tidegate apply -p app", "owner", written, ["tidegate"]) == ""


@pytest.mark.parametrize(
    ("author", "written", "doubt"),
    [
        ("developer", "tidegate apply", "The author in the event is not"),
        ("Owner", "tidegate apply", "The author in the event is not"),
        ("owner", "tidegate apply -p app", "The text in the event is not"),
        ("owner", "Looks good", "The text in the event is not"),
        ("owner", "tidegate apply\nlater", "The text in the event is not"),
        ("owner", "", "The text in the event is not"),
    ],
)
def test_another_author_or_other_words_are_doubted(author, written, doubt):
    assert doubt in comment_mismatch("owner", "tidegate apply", author, written, ["tidegate"])


def test_what_was_just_written_counts():
    assert age_mismatch(at(), at(), at(seconds=3)) == ""
    assert age_mismatch(at(), at(seconds=5), at(days=1)) == ""


def test_what_was_edited_or_is_old_does_not():
    assert "edited" in age_mismatch(at(), at(seconds=6), at(seconds=7))
    assert "more than a day" in age_mismatch(at(), at(), at(days=1, seconds=1))


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_text_that_is_no_command_confirms_none(told, written):
    doubt = comment_mismatch("owner", f"tidegate {told}".strip(), "owner", written, ["tidegate"])
    assert doubt or written.split()[0].lower() == "tidegate"
