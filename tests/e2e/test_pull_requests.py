"""Pull requests: what they would change is planned by a real engine, and the record says so."""

from __future__ import annotations

import pytest

from tests.e2e.modules import thing
from tests.e2e.patience import eventually
from tests.e2e.pulls import gated, open_pull, planning
from tidegate.domain.errors import NotFound
from tidegate.domain.pull_requests.temporary_layer import LayerState

PLANNED = LayerState.PLANNED


@pytest.fixture
def roots(project):
    """Push three roots; nobody confirms what the push asks for, so that nothing is applied."""
    project.push({name: thing() for name in ("app", "db", "web")})
    return project


def test_what_a_pull_request_changes_is_planned_and_nothing_is_touched(roots):
    pull, head = open_pull(roots, {"app": thing("two"), "db": thing() + 'output "now" {\n  value = 1\n}\n'})
    record = pull.at_rest(head)
    layers = pull.layers()
    assert {root: layer.state for root, layer in layers.items()} == {"app": PLANNED, "db": PLANNED}
    assert [layer.plan.changes.add for layer in layers.values()] == [1, 1]
    assert roots.state("app") is None
    assert "tidegate/deploy: app" not in roots.names(head)
    eventually(lambda: pull.ending(record) == "SUCCEEDED", what="the end of its execution")


def test_a_plan_that_fails_is_shown_and_fails_no_other(roots):
    pull, head = open_pull(roots, {"app": thing("${nothing.of_this_kind}"), "db": thing("two")})
    record = pull.at_rest(head)
    assert pull.states() == {"app": LayerState.FAILED, "db": PLANNED}
    assert "Reference to undeclared resource" in pull.layers()["app"].last_lines
    eventually(lambda: pull.ending(record) == "SUCCEEDED", what="the end of its execution")


def test_a_newer_commit_stops_the_plans_of_the_older_one(roots, gate):
    roots.push_files({"tidegate.yaml": gated(gate)})
    pull, older = open_pull(roots, {"app": thing("two"), "db": thing("two")})
    overtaken, record = planning(pull, "db"), pull.record
    files = {"app/main.tf": roots.backed("app", thing("three")), "db/main.tf": roots.backed("db", thing())}
    newer = roots.push_files(files, "Leave db alone", branch="feature")
    pull.at_rest(newer)
    assert pull.states() == {"app": PLANNED}
    assert pull.ending(record) == "ABORTED"
    eventually(lambda: not roots.tidegate.runners(overtaken.job), what="the runner of the older commit to stop")
    assert roots.tidegate.object("artifact_bucket", f"plans/{overtaken.job}/plan.tfplan") is None
    assert [run["status"] for run in roots.check_runs(older, "tidegate/plan")] == ["completed"]


def test_closing_stops_what_is_planned_and_leaves_nothing(roots, gate):
    roots.push_files({"tidegate.yaml": gated(gate)})
    pull, _ = open_pull(roots, {"db": thing("two")})
    layer, record = planning(pull, "db"), pull.record
    roots.tidegate.maintainer.edit_pull_request(roots.name, pull.number, state="closed")
    eventually(lambda: not pull.record.is_open, what="the record to be closed")
    assert (pull.layers(), pull.ending(record)) == ({}, "ABORTED")
    eventually(lambda: not roots.tidegate.runners(layer.job), what="the runner to stop")
    with pytest.raises(NotFound):
        pull.tidegate.temporary_layers.get(layer.id)
