"""A merge of many roots runs to its end with few runners: each waits for a concurrency slot, and says so."""

from __future__ import annotations

import itertools
import uuid

import httpx
import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.installation import Installation
from tests.e2e.modules import gated, thing
from tests.e2e.project import Project, gate_of, words
from tests.stepfunctions.scenario import OperatorPorts, events_of
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.state import State
from tidegate_local.client import LocalCloud

pytestmark = pytest.mark.nightly

SLOTS = 2
ROOTS = tuple(f"root-{number}" for number in range(8))
_JOBS = {"plan": "Plan", "apply": "Apply"}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    log = tmp_path_factory.mktemp("slots") / "cloud.log"
    context = {"runner_slots": str(SLOTS), "plan_review": "never"}
    with LocalCloud(context=context, clock=False, warm=True, log=log) as cloud:
        yield Installation(cloud)
        assert cloud.read("permissions")["denied"] == []


@pytest.fixture
def project(narrow):
    return Project(narrow, f"acme/slots-{uuid.uuid4().hex[:6]}")


@pytest.fixture
def tidegate(narrow):
    return OperatorPorts(narrow.cloud)


def starts_and_ends(narrow, deployment):
    """Yield when a job's runner was asked for (1), and when the job had ended (-1), as its execution tells."""
    arn = narrow.cloud.state_machines["terraform"].replace(":stateMachine:", ":execution:")
    for event in events_of(narrow.cloud.client("stepfunctions"), f"{arn}:{deployment}"):
        entered, left = (event.get(f"state{word}EventDetails", {}).get("name") for word in ("Entered", "Exited"))
        if entered and entered.startswith("Start a runner for the"):
            yield event["timestamp"], 1
        if left in _JOBS.values():
            yield event["timestamp"], -1


def test_a_merge_of_many_roots_runs_to_its_end_with_few_runners(project, narrow, tidegate, tmp_path):
    gate = gate_of(tmp_path)
    sha = project.push({root: thing() + gated(gate) for root in ROOTS})
    waiting = eventually(lambda: held_up(tidegate), what="all others to wait for those at the gate")
    for position, deployment in enumerate(waiting, 1):
        reason = f"Waiting for a concurrency slot: {SLOTS} of {SLOTS} runners are busy, position {position}"
        shown = read(narrow.cloud, deployment.id)["slot"]
        assert (shown["reason"], shown["position"], shown["busy"]) == (f"{reason}.", position, SLOTS)
    run = project.wait(sha, waiting[-1].root.name, f"Waiting for a concurrency slot: {SLOTS} of {SLOTS}")
    assert run["status"] == "in_progress"
    assert "Applies go before plans" in words(run)

    gate.touch()
    deployments = [project.ended(sha, root) for root in ROOTS]
    assert {run["conclusion"] for run in deployments} == {"success"}
    assert {project.value(root) for root in ROOTS} == {"one"}
    steps = sorted((at, by) for run in deployments for at, by in starts_and_ends(narrow, run["external_id"]))
    assert sum(by > 0 for _, by in steps) == 2 * len(ROOTS)
    assert max(itertools.accumulate(by for _, by in steps)) == SLOTS
    eventually(lambda: tidegate.plan_slots.read(INSTALLATION).is_quiet, what="all slots to be given back")


def held_up(tidegate):
    """Return the deployments that wait, in order, once the applies that have slots hold them at the gate."""
    slots = tidegate.plan_slots.read(INSTALLATION)
    found = tidegate.deployments.many((*slots.held, *slots.line))
    if len(slots.line) != len(ROOTS) - SLOTS or any(found[each].state is not State.APPLYING for each in slots.held):
        return None
    waiting = [found[each] for each in slots.line]
    return waiting if all(each.slot_since for each in waiting) else None


def read(cloud, deployment):
    token = {"Authorization": "Bearer reviewer"}
    with httpx.Client(base_url=cloud.api_url, headers=token, trust_env=False, timeout=30) as api:
        return api.get(f"/api/v1/deployments/{deployment}").json()
