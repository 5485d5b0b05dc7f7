"""What people ask for, from SQS's event to the queues: comments, requests, heads, and running again."""

from __future__ import annotations

import pytest

from tests.builders import deployment_in, seen
from tests.functions.wires import call, failures, sqs_event
from tests.repositories import LOCKED
from tidegate.adapters.deliveries import queues_of_events, to_message
from tidegate.domain.deploys.authors import Authors
from tidegate.domain.deploys.deployment import State, Trigger
from tidegate.domain.pull_requests.pull_request import PullRequest
from tidegate.ports import Change, Delivery

WHERE = {"repository": "acme/infra", "installation": 7}
AT = "2026-03-02T08:00:00.000000+00:00"


@pytest.fixture
def commits(repository, wires):
    """Return main's head and the head of pull request 5, which changes ``live/app``."""
    main = repository.commit({"live/app/main.tf": "", "live/db/main.tf": "", **LOCKED})
    head = repository.commit({"live/app/main.tf": "# new"})
    wires.forge.branches["main"] = main
    wires.forge.pull_requests[5] = PullRequest(5, head, "feature", "main", "author", True, False, True)
    wires.forge.changes["main", head] = Change(main, Authors(("author",)))
    return main, head


def receive(wires, function, event, fields, delivery="delivery-1"):
    stored = Delivery(delivery, event, {**WHERE, **fields}, AT)
    wires.deliveries.store(stored)
    assert failures(call(function, sqs_event(to_message(stored)))) == []
    return wires.deliveries.outcome(delivery)


def waiting(wires, root):
    return [wires.deployments.get(each.deployment) for each in wires.queues.waiting(f"acme/infra||{root}")]


def test_a_comment_deploys_what_the_pull_request_changes(wires, commits):
    comment = {"pull_request": 5, "comment": 77, "text": "tidegate deploy", "sender": "reviewer"}
    outcome = receive(wires, "discover_roots", "issue_comment", comment)
    (deployment,) = waiting(wires, "live/app")
    assert (deployment.revision.sha, deployment.trigger) == (commits[1], Trigger.MANUAL)
    assert outcome.deployments == (deployment.id,)
    assert wires.forge.reactions == [(77, "rocket")]


def test_a_request_deploys_the_default_branchs_head(wires, commits):
    receive(wires, "discover_roots", "manual", {"roots": ["live/db"], "by": "operator"})
    (deployment,) = waiting(wires, "live/db")
    assert (deployment.revision.sha, deployment.requested_by) == (commits[0], "operator")


def test_a_head_that_no_push_told_of_is_deployed(wires, commits):
    head = {"before": commits[0], "after": commits[1], "branch": "main"}
    receive(wires, "discover_roots", "head", head)
    (deployment,) = waiting(wires, "live/app")
    assert deployment.trigger is Trigger.MERGE
    assert [known.seen for known in wires.catalog.repositories()] == [commits[1]]


@pytest.fixture
def failed(wires):
    """Return a deployment that failed in plan, whose check run is shown."""
    deployment = deployment_in(State.PLAN_FAILED)
    wires.deployments.add(deployment)
    wires.check_run_publisher.publish(deployment.id)
    return deployment


def test_a_failed_check_is_run_again(wires, failed):
    number = wires.check_runs.published(failed.id).id
    check = {"id": number, "external_id": failed.id, "name": f"tidegate/deploy: {failed.root.name}"}
    fields = {**check, "head_sha": failed.revision.sha, "sender": "reviewer"}
    receive(wires, "answer_button", "rerun", fields)
    (deployment,) = waiting(wires, failed.root.name)
    assert (deployment.trigger, deployment.rerun_of) == (Trigger.RERUN, failed.id)


def test_all_checks_of_a_commit_are_run_again(wires, failed):
    receive(wires, "answer_button", "check_suite", {"head_sha": failed.revision.sha, "sender": "reviewer"})
    (deployment,) = waiting(wires, failed.root.name)
    assert deployment.rerun_of == failed.id


def test_a_comment_that_rejects_a_plan_is_read_by_one_function_and_carried_out_by_another(wires, commits):
    wires.forge.seen[5] = seen(merge_sha="f" * 40, merged=True, is_open=False)
    waiting = deployment_in(State.AWAITING_REVIEW, pull_request=5)
    wires.queues.enqueue(waiting)
    comment = {"pull_request": 5, "comment": 77, "text": "tidegate reject", "sender": "reviewer", "written_at": AT}
    receive(wires, "discover_roots", "issue_comment", comment)
    assert wires.deployments.get(waiting.id).state is State.AWAITING_REVIEW
    (handed_over,) = wires.events.sent
    assert failures(call("answer_button", sqs_event(to_message(handed_over)))) == []
    assert wires.deployments.get(waiting.id).state is State.REJECTED
    assert wires.deliveries.outcome(handed_over.id).deployments == (waiting.id,)


def test_what_needs_the_repositorys_files_goes_to_the_discovery_queue():
    queues = queues_of_events("discovery", "presses")
    assert {event for event, queue in queues.items() if queue == "discovery"} == {
        "push",
        "head",
        "issue_comment",
        "manual",
        "drift",
        "pull_request",
        "pull_request_review",
        "merge_group",
        "replan",
        "look_for_drift",
    }
    presses = {"check_run", "rerun", "check_suite", "decision"}
    assert {event for event, queue in queues.items() if queue == "presses"} == presses
