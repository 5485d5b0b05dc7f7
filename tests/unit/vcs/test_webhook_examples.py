"""All webhooks that GitHub's own examples record, posted one after the other: each has a verdict, and the right one."""

from __future__ import annotations

import gzip
import hmac
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes import MemoryClock, MemoryDeliveries, MemoryEventQueue
from tidegate.vcs.receive_webhook import WebhookReceiver, WebhookRequest

DATA = Path(__file__).parents[2] / "data/github/all-webhook-examples.json.gz"
EXAMPLES = json.loads(gzip.decompress(DATA.read_bytes()))

#: What is taken; some of these were recorded for a repository's webhook, which has no installation.
TAKEN = {
    "check_run completed",
    "check_run created",
    "check_suite completed",
    "check_run requested_action",
    "check_run rerequested",
    "check_suite rerequested",
    "issue_comment created",
    "merge_group checks_requested",
    "pull_request closed",
    "pull_request converted_to_draft",
    "pull_request edited",
    "pull_request opened",
    "pull_request ready_for_review",
    "pull_request reopened",
    "pull_request synchronize",
    "pull_request_review dismissed",
    "pull_request_review submitted",
    "push",
    "status",
}
#: Taken kinds of which every example is for others: buttons of other programs, comments on issues, tags. Results were
#: recorded for a repository's webhook, or before the check run has ended.
OF_OTHERS = {
    "check_run completed",
    "check_run created",
    "check_run requested_action",
    "check_run rerequested",
    "check_suite completed",
    "issue_comment created",
}


@dataclass(frozen=True)
class Secrets:
    def current(self):
        return ("secret",)

    def refreshed(self):
        return ("secret",)


def kind(event, payload):
    return f"{event} {payload['action']}" if "action" in payload else event


def posted():
    """Post all examples; return (kind, payload, answer) of each, and what was queued."""
    queue = MemoryEventQueue()
    receiver = WebhookReceiver(Secrets(), MemoryDeliveries(), queue, MemoryClock())
    answers = []
    for event, examples in EXAMPLES.items():
        for number, payload in enumerate(examples):
            body = json.dumps(payload).encode()
            signature = f"sha256={hmac.new(b'secret', body, 'sha256').hexdigest()}"
            request = WebhookRequest(body, signature, event, f"delivery-{event.replace('_', '-')}-{number}")
            answers.append((kind(event, payload), payload, receiver.receive(request)))
    return answers, queue.sent


@pytest.fixture(scope="module")
def answers():
    return posted()


def test_every_example_is_answered_and_none_by_an_error(answers):
    assert len(answers[0]) == 329
    assert Counter(answer.status for _, _, answer in answers[0]).keys() == {202, 400}


def test_only_what_is_acted_on_is_stored(answers):
    stored = {name for name, _, answer in answers[0] if answer.result == "stored"}
    assert stored == TAKEN - OF_OTHERS - {"pull_request edited"}  # No example has another base branch.


def test_examples_without_an_installation_are_refused_with_what_to_do(answers):
    refused = [(name, payload, answer) for name, payload, answer in answers[0] if answer.result == "refused"]
    assert {name for name, _, _ in refused} <= TAKEN
    assert all("installation" not in payload for _, payload, _ in refused)
    assert {answer.reason for _, _, answer in refused} == {
        "The event has no installation. Send webhooks from the GitHub App, not from a repository."
    }


def test_what_is_taken_of_a_pull_request_is_who_and_which_and_not_its_words(answers):
    sent = {delivery.event: delivery for delivery in answers[1]}
    known = {"repository", "pull_request", "action", "sender", "before", "after"}
    assert sent["pull_request"].fields.keys() <= known
    assert sent["pull_request_review"].fields.keys() == {"repository", "pull_request", "sender"}
    assert sent["merge_group"].fields.keys() == {"repository", "pull_request", "sha", "sender"}
