"""The same is asked for by several people at the same moment: one of them gets it, the others are answered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes import MemoryDeployQueues, MemoryPullRequests
from tests.unit.comments.apply_scenario import ApplyScenario
from tests.unit.comments.events_scenario import HEAD, MAIN, REPOSITORY, EventsScenario
from tidegate.pull_requests.rules.record import Applying
from tidegate.roots.rules.root import deployment_id, queue_id
from tidegate.rules.errors import OversizedRecord

BOTH = "-p live/app -p live/db"
DEPLOYS = {
    "comment": (lambda scenario: scenario.comment("tidegate deploy"), HEAD),
    "request": (lambda scenario: scenario.request("live/app"), MAIN),
}


class Meanwhile:
    """Something that others do once, at the moment of the n-th call."""

    def __init__(self, do, call=1):
        self.do, self.calls = do, call

    def happens(self):
        self.calls -= 1
        if not self.calls:
            self.do()


class HurriedQueues(MemoryDeployQueues):
    """Queues to which others come right after somebody read them."""

    meanwhile: Meanwhile | None = None

    def line(self, queue):
        found = super().line(queue)
        if self.meanwhile:
            self.meanwhile.happens()
        return found


class HurriedRecords(MemoryPullRequests):
    """Records that others write before or after somebody does."""

    before: Meanwhile | None = None
    after: Meanwhile | None = None

    def save(self, record):
        if self.before:
            self.before.happens()
        saved = super().save(record)
        if self.after:
            self.after.happens()
        return saved


def hurried(scenario):
    """Let a scenario's queues be such that others may come between looking and writing."""
    queues = scenario.queues
    queues.__class__ = HurriedQueues
    return queues


@pytest.mark.parametrize("way", DEPLOYS)
@pytest.mark.parametrize("reading", [1, 2])
def test_of_two_deploys_at_the_same_moment_one_is_enqueued_and_the_other_is_answered_with_it(way, reading):
    scenario = EventsScenario()
    deploy, commit = DEPLOYS[way]
    told = []
    hurried(scenario).meanwhile = Meanwhile(lambda: told.append(deploy(scenario)), reading)
    answer = deploy(scenario)
    assert scenario.names == ["live/app"]
    assert f"at {commit[:7]} is already queued (queued)" in answer.replace("`", "")
    assert "Enqueued" in told[0]


def test_others_that_come_at_the_same_moment_for_something_else_are_no_reason_to_refuse():
    scenario = EventsScenario()
    hurried(scenario).meanwhile = Meanwhile(lambda: scenario.comment("tidegate deploy"), 2)
    assert "Enqueued" in scenario.request("live/app")
    assert scenario.names == ["live/app", "live/app"]


def test_a_request_for_what_is_in_line_leads_to_it_and_force_puts_it_in_line_once_more():
    scenario = EventsScenario()
    scenario.request("live/app", delivery="first")
    (first,) = scenario.enqueued
    assert scenario.request("live/app", "live/db", by="other", delivery="second") == (
        f"live/app at {MAIN[:7]} is already queued (queued): operator requested it on 2026-03-02 08:00 UTC, as "
        f"{first.id}. Nothing new is deployed. Follow that deployment, or request this one again with force."
    )
    assert scenario.deliveries.outcome("second").deployments == (first.id,)
    assert scenario.names == ["live/app"]
    assert "Enqueued" in scenario.request("live/app", force=True)
    assert scenario.names == ["live/app", "live/app"]


def test_what_is_too_large_to_be_stored_is_enqueued_reduced(monkeypatch):
    scenario = EventsScenario()
    store = scenario.queues.enqueue

    def refuse(deployment, seen=None):
        if seen is not None:
            raise OversizedRecord(deployment.id)
        return store(deployment)

    monkeypatch.setattr(MemoryDeployQueues, "enqueue", lambda _self, *given: refuse(*given))
    assert "Enqueued" in scenario.request("live/app")
    assert scenario.names == ["live/app"]


@pytest.fixture
def applied():
    scenario = ApplyScenario(pull_requests=HurriedRecords())
    scenario.open()
    return scenario


def names(scenario):
    """Return the deployments that the record names, and those in line."""
    return {each.deployment for each in scenario.record.applies}, {each.id for each in scenario.enqueued}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("more", ["", f" {BOTH}"])
def test_of_two_applies_at_the_same_moment_one_is_enqueued_and_the_record_names_it(applied, moment, more):
    setattr(applied.records, moment, Meanwhile(lambda: applied.comment("tidegate apply", by="reviewer")))
    applied.comment(f"tidegate apply{more}")
    assert applied.names == ["live/app"]
    assert f"`live/app` at `{HEAD[:7]}` is already queued (queued): `reviewer` requested it" in applied.reply
    named, enqueued = names(applied)
    assert named == enqueued


def test_an_apply_that_died_before_it_was_enqueued_and_comes_again_leaves_the_record_to_the_other(applied):
    applied.comment("tidegate apply", by="reviewer")
    (other,) = applied.enqueued
    ours = deployment_id(REPOSITORY, "live/app", HEAD, f"comment {70 + applied.received}")
    applied.records.save(replace(applied.record, applies=(Applying("live/app", "default", ours),)))
    applied.comment("tidegate apply")
    assert names(applied) == ({other.id}, {other.id})
    assert applied.head(queue_id(REPOSITORY, "live/app")).length == 1
