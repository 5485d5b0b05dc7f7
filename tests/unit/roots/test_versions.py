"""Which versions of engines a module's required_version allows."""

from __future__ import annotations

import pytest

from tidegate.roots.rules.versions import newest_allowed

OFFERED = ("1.5.7", "1.9.8", "1.10.5", "1.11.4", "1.12.0-beta1", "2.0.0")


@pytest.mark.parametrize(
    ("constraints", "newest"),
    [
        ([">= 1.9"], "2.0.0"),
        (["~> 1.9"], "1.11.4"),
        (["~> 1.9.0"], "1.9.8"),
        (["~> 1.9.9"], None),
        (["~> 1"], "1.11.4"),
        ([">= 1.9, < 1.11"], "1.10.5"),
        ([">=1.9", "!= 1.10.5,<= 1.10.5"], "1.9.8"),
        (["> 1.11.4, < 2.0.0"], None),
        (["= 1.9.8"], "1.9.8"),
        (["v1.9.8"], "1.9.8"),
        (["~> 1.12.0-beta1"], None),
        (["latest"], None),
        (["~> 1.9,"], None),
        ([""], None),
    ],
)
def test_the_newest_of_those_that_every_constraint_allows(constraints, newest):
    assert newest_allowed(OFFERED, constraints) == newest


def test_what_is_no_version_is_not_offered():
    assert newest_allowed(("1.*", "1.9.8"), [">= 1"]) == "1.9.8"
    assert newest_allowed((), [">= 1"]) is None
