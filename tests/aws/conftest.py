"""The templates, synthesized once and kept until an input changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cdk.conftest import other, other_file, own, template, template_file

__all__ = ["installation", "other", "other_file", "own", "template", "template_file"]


@pytest.fixture(scope="session", params=["template", "other", "own"], ids=["defaults", "all that makes more", "a site"])
def installation(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the template of each installation: with defaults, and with what makes more resources or rights."""
    return request.getfixturevalue(request.param)
