"""Pull requests: what they would change is planned by a real engine, and the record says so."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pulls import gated, open_pull, planning
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.rules.errors import NotFound

PLANNED = LayerState.PLANNED


@pytest.fixture
def roots(project):
    """Push three roots; nobody approves what the push asks for, so that nothing is applied."""
    project.push({name: thing() for name in ("app", "db", "web")})
    return project


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


@pytest.mark.nightly
def test_closing_stops_what_is_planned_and_leaves_nothing(roots, gate):
    roots.push_files({"tidegate.yaml": gated(gate)})
    pull, _ = open_pull(roots, {"db": thing("two")})
    layer, record = planning(pull, "db"), pull.record
    roots.tidegate.maintainer.edit_pull_request(roots.name, pull.number, state="closed")
    eventually(lambda: not pull.record.is_open, what="the record to be closed")
    assert (pull.layers(), pull.ending(record)) == ({}, "ABORTED")
    eventually(lambda: not roots.tidegate.runners(layer.job), what="the runner to stop")
    with pytest.raises(NotFound):
        pull.tidegate.speculative_plans.get(layer.id)
