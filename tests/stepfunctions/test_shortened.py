"""Shortened machines are the deployed ones, and what shortens them finds the cases that it is about."""

from __future__ import annotations

import pytest

from tests.stepfunctions.limits import limits
from tests.stepfunctions.machines import NAMES, read_deployed


@pytest.mark.parametrize("machine", NAMES)
def test_what_is_shortened_is_deployed(machine):
    assert set(limits()[machine]) <= set(read_deployed(machine).states)
