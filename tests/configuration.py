"""Reading configuration files in tests."""

from __future__ import annotations

import pytest

from tidegate.config.loader import LoadedConfiguration, examine_configuration, load_configuration
from tidegate.rules.errors import InvalidConfiguration

REPOSITORY = "acme/infra"


def load(text: str | bytes) -> LoadedConfiguration:
    """Return what a file says."""
    return load_configuration(text.encode() if isinstance(text, str) else text, REPOSITORY)


def refusal(text: str | bytes) -> InvalidConfiguration:
    """Return the first thing that is wrong with a file."""
    with pytest.raises(InvalidConfiguration) as caught:
        load(text)
    return caught.value


def mistakes(text: str) -> list[InvalidConfiguration]:
    """Return everything that is wrong with a file."""
    found = examine_configuration(text.encode(), REPOSITORY)
    assert isinstance(found, list)
    return found
