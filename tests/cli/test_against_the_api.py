"""The command line against the HTTP API itself, on adapters in memory."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace

import pytest
from typer.testing import CliRunner
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.api.scenario import WebScenario
from tests.api.wsgi import wsgi
from tests.builders import REPOSITORY, any_deployment, any_job, any_plan, deployment_in
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.state import State
from tidegate.plans.rules.cost import PlanCost, unknown_cost
from tidegate.ports import LogChunk
from tidegate_cli.main import app


class Quiet(WSGIRequestHandler):
    def log(self, *_, **__):
        pass


@pytest.fixture
def wires():
    return WebScenario()


@pytest.fixture
def tidegate(wires):
    """Run the command line as somebody whom the API's scenario knows."""
    server = make_server("127.0.0.1", 0, wsgi(wires), request_handler=Quiet)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
    thread.start()
    logging.disable()  # The function's logger would write to the stdout that the command line has meanwhile.

    def run(*words, login="reviewer"):
        known = {"TIDEGATE_URL": f"http://127.0.0.1:{server.port}", "TIDEGATE_TOKEN": f"token-of-{login}"}
        return CliRunner().invoke(app, list(words), env=known)

    yield run
    logging.disable(logging.NOTSET)
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_repository_its_roots_its_queue_and_a_deployment_are_shown(wires, tidegate):
    one = wires.deployed(deployment_in(State.AWAITING_REVIEW))
    assert REPOSITORY in tidegate("status").stdout
    assert one.root.name in tidegate("status", REPOSITORY).stdout
    assert one.id in tidegate("queue", REPOSITORY, one.root.name).stdout
    assert "waiting for review" in tidegate("status", one.id).stdout
    assert json.loads(tidegate("status", one.id[:-4], "--json").stdout)["id"] == one.id


@pytest.mark.parametrize(
    ("cost", "beside", "fact"),
    [
        (PlanCost("USD", 34510, 1230), "1 to destroy; +12.30 USD a month", "+12.30 USD a month, 345.10 USD in all"),
        (unknown_cost("the file is not JSON"), "1 to destroy; cost not known", "not known: the file is not JSON"),
    ],
)
def test_what_a_plan_costs_stands_beside_its_counts(wires, tidegate, cost, beside, fact):
    one = wires.deployed(deployment_in(State.AWAITING_REVIEW, plan=any_plan(cost=cost)))
    wires.deployments.keep_review_token(one.id, one.review.id, "token")
    assert fact in tidegate("status", one.id).stdout
    assert beside in tidegate("approve", one.id).stdout


@pytest.mark.parametrize(
    ("decision", "state"), [("approve", State.APPROVED), ("confirm", State.APPROVED), ("reject", State.REJECTED)]
)
def test_a_review_is_answered(wires, tidegate, decision, state):
    one = wires.deployed(deployment_in(State.AWAITING_REVIEW))
    wires.deployments.keep_review_token(one.id, one.review.id, "token")
    result = tidegate(decision, one.id, "--json")
    assert result.exit_code == 0, result.output
    assert wires.deployments.get(one.id).state is state
    assert json.loads(result.stdout)["deployment"]["state"] == state


def test_a_deployment_is_cancelled_and_an_apply_only_if_that_is_said(wires, tidegate):
    planning = wires.deployed(deployment_in(State.PLANNING))
    assert tidegate("cancel", planning.id).exit_code == 0
    assert wires.deployments.get(planning.id).state is State.CANCELLED
    applying = wires.deployed(deployment_in(State.APPLYING, 2))
    wires.jobs.create(any_job(JobKind.APPLY, id=applying.apply.job))
    refused = tidegate("cancel", applying.id)
    assert (refused.exit_code, "partly changed" in refused.stderr) == (1, True)
    assert wires.deployments.get(applying.id).outcome.cancelled is None
    assert tidegate("cancel", "--apply", applying.id, "--json").exit_code == 0
    assert wires.deployments.get(applying.id).outcome.cancelled.by == "reviewer"


def test_what_waits_for_nothing_cannot_be_answered(wires, tidegate):
    one = wires.deployed(deployment_in(State.APPLIED))
    result = tidegate("approve", one.id)
    assert result.exit_code == 1
    assert "That decision is final" in result.stderr


def test_a_queue_without_a_lock_stays_as_it_is(wires, tidegate):
    one = wires.deployed()
    result = tidegate("unlock", REPOSITORY, one.root.name, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["unlocked"] is False


def test_a_queue_is_locked_with_a_reason_and_is_shown_so_until_it_is_unlocked(wires, tidegate):
    one = wires.deployed()
    assert tidegate("lock", REPOSITORY, one.root.name, "--reason", "the vendor moves").exit_code == 0
    assert "the vendor moves" in tidegate("queue", REPOSITORY, one.root.name).stdout
    assert tidegate("lock", REPOSITORY, one.root.name).exit_code == 1
    assert tidegate("unlock", REPOSITORY, one.root.name).exit_code == 0
    assert wires.queues.read(one.queue)[0].lock is None


def test_rights_are_those_of_the_token(wires, tidegate):
    one = wires.deployed(deployment_in(State.AWAITING_REVIEW))
    assert tidegate("approve", one.id, login="reader").exit_code == 4
    assert tidegate("deploy", REPOSITORY, one.root.name, login="reader").exit_code == 4
    assert tidegate("status", one.id, login="visitor").exit_code == 3
    assert tidegate("status", one.id, login="nobody").exit_code == 4


def test_a_deploy_by_hand_is_asked_for_and_its_outcome_is_told(wires, tidegate, monkeypatch):
    monkeypatch.setattr("tidegate_cli.deploy.ASK_SECONDS", 0.01)
    one = any_deployment()
    stored = []

    class Discovery:
        """Does at once what root discovery does with a request."""

        def send(self, delivery):
            stored.append(delivery.fields)
            wires.deliveries.conclude(delivery.id, "1 deployment was queued.", [wires.deployed(one).id])

    wires.put(events=Discovery())
    result = tidegate("deploy", REPOSITORY, one.root.name, "--json")
    assert result.exit_code == 0, result.output
    assert stored[0]["roots"] == [one.root.name]
    assert json.loads(result.stdout)["deployments"][0]["id"] == one.id


def test_a_log_is_followed_to_its_end(wires, tidegate):
    one = deployment_in(State.AWAITING_REVIEW)
    one = wires.deployed(replace(one, planned=replace(one.planned, plan=any_plan(job=job_id(one.id, JobKind.PLAN, 1)))))
    job = any_job(JobKind.PLAN, id=one.planned.plan.job, deployment=one.id)
    wires.jobs.create(job)
    wires.job_logs.append(job.id, LogChunk(0, ("one", "two")))
    result = tidegate("logs", one.id, "--follow")
    assert (result.stdout.splitlines(), result.exit_code) == (["one", "two"], 0), result.output
