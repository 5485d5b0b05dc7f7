"""Calls that fail on demand, as GitLab fails at times."""

from __future__ import annotations

import pytest

from tests.gitlab.conftest import IN, PROJECT
from tidegate_local.forge.client_calls import ForgeAnswered
from tidegate_local.forge.faults import Fault

#: A path as the application sees it: decoded.
PATH = f"/api/v4/projects/{PROJECT}"


def test_a_limit_says_when_to_come_back(api, gitlab, sha):
    gitlab.inject(Fault("rate_limit", seconds=7))
    status, headers, body = api.ask("GET", IN, token="maintainer")
    assert (status, body.strip(), headers["Retry-After"], headers["RateLimit-Remaining"]) == (
        429,
        "Retry later",
        "7",
        "0",
    )
    assert api.ask("GET", IN, token="maintainer")[0] == 200


@pytest.mark.parametrize(("kind", "status"), [("server_error", 500), ("bad_gateway", 502), ("bad_credentials", 401)])
def test_calls_are_refused_on_demand(api, maintainer, sha, *, kind, status):
    maintainer.inject(kind, path=".*/repository/.*")
    assert api.ask("GET", IN, token="maintainer")[0] == 200
    assert api.ask("GET", f"{IN}/repository/branches", token="maintainer")[0] == status


def test_a_call_can_take_effect_and_its_answer_be_lost(api, maintainer, iid):
    maintainer.inject("server_error", method="POST", path=".*/notes", after=True)
    notes = f"{IN}/merge_requests/{iid}/notes"
    assert api.ask("POST", notes, {"body": "Once"}, token="maintainer")[0] == 500
    assert [one["body"] for one in maintainer.notes(PROJECT, iid)] == ["Once"]


def test_a_connection_closes_without_an_answer(api, maintainer, sha):
    maintainer.inject("close")
    with pytest.raises(OSError, match=r"closed|reset|without response"):
        api.ask("GET", IN, token="maintainer")


def test_which_calls_programs_made_is_remembered(maintainer, sha):
    maintainer.project(PROJECT)
    assert maintainer.calls()[-1] | {"at": 0, "agent": ""} == {"at": 0, "method": "GET", "path": PATH, "agent": ""}


def test_faults_of_github_are_none_here(maintainer, sha):
    with pytest.raises(ForgeAnswered, match="422"):
        maintainer.inject("secondary_limit")
