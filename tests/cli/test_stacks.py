"""The stacks of a change, and those of a file, as a graph and as JSON."""

from __future__ import annotations

import json

import pytest

from tests.cli.changes import CHANGE, member, stack
from tests.cli.conftest import brief, details


@pytest.fixture
def known(api):
    api.answers["GET /api/v1/changes/c-1"] = CHANGE
    return api


def test_a_change_is_drawn_with_the_state_of_each_stack_below_what_it_waits_for(known, tidegate):
    result = tidegate("stacks", "c-1")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].startswith("acme/live · 0123456  1 of 3 done")
    dev, staging, prod = (next(line for line in lines if f"{name}  " in line) for name in ("dev", "staging", "prod"))
    assert "✔ applied" in dev
    assert "◆ waiting for review" in staging
    assert "◌ waiting for others" in prod
    assert dev.index("dev") < staging.index("staging") < prod.index("prod")
    assert "applied after staging" in result.output
    assert "waits for network of staging (waiting for review)" in " ".join(result.output.split())


def test_a_stack_that_waits_for_two_stands_once_and_names_both(known, tidegate):
    stacks = [
        stack("a", 1, "applied", [member("a", "applied")]),
        stack("b", 1, "applied", [member("b", "applied")]),
        stack("c", 2, "gated", [member("c", "gated")], apply_after=["a"], plan_after=["b"]),
    ]
    known.answers["GET /api/v1/changes/c-1"] = CHANGE | {"stacks": stacks}
    output = tidegate("stacks", "c-1").output
    assert output.count("c  ◌") == 1
    assert "planned after b; applied after a" in output


def test_a_failed_member_names_the_revision_that_is_deployed_in_its_place(known, tidegate):
    newer = {"deployment": "dev-newer", "revision": "16505ba" + "0" * 33, "url": ""}
    failed = member("dev", "plan_failed", replaced_by=newer)
    known.answers["GET /api/v1/changes/c-1"] = CHANGE | {"stacks": [stack("dev", 1, "applied", [failed])]}
    output = tidegate("stacks", "c-1").output
    assert "✘ plan failed  network" in output
    assert "superseded by 16505ba, which is deployed" in output


def test_json_is_the_change(known, tidegate):
    document = json.loads(tidegate("stacks", "c-1", "--json").output)
    assert [one["name"] for one in document["stacks"]] == ["dev", "staging", "prod"]
    assert document["stacks"][2]["members"][0]["gated_by"][0]["stack"] == "staging"


@pytest.mark.parametrize("name", ["https://tidegate.example.com/changes/c-1", "prod-network", "c-1"])
def test_a_change_is_named_by_its_id_its_page_or_a_deployment_of_it(known, tidegate, name):
    known.answers["GET /api/v1/deployments/prod-network"] = details(id="prod-network", change_set="c-1")
    assert tidegate("stacks", name).exit_code == 0


def test_the_newest_change_of_a_repository_is_drawn(known, tidegate):
    listed = [brief(change_set=None), brief(change_set="c-1"), brief(change_set="c-0")]
    known.answers["GET /api/v1/deployments"] = {"deployments": listed, "next": None}
    result = tidegate("stacks", "--repository", "acme/live")
    assert "staging" in result.output
    assert "Deployed since then, each on its own: orders at" in result.stderr


def test_of_many_that_came_after_the_newest_change_few_are_named(known, tidegate):
    later = [brief(change_set=None, root=f"root-{number}") for number in range(5)]
    known.answers["GET /api/v1/deployments"] = {"deployments": [*later, brief(change_set="c-1")], "next": None}
    told = tidegate("stacks", "--repository", "acme/live").stderr
    assert "root-2 at" in told
    assert "root-3" not in told
    assert "and 2 more." in told
    known.answers["GET /api/v1/deployments"] = {"deployments": [brief(change_set="c-1")], "next": None}
    assert "Since then" not in tidegate("stacks", "--repository", "acme/live").stderr


def test_what_is_no_change_is_not_found(api, tidegate):
    api.answers["GET /api/v1/repositories"] = {"repositories": []}
    assert tidegate("stacks", "none").exit_code == 3
    api.answers["GET /api/v1/deployments/orders"] = details(id="orders", change_set=None)
    result = tidegate("stacks", "orders")
    assert (result.exit_code, "belongs to no change" in result.output) == (3, True)
    api.answers["GET /api/v1/deployments"] = {"deployments": [brief()], "next": None}
    assert tidegate("stacks", "--repository", "acme/live").exit_code == 3


