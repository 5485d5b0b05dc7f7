"""The plans of a repository's pull requests share its places: never more at a time, first come, first served."""

from __future__ import annotations

import itertools
import uuid

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.installation import Installation
from tests.e2e.modules import thing
from tests.e2e.project import Project
from tests.e2e.pulls import gated, open_pull, planning
from tests.stepfunctions.scenario import events_of
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.pull_requests.get_pull_request import get_pull_request
from tidegate_local.client import LocalCloud

pytestmark = pytest.mark.nightly

#: Plans of a repository at a time.
PLACES = 2


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    log = tmp_path_factory.mktemp("places") / "cloud.log"
    with LocalCloud(context={"pull_request_plans": str(PLACES)}, clock=False, warm=True, log=log) as cloud:
        yield Installation(cloud)
        assert cloud.read("permissions")["denied"] == []


@pytest.fixture
def project(narrow, gate):
    """Return four roots, of which the plans of two wait for the gate."""
    project = Project(narrow, f"acme/places-{uuid.uuid4().hex[:6]}")
    project.push({name: thing() for name in ("app", "api", "db", "web")})
    project.push_files({"tidegate.yaml": gated(gate, "dir:db or dir:web")})
    return project


@pytest.fixture
def first(project):
    """Open a pull request whose plans take all places, until the gate opens."""
    pull, head = open_pull(project, {"db": thing("two"), "web": thing("two")}, "first")
    for root in ("db", "web"):
        planning(pull, root)
    return pull, head


@pytest.fixture
def second(project, first):
    """Open another one, whose plans wait; that is shown."""
    pull, head = open_pull(project, {"app": thing("two"), "api": thing("two")}, "second")
    eventually(lambda: len(places(pull).line) == PLACES, what="two plans that wait")
    return pull, head


def places(pull):
    return pull.tidegate.plan_slots.read(pull.project.name)


def runners(pull):
    """Return how many runners work on the plans of a pull request."""
    return sum(len(pull.project.tidegate.runners(layer.job)) for layer in pull.layers().values() if layer.job)


def most_at_once(*pulls):
    """Return how many plans were under way at a time, at most, as the executions of pull requests tell."""
    steps = sorted((at, by) for pull in pulls for at, by in starts_and_ends(pull))
    return max(itertools.accumulate(by for _, by in steps))


def starts_and_ends(pull):
    """Yield when a plan's runner was asked for (1), and when a plan had ended (-1)."""
    cloud = pull.project.tidegate.cloud
    arn = cloud.state_machines["pull_request"].replace(":stateMachine:", ":execution:")
    for event in events_of(cloud.client("stepfunctions"), f"{arn}:{pull.record.execution}"):
        if event.get("stateEnteredEventDetails", {}).get("name") == "Start a runner for the plan":
            yield event["timestamp"], 1
        if event.get("stateExitedEventDetails", {}).get("name") == "Plan":
            yield event["timestamp"], -1


def test_plans_of_another_pull_request_wait_until_a_place_is_free(project, first, second, gate):
    (one, _), (other, other_head) = first, second
    assert (runners(one), runners(other)) == (PLACES, 0)
    assert set(other.states().values()) == {LayerState.WAITING}

    def shown():
        run = next(iter(project.check_runs(other_head, "tidegate/plan")), None)
        return run and "2 waiting for a concurrency slot" in run["output"]["title"] and run

    summary = eventually(shown, what="a check run that says what is waited for")["output"]["summary"]
    assert "2 plans wait for a concurrency slot: 2 plans of the repository are running" in summary
    reasons = [each.reason for each in get_pull_request(other.tidegate, project.name, other.number).layers]
    under_way = f"2 plans of the repository are running, of #{one.number}."
    assert sorted(reasons) == [
        f"Waiting for a concurrency slot, behind 1 other: {under_way}",
        f"Waiting for a concurrency slot, next in the queue: {under_way}",
    ]
    gate.touch()
    for pull, sha in (first, second):
        pull.at_rest(sha)
        assert pull.ended(sha)["conclusion"] == "success"
    eventually(lambda: places(one).is_quiet, what="all places to be given back")
    assert most_at_once(one, other) == PLACES


def test_closing_a_pull_request_frees_its_places(first, second):
    (one, _), (other, head) = first, second
    record = other.record
    one.close()
    other.at_rest(head)
    assert set(other.states().values()) == {LayerState.PLANNED}
    assert other.record.execution == record.execution
    eventually(lambda: places(other).is_quiet, what="all places to be given back")


def test_closing_a_pull_request_that_waits_leaves_the_line(first, second, gate):
    (one, head), (other, _) = first, second
    other.close()
    eventually(lambda: not places(one).line, what="nobody to wait")
    gate.touch()
    one.at_rest(head)
    assert set(one.states().values()) == {LayerState.PLANNED}
    eventually(lambda: places(one).is_quiet, what="all places to be given back")


def test_the_reconciler_frees_the_places_of_an_execution_that_died(first, second, narrow):
    (one, _), (other, head) = first, second
    machine = narrow.cloud.state_machines["pull_request"].replace(":stateMachine:", ":execution:")
    narrow.cloud.client("stepfunctions").stop_execution(executionArn=f"{machine}:{one.record.execution}")
    narrow.reconcile()
    other.at_rest(head)
    assert set(other.states().values()) == {LayerState.PLANNED}
