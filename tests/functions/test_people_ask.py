"""What people ask for, from SQS's event to the queues: comments, requests, heads, and running again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_layer, any_pull_request_record, deployment_in, seen
from tests.functions.wires import call, failures, sqs_event
from tests.instants import utc
from tests.repositories import LOCKED
from tidegate.check_runs.publish_check_run import publish_check_run
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.ports import Change, Delivery
from tidegate.pull_requests.rules.record import judged
from tidegate.roots.rules.root import Root
from tidegate.rules.timestamp import timestamp_text
from tidegate.vcs.adapters.deliveries import queues_of_events, to_message
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequest

WHERE = {"repository": "acme/infra"}
AT = utc("2026-03-02T08:00")
WRITTEN = {"written_at": timestamp_text(AT)}


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
    assert (deployment.revision.sha, deployment.request.trigger) == (commits[1], Trigger.MANUAL)
    assert outcome.deployments == (deployment.id,)
    assert wires.forge.reactions == [(77, "rocket")]


def test_a_request_deploys_the_default_branchs_head(wires, commits):
    receive(wires, "discover_roots", "manual", {"roots": ["live/db"], "by": "operator"})
    (deployment,) = waiting(wires, "live/db")
    assert (deployment.revision.sha, deployment.request.by) == (commits[0], "operator")


def test_a_head_that_no_push_told_of_is_deployed(wires, commits):
    head = {"before": commits[0], "after": commits[1], "branch": "main"}
    receive(wires, "discover_roots", "head", head)
    (deployment,) = waiting(wires, "live/app")
    assert deployment.request.trigger is Trigger.MERGE
    assert [known.seen for known in wires.repository_index.repositories()] == [commits[1]]


#: What the default branch's file says since: only a team deploys, and an approval is required.
NARROWED = """\
access_control: {policies: [{tag_query: '', apply: ['team:sre']}]}
apply_requirements: {checks: [{tag_query: '', approved: {enabled: true}}]}
"""


@pytest.fixture
def failed(wires, commits):
    """Return a deployment that failed in plan and is shown: nothing was required when it was asked for."""
    deployment = deployment_in(State.PLAN_FAILED, root=Root("live/app", "live/app"))
    wires.deployments.add(deployment)
    publish_check_run(wires.ports, deployment.id)
    return deployment


def run_again(wires, failed, delivery="delivery-1"):
    number = wires.check_runs.published(failed.id).id
    check = {"id": number, "external_id": failed.id, "name": f"tidegate/deploy: {failed.root.name}"}
    fields = {**check, "head_sha": failed.revision.sha, "sender": "reviewer"}
    return receive(wires, "discover_roots", "rerun", fields, delivery)


def test_a_failed_check_is_run_again(wires, failed):
    run_again(wires, failed)
    (deployment,) = waiting(wires, failed.root.name)
    assert (deployment.request.trigger, deployment.rerun.of) == (Trigger.RERUN, failed.id)


def test_what_is_run_again_is_under_what_the_default_branch_grants_now(wires, repository, failed):
    wires.forge.branches["main"] = repository.commit({"tidegate.yaml": NARROWED})
    assert "Only team:sre can deploy" in run_again(wires, failed).text
    assert waiting(wires, failed.root.name) == []
    wires.forge.teams["acme/sre"] = {"reviewer"}
    run_again(wires, failed, "delivery-2")
    (deployment,) = waiting(wires, failed.root.name)
    assert (deployment.settings.access.apply, deployment.revision) == (("team:sre",), failed.revision)
    assert [each.approvals for each in deployment.settings.requires] == [1]


def test_nothing_is_run_again_while_the_default_branchs_file_cannot_be_used(wires, repository, failed):
    wires.forge.branches["main"] = repository.commit({"tidegate.yaml": "nonsense: 1\n"})
    assert "nonsense" in run_again(wires, failed).text
    assert waiting(wires, failed.root.name) == []


def test_all_checks_of_a_commit_are_run_again(wires, failed):
    receive(wires, "discover_roots", "check_suite", {"head_sha": failed.revision.sha, "sender": "reviewer"})
    (deployment,) = waiting(wires, failed.root.name)
    assert deployment.rerun.of == failed.id


def test_a_comment_that_rejects_a_plan_is_read_by_one_function_and_carried_out_by_another(wires, commits):
    wires.forge.seen[5] = seen(merge_sha="f" * 40, merged=True, is_open=False)
    waiting = deployment_in(State.AWAITING_REVIEW, pull_request=5)
    wires.queues.enqueue(waiting)
    comment = {
        "pull_request": 5,
        "comment": 77,
        "text": "tidegate reject",
        "sender": "reviewer",
        "written_at": timestamp_text(AT),
    }
    receive(wires, "discover_roots", "issue_comment", comment)
    assert wires.deployments.get(waiting.id).state is State.AWAITING_REVIEW
    (handed_over,) = wires.events.sent
    assert failures(call("answer_button", sqs_event(to_message(handed_over)))) == []
    assert wires.deployments.get(waiting.id).state is State.REJECTED
    assert wires.deliveries.outcome(handed_over.id).deployments == (waiting.id,)


def test_a_cancel_ends_plans_in_one_function_and_is_answered_by_another(wires, commits):
    wires.forge.seen[5] = seen()
    layer, record = any_layer(), any_pull_request_record(5)
    record = replace(record, discovered=record.spec.revision, layers=(layer.id,))
    wires.speculative_plans.create([layer])
    wires.pull_requests.save(judged(record, [layer], AT))
    wires.workflows.start_pull_request(record.execution, record.spec.id, record.spec.revision)
    comment = {
        "pull_request": 5,
        "comment": 77,
        "text": "tidegate cancel",
        "sender": "reviewer",
        "written_at": timestamp_text(AT),
    }
    receive(wires, "discover_roots", "issue_comment", comment)
    assert wires.speculative_plans.get(layer.id).state is LayerState.CANCELLED
    assert record.execution in wires.workflows.endings
    (handed_over,) = wires.events.sent
    assert failures(call("answer_button", sqs_event(to_message(handed_over)))) == []
    assert "🛑" in wires.forge.comments[-1][1]


def test_what_needs_the_repositorys_files_goes_to_the_discovery_queue():
    queues = queues_of_events("discovery", "clicks")
    assert {event for event, queue in queues.items() if queue == "discovery"} == {
        "push",
        "head",
        "issue_comment",
        "manual",
        "rerun",
        "retry",
        "check_suite",
        "drift",
        "pull_request",
        "pull_request_review",
        "merge_group",
        "replan",
        "detect_drift",
    }
    clicks = {"check_run", "decision", "checks"}
    assert {event for event, queue in queues.items() if queue == "clicks"} == clicks
