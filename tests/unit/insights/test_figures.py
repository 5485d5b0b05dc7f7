"""How figures read."""

from __future__ import annotations

import pytest

from tidegate.insights.texts.figures import cell, dollars, lasting, percent


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (7.5, "7.5 s"), (59, "59 s"), (90, "1.5 min"), (3600, "1 h"), (34_560, "9.6 h"), (864_000, "10 d")],
)
def test_a_duration_has_its_largest_unit(seconds, shown):
    assert lasting(seconds) == shown


@pytest.mark.parametrize(("amount", "shown"), [(0, "$0.00"), (0.0523, "$0.052"), (1, "$1.00"), (1234.5, "$1,234.50")])
def test_small_amounts_have_more_digits(amount, shown):
    assert dollars(amount) == shown


def test_a_share_is_a_percentage():
    assert percent(4 / 45) == "9 %"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("prod", "prod"),
        ("=1+2", "'=1+2"),
        ("@x", "'@x"),
        ("\t=1", "'\t=1"),
        ("\N{FULLWIDTH EQUALS SIGN}1", "'\N{FULLWIDTH EQUALS SIGN}1"),
        ("", ""),
    ],
)
def test_no_name_is_a_formula(name, shown):
    assert cell(name) == shown
