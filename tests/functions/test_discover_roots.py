"""The function that receives pushes, from SQS's event to the queues, with a real git on a real repository."""

from __future__ import annotations

import pytest

from tests.builders import seen, sha
from tests.functions.wires import call, failures, sqs_event
from tests.instants import utc
from tests.repositories import LOCKED
from tidegate.deploys.rules.state import State
from tidegate.ports import Delivery
from tidegate.rules.errors import ForgeUnavailable
from tidegate.vcs.adapters.deliveries import to_message

QUEUES = ["acme/infra||live/app", "acme/infra||live/db"]


@pytest.fixture
def push(repository, wires):
    """Return what makes the message of a push that changed two roots."""
    before = repository.commit({"live/app/main.tf": "", "live/db/main.tf": "", **LOCKED, "README.md": ""})
    after = repository.commit({"live/app/main.tf": "# new", "live/db/main.tf": "# new"})

    def message(delivery="delivery-1", **fields):
        pushed = {
            "repository": "acme/infra",
            "before": before,
            "after": after,
            "branch": "main",
            "sender": "reviewer",
            "forced": False,
        }
        stored = Delivery(delivery, "push", {**pushed, **fields}, utc("2026-03-02T08:00"))
        wires.deliveries.store(stored)
        return to_message(stored)

    return message


def waiting(wires):
    return [name for name in QUEUES if wires.queues.waiting(name)]


def test_a_push_enqueues_announces_and_starts_a_worker_for_each_changed_root(wires, push):
    assert failures(call("discover_roots", sqs_event(push()))) == []
    assert waiting(wires) == QUEUES
    assert [queue for _, queue in wires.workflows.starts] == QUEUES
    assert "live/app, live/db" in wires.deliveries.outcomes["delivery-1"]


def test_the_same_push_again_changes_nothing(wires, push):
    call("discover_roots", sqs_event(push(), push()))
    call("discover_roots", sqs_event(push("delivery-2")))
    assert [len(wires.queues.waiting(queue)) for queue in QUEUES] == [1, 1]


def test_a_push_whose_workers_could_not_be_started_comes_back_and_starts_them(wires, push):
    wires.workflows.refusals = 2
    assert failures(call("discover_roots", sqs_event(push()))) == ["message-0"]
    assert (waiting(wires), wires.workflows.starts) == (QUEUES, [])
    assert wires.visibility.postponed[1:] == [("https://sqs.example/pushes", "receipt-0", 1)]
    assert failures(call("discover_roots", sqs_event(push()))) == []
    assert [queue for _, queue in wires.workflows.starts] == QUEUES


def test_a_message_is_held_for_seconds_while_it_is_looked_at(wires, push):
    assert failures(call("discover_roots", sqs_event(push()))) == []
    assert wires.visibility.postponed == [("https://sqs.example/pushes", "receipt-0", 30)]


def test_what_the_cloud_refuses_for_longer_comes_back_after_longer(wires, push):
    for receives in (1, 4, 5, 9):
        wires.workflows.refusals = 2
        assert failures(call("discover_roots", sqs_event(push(), receives=receives))) == ["message-0"]
    assert [seconds for _, _, seconds in wires.visibility.postponed[1::2]] == [1, 8, 900, 900]


def test_what_the_forge_puts_off_comes_back_when_it_said(wires, push):
    wires.forge.failures = [ForgeUnavailable("secondary limit", 77)]
    assert failures(call("discover_roots", sqs_event(push()))) == ["message-0"]
    assert wires.visibility.postponed[1:] == [("https://sqs.example/pushes", "receipt-0", 77)]
    assert waiting(wires) == []
    assert failures(call("discover_roots", sqs_event(push()))) == []
    assert waiting(wires) == QUEUES


def test_a_root_with_a_hostile_name_is_told_on_the_commit_and_the_others_are_enqueued(wires, push, repository):
    provider = 'provider "aws" {}'
    after = repository.commit({"$(x)/a.tf": provider, "live/db/main.tf": "# newer", b"\xff\n/a.tf": provider})
    assert failures(call("discover_roots", sqs_event(push(after=after)))) == []
    (check_run,) = wires.forge.check_runs.values()
    assert (check_run.name, check_run.sha) == ("tidegate/config", after)
    assert waiting(wires) == QUEUES


def test_an_invalid_file_is_told_on_the_commit_and_its_correction_deploys_what_was_missed(wires, push, repository):
    broken = repository.commit({"tidegate.yaml": "version: 1\nroot: []\n", "live/db/main.tf": "# newer"})
    call("discover_roots", sqs_event(push(after=broken)))
    (check_run,) = wires.forge.check_runs.values()
    assert "line 2" in check_run.summary
    assert waiting(wires) == []
    fixed = repository.commit({"tidegate.yaml": "version: 1\nroots: [{dir: live/app}, {dir: live/db}]\n"})
    call("discover_roots", sqs_event(push("delivery-2", before=broken, after=fixed)))
    assert waiting(wires) == QUEUES
    assert wires.deployments.get(wires.queues.waiting(QUEUES[1])[0].deployment).state is State.QUEUED


def test_an_event_of_a_pull_request_starts_its_machine(wires):
    wires.forge.branches["main"] = sha(2)
    wires.forge.seen[5] = seen()
    fields = {"repository": "acme/infra", "pull_request": 5, "action": "opened", "sender": "author"}
    delivery = Delivery("delivery-pr", "pull_request", fields, utc("2026-03-02T08:00"))
    wires.deliveries.store(delivery)
    assert failures(call("discover_roots", sqs_event(to_message(delivery)))) == []
    record = wires.pull_requests.get("acme/infra", 5)
    assert list(wires.workflows.planned) == [record.execution]
