"""Applies that take longer than a session of their role, in runners of another size."""

from __future__ import annotations

import json

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.project import title, words

SIZES = """
runner: {cpu: 2, memory: 8, disk: 50, apply_timeout: 6h}
"""
TOO_LARGE = """
runner: {memory: 120}
"""
#: Sessions of the engine's role live so long.
SECONDS = 6
#: Seconds between an apply's first write of its state and its last: several sessions.
APPLY_SECONDS = 15
SLOW = f"""
resource "terraform_data" "thing" {{
  input = "one"
  provisioner "local-exec" {{
    command = "sleep {APPLY_SECONDS}"
  }}
}}
"""


@pytest.fixture
def short_sessions(tidegate):
    yield lambda: tidegate.cloud.end_sessions_after(SECONDS)
    tidegate.cloud.end_sessions_after(None)


def tasks_of(tidegate, deployment):
    return [task for task in tidegate.cloud.read("tasks") if deployment in json.dumps(task["overrides"])]


@pytest.mark.nightly
def test_an_apply_goes_on_when_the_session_of_its_role_has_ended(project, short_sessions):
    sha = project.push({"live/app": SLOW}, **{"tidegate.yaml": SIZES})
    short_sessions()
    check = project.reviewed(sha, "live/app")
    project.click(check, "Approve")
    ended = project.ended(sha, "live/app")
    assert ended["conclusion"] == "success", words(ended)
    assert project.value("live/app") == "one"
    tidegate = project.tidegate
    assumed = [
        call
        for call in tidegate.cloud.read("calls")
        if call["call"] == "sts:AssumeRole" and "ApplyTaskRole" in call["role"]
    ]
    assert len(assumed) > 1
    plan, apply = eventually(lambda: len(found := tasks_of(tidegate, ended["external_id"])) == 2 and found)
    for task in (plan, apply):
        overrides = task["overrides"]
        assert (overrides["cpu"], overrides["memory"], overrides["ephemeralStorage"]) == (
            "2048",
            "8192",
            {"sizeInGiB": 50},
        )
    environment = {each["name"]: each["value"] for each in apply["overrides"]["containerOverrides"][0]["environment"]}
    assert environment["TIDEGATE_LIFE_SECONDS"] == "21900"


@pytest.mark.nightly
def test_a_root_that_asks_for_more_than_the_installation_allows_is_told_so(project):
    sha = project.push({"live/app": SLOW}, **{"tidegate.yaml": TOO_LARGE})
    ended = project.ended(sha, "live/app")
    assert title(ended) == "The plan failed"
    assert "this root is 120 GB, but this installation allows at most 16 GB" in words(ended)
    assert "raise runner\\_limits" in words(ended)
    assert not tasks_of(project.tidegate, ended["external_id"])
