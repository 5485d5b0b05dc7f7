"""What the local cloud prints of what fails in it."""

from __future__ import annotations

import logging

from tidegate_local.serve import Short


def test_a_very_long_message_is_cut():
    record = logging.LogRecord("moto", logging.ERROR, "x", 1, "%s\nshort", ("x" * 50_000,), None)
    long, short = Short().format(record).split("\n")
    assert len(long) < 2000
    assert short == "short"
