"""The messages about pull requests that the check-run queue gives its function."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_layer, any_plan, any_pull_request_record
from tests.functions.wires import call, sqs_event
from tests.instants import utc
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.messages.queues import PublishDeploys, PublishLayer, PublishProgress, PublishRevision
from tidegate.pull_requests.rules.record import judged
from tidegate.rules.errors import ForgeUnavailable

PULL = any_pull_request_record().spec


def say(message):
    return call("publish_check_run", sqs_event(message.body(), group=["group"]))


@pytest.fixture
def layer(wires):
    layer = any_layer(state=LayerState.PLANNED, plan=any_plan())
    wires.speculative_plans.create([layer])
    record = replace(any_pull_request_record(), discovered=PULL.revision, layers=(layer.id,))
    wires.pull_requests.save(judged(record, [layer], utc("2026-03-02T08:00")))
    return layer


def names(wires):
    return [check_run.name for check_run in wires.forge.check_runs.values()]


def test_a_layer_is_shown(wires, layer):
    assert say(PublishLayer(layer=layer.id)) == {"batchItemFailures": []}
    assert names(wires) == ["tidegate/plan: network"]


def test_all_of_a_revision_is_shown(wires, layer):
    answer = call("publish_pull_request", {"pull_request": PULL.id, "revision": PULL.revision})
    assert answer == {"outcome": "shown"}
    ((pull_request, revision, error, cause),) = wires.event_publisher.ended
    say(PublishRevision(pull_request=pull_request, revision=revision, error=error, cause=cause))
    assert names(wires) == ["tidegate/plan"]
    assert len(wires.forge.comments) == 1
    assert wires.pull_requests.get(PULL.repository, PULL.number).commented == PULL.revision


def test_progress_that_comes_too_early_comes_back(wires, layer):
    assert len(say(PublishProgress(pull_request=PULL.id, not_before=4102444800))["batchItemFailures"]) == 1
    ((_, receipt, seconds),) = wires.visibility.postponed
    assert (receipt, seconds) == ("receipt-0", 900)
    assert say(PublishProgress(pull_request=PULL.id, not_before=0)) == {"batchItemFailures": []}


def test_what_the_forge_puts_off_comes_back_when_it_said(wires, layer):
    wires.forge.failures.append(ForgeUnavailable("secondary limit", 60))
    say(PublishRevision(pull_request=PULL.id, revision=PULL.revision))
    assert [seconds for _, _, seconds in wires.visibility.postponed] == [60]
    assert not wires.pull_requests.get(PULL.repository, PULL.number).commented


def test_what_became_of_a_merge_is_shown_once_it_is_time(wires, layer):
    assert len(say(PublishDeploys(pull_request=PULL.id, not_before=4102444800))["batchItemFailures"]) == 1
    assert say(PublishDeploys(pull_request=PULL.id, not_before=0)) == {"batchItemFailures": []}
