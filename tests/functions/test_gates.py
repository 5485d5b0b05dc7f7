"""The functions of gates: messages and payloads in, answers to task tokens out."""

from __future__ import annotations

import pytest

from tests.builders import any_plan, any_root, deployment_in
from tests.functions.wires import call, failures, sqs_event
from tests.instants import utc
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.messages.queues import OpenGates
from tidegate.ports import Enrolled
from tidegate.rules.errors import WrongState

CHANGE = "change-1"
EARLIER = utc("2026-03-01T00:00")
PLANNED = utc("2026-03-02T00:00")


def message(*changes):
    return sqs_event(*(OpenGates(change_set=change).body() for change in changes), group=list(changes))


@pytest.fixture
def dev(wires):
    """What is waited for."""
    dev = deployment_in(State.APPLYING, 2, root=any_root(name="app"), stack="dev", change_set=CHANGE)
    wires.deployments.add(dev)
    wires.change_sets.enroll(CHANGE, [Enrolled("app", "dev", dev.id, dev.request.at)])
    return dev


@pytest.fixture
def waiting(wires, dev):
    """A deployment that has come to its gate, and what the state machine sends then."""
    plan = any_plan()
    waits = Waits(apply_after=("dev",))
    deployment = deployment_in(
        State.PLANNING,
        plan=plan,
        plan_job=plan.job,
        stack="prod",
        change_set=CHANGE,
        waits=waits,
        history=(Step(State.PLANNING, PLANNED),),
    )
    wires.deployments.add(deployment)
    wires.change_sets.enroll(CHANGE, [Enrolled("network", "prod", deployment.id, deployment.request.at)])
    wires.workflows.waiting.add("token")
    assert call("wait_at_gate", {"deployment": deployment.id, "job": plan.job, "token": "token"}) == {}
    return deployment


def applied(wires, deployment):
    wires.deployments.save(wires.deployments.get(deployment.id).moved(State.APPLIED, EARLIER))


def test_a_deployment_waits_until_a_message_about_its_change_opens_its_gate(wires, dev, waiting):
    assert wires.deployments.get(waiting.id).state is State.GATED
    applied(wires, dev)
    assert failures(call("open_gates", message(CHANGE))) == []
    assert wires.workflows.settled["token"] == {"next": "review"}


def test_of_several_messages_about_one_change_one_look_is_enough(wires, waiting):
    looked = []
    read = wires.change_sets.deployments
    wires.change_sets.deployments = lambda change: looked.append(change) or read(change)
    assert failures(call("open_gates", message(CHANGE, "another", CHANGE))) == []
    assert looked == [CHANGE, "another"]


def test_a_look_that_fails_comes_back_with_what_stands_behind_it(wires, dev, waiting):
    applied(wires, dev)
    wires.workflows.refusals = 1
    assert failures(call("open_gates", message(CHANGE, CHANGE))) == ["message-0", "message-1"]
    assert wires.visibility.postponed == [("https://sqs.example/changes.fifo", f"receipt-{n}", 1) for n in (0, 1)]
    assert failures(call("open_gates", message(CHANGE))) == []
    assert wires.workflows.settled["token"] == {"next": "review"}


def test_a_deployment_that_is_elsewhere_does_not_wait(wires, waiting):
    with pytest.raises(WrongState):
        call("wait_at_gate", {"deployment": waiting.id, "token": "token"})