def test_a_change_and_a_file_exclude_each_other(api, tidegate):
    result = tidegate("stacks", "c-1", "--file", "tidegate.yaml")
    assert (result.exit_code, api.asked) == (2, [])


FILE = """
stacks:
  names:
    dev: {tag_query: development}
    staging:
      tag_query: staged
      rules: {apply_after: [dev]}
    prod:
      tag_query: production
      variables: {environment: prod}
      on_change: {can_apply_after: [staging]}
"""


def test_the_stacks_of_a_file_are_drawn_without_a_server(api, tidegate, tmp_path):
    file = tmp_path / "tidegate.yaml"
    file.write_text(FILE)
    output = tidegate("stacks", "--file", str(file)).output
    assert output.index("dev") < output.index("staging") < output.index("prod")
    assert "default  roots in no other stack" in output
    document = json.loads(tidegate("stacks", "--file", str(file), "--json").output)
    assert [(one["name"], one["tier"], one["apply_after"]) for one in document["stacks"]] == [
        ("default", 1, []),
        ("dev", 1, []),
        ("staging", 2, ["dev"]),
        ("prod", 3, ["staging"]),
    ]
    assert document["stacks"][3]["variables"] == {"ENVIRONMENT": "prod"}
    assert api.asked == []


def test_the_file_of_this_directory_is_drawn_without_a_word(tidegate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tidegate("stacks").exit_code == 3
    (tmp_path / "tidegate.yaml").write_text(FILE)
    assert "staging" in tidegate("stacks").output
    (tmp_path / "tidegate.yaml").write_text("version: 1\n")
    assert "No stacks are configured" in tidegate("stacks").output
    (tmp_path / "tidegate.yaml").write_text("stack: {}\n")
    assert tidegate("stacks").exit_code == 1


ROLLOUT = {"max_concurrent": 5, "stop_on_failures": 2, "held": True, "failed": ["network"]}
BY = {"by": "operator", "at": "2026-03-02T08:00:00.000000+00:00", "reason": "known"}


def rolled_out(**wave):
    made = stack("prod", 1, "applying", [member("prod", "applying")], running=3, waiting=7, failed=2)
    return CHANGE | {"stacks": [made | {"wave": ROLLOUT | {"continued": None, "stopped": None} | wave}]}


def test_a_stack_that_is_rolled_out_shows_its_progress_and_its_rules(known, tidegate):
    known.answers["GET /api/v1/changes/c-1"] = rolled_out()
    output = tidegate("stacks", "c-1").output
    assert "0 of 1 done, 3 running, 7 waiting, 2 failed" in output
    assert "at most 5 at the same time, stops on 2 failed" in output
    assert "--continue" in output
    assert json.loads(tidegate("stacks", "c-1", "--json").stdout)["stacks"][0]["wave"]["held"]


def test_who_decided_about_a_rollout_is_named(known, tidegate):
    nothing = {"max_concurrent": None, "stop_on_failures": None, "held": False}
    known.answers["GET /api/v1/changes/c-1"] = rolled_out(**nothing, continued=BY, stopped=BY)
    output = tidegate("stacks", "c-1").output
    assert "operator let it continue: known" in output
    assert "operator stopped it" in output
    assert "same time" not in output


def test_a_stack_of_a_change_is_stopped(known, tidegate):
    known.answers["POST /api/v1/changes/c-1/stop"] = rolled_out(stopped=BY)
    result = tidegate("stacks", "c-1", "--stop", "prod")
    assert result.exit_code == 0
    assert "operator stopped it" in result.output
    assert known.bodies("POST /api/v1/changes/c-1/stop") == [{"stack": "prod"}]


def test_a_stack_of_a_change_continues(known, tidegate):
    known.answers["POST /api/v1/changes/c-1/continue"] = rolled_out(continued=BY)
    assert "operator let it" in tidegate("stacks", "c-1", "--continue", "prod", "--reason", "known").output
    assert known.bodies("POST /api/v1/changes/c-1/continue") == [{"stack": "prod", "reason": "known"}]


@pytest.mark.parametrize(
    "words",
    [("c-1", "--stop", "a", "--continue", "b"), ("--stop", "a"), ("--repository", "acme/live", "--continue", "b")],
)
def test_a_stack_is_stopped_or_continued_in_a_change_that_is_named(tidegate, words):
    assert tidegate("stacks", *words).exit_code == 2
