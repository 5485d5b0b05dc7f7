"""Repositories in groups of groups, as GitLab has them, in addresses."""

from __future__ import annotations

import pytest

from tidegate.web.nested import flattened, flattened_event, whole_owner


@pytest.mark.parametrize(
    ("path", "flat"),
    [
        ("/repositories/acme/platform/infra", "/repositories/acme:platform/infra"),
        ("/repositories/acme/platform/infra/deployments", "/repositories/acme:platform/infra/deployments"),
        ("/api/v1/repositories/a/b/c/d/roots", "/api/v1/repositories/a:b:c/d/roots"),
        ("/pulls/acme/platform/infra/5", "/pulls/acme:platform/infra/5"),
        ("/api/v1/pulls/acme/platform/infra/5", "/api/v1/pulls/acme:platform/infra/5"),
    ],
)
def test_groups_become_one_owner(path, flat):
    assert flattened(path) == flat
    assert flattened(flat) == flat


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/pulls",
        "/pulls/acme/infra/5",
        "/repositories/acme",
        "/repositories/acme/infra",
        "/repositories/acme/infra/deployments",
        "/repositories/acme//infra/x",
        "/api/v1/repositories/acme/infra/roots",
        "/deployments/a/b/c/d",
        "/api/v1/openapi.json",
    ],
)
def test_other_paths_stay_as_they_are(path):
    assert flattened(path) == path
    event = {"rawPath": path, "requestContext": {"http": {"path": path}}}
    assert flattened_event(event) is event


def test_the_whole_request_has_the_path():
    path = "/pulls/acme/platform/infra/5"
    event = flattened_event({"rawPath": path, "requestContext": {"stage": "$default", "http": {"path": path}}})
    assert event == {
        "rawPath": "/pulls/acme:platform/infra/5",
        "requestContext": {"stage": "$default", "http": {"path": "/pulls/acme:platform/infra/5"}},
    }


def test_an_owner_stands_for_its_groups():
    assert whole_owner("acme:platform") == "acme/platform"
