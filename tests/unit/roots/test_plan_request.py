"""Which roots a request for a plan means."""

from __future__ import annotations

import pytest

from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.terms import tagged


def chosen(**fields):
    """Return which of some roots a request means."""
    roots = {"live/app": "live/app", "live/application": "live/application", "top": ".", "live/app/sub": "live/app/sub"}
    request = PlanRequest("delivery-1", "writer", **fields)
    return [name for name, place in roots.items() if request.chooses(name, tagged(Root(name, place), ("prod",)))]


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({}, ["live/app", "live/application", "top", "live/app/sub"]),
        ({"roots": ("top", "other")}, ["top"]),
        ({"directories": ("live/app",)}, ["live/app", "live/app/sub"]),
        ({"directories": (".",)}, ["live/app", "live/application", "top", "live/app/sub"]),
        ({"directories": ("live/application",), "roots": ("top",)}, ["live/application", "top"]),
        ({"query": "prod and dir:live/**"}, ["live/app", "live/application", "live/app/sub"]),
        ({"query": "staging"}, []),
    ],
)
def test_a_request_means_names_directories_and_tags(fields, names):
    assert chosen(**fields) == names


def test_a_request_is_partial_if_it_chooses():
    assert not PlanRequest("d", "w", options=("-target=a",)).is_partial
    assert PlanRequest("d", "w", query="a").is_partial
