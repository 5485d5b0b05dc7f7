"""How many examples a test tries for which the profile's number (tests/conftest.py) is not right."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_AT_LEAST = 5


def examples(number: int, **more: Any) -> settings:
    """Settings for so many examples where the profile has a hundred."""
    return settings(max_examples=max(_AT_LEAST, number * settings.default.max_examples // 100), **more)
