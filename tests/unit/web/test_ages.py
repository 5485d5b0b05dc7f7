"""How long ago something was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW
from tidegate.web.ages import age


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=59), "59 min"),
        (timedelta(hours=23, minutes=59), "23 h"),
        (timedelta(days=8), "8 d"),
        (-timedelta(seconds=5), "now"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(passed, told):
    assert age(NOW, NOW + passed) == told
