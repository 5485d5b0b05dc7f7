"""The reconciler is enough for promotions: all news lost, executions ended, and targets that are only asked."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests.unit.config_updates.promotion_scenario import REPOSITORY, THREE, Promotions
from tidegate.config_updates.promotions.promotion_steps import fail_promotion
from tidegate.config_updates.rules.promotion import Stage
from tidegate.messages.config_updates import FailPromotion
from tidegate.reconciler.follow_promotions import follow_promotions, poll_targets
from tidegate.reconciler.reconciler_pass import ReconcilerPass

ASKED = THREE.replace("{name: s3}", "{name: s3, status: 'https://status.example/s3'}")
URL = "https://status.example/s3"


@pytest.fixture
def shop():
    return Promotions(ASKED)


def _turn(scenario, repair=follow_promotions):
    clock = scenario.ports.clock
    turn = ReconcilerPass(clock, clock.now() + timedelta(minutes=3))
    repaired = repair(scenario.ports, turn)
    assert turn.failures == []
    scenario.go_on()
    return repaired


def _quietly(scenario, monkeypatch):
    """Lose all news of entries."""
    monkeypatch.setattr(scenario, "follow", lambda entry: None)


def test_39_a_promotion_whose_news_were_all_lost_is_found(shop, monkeypatch):
    _quietly(shop, monkeypatch)
    entry = shop.announce("one")
    shop.land(entry, "one")
    for each in ("s1", "s2", "s3"):
        shop.report(each)
    assert shop.promotion(entry) is None
    assert _turn(shop) == 1
    assert len(shop.waiting("internal")) == 1
    assert _turn(shop) == 0


def test_a_promotion_that_runs_is_left_alone(shop):
    shop.announce("one")
    assert _turn(shop) == 0
    assert len(shop.ports.update_workflows.promotions) == 1


@pytest.mark.parametrize("status", ["FAILED", "ABORTED", "TIMED_OUT", "SUCCEEDED"])
def test_an_execution_that_ended_before_its_promotion_is_started_again(shop, status):
    entry = shop.announce("one")
    shop.ports.update_workflows.endings[shop.promotion(entry).execution] = status
    assert _turn(shop) == 1
    assert shop.promotion(entry).execution == f"promotion-{entry.id}-1-1"
    assert shop.promotion(entry).token == shop.machines[f"promotion-{entry.id}-1-1"]
    shop.land(entry, "one")
    for each in ("s1", "s2", "s3"):
        shop.report(each)
    assert len(shop.waiting("internal")) == 1


def test_a_promotion_that_could_not_begin_is_started_again_and_reads_its_chain_then(shop, monkeypatch):
    monkeypatch.setattr(shop, "go_on", lambda: None)
    entry = shop.announce("one")
    about = {"repository": REPOSITORY, "entry": entry.id, "entry_attempt": 1}
    fail_promotion(shop.ports, FailPromotion(**about, error="ForgeRefused", cause="no"))
    name = shop.promotion(entry).execution
    shop.ports.update_workflows.endings[name] = "FAILED"
    shop.machines[name] = ""
    monkeypatch.undo()
    assert _turn(shop) == 1
    assert shop.promotion(entry).targets == ("s1", "s2", "s3")
    assert shop.promotion(entry).reason == ""


def _answer(scenario, sha, *, healthy=True, **more):
    body = json.dumps({"config_sha": sha, "healthy": healthy, **more})
    scenario.ports.target_statuses.answers[URL] = body.encode()


def test_50_a_target_that_runs_no_hook_is_asked(shop):
    entry = shop.announce("one")
    sha = shop.land(entry, "one")
    shop.report("s1")
    shop.report("s2")
    _answer(shop, sha)
    assert _turn(shop, poll_targets) == 1
    assert len(shop.waiting("internal")) == 1
    assert shop.ports.target_statuses.asked == [URL]
    assert _turn(shop, poll_targets) == 0


@pytest.mark.parametrize(
    "more", [{"healthy": False}, {"assessed_at": "2020-01-01T00:00Z"}], ids=["unhealthy", "assessed before"]
)
def test_a_target_that_is_not_there_yet_reports_nothing(shop, more):
    entry = shop.announce("one")
    sha = shop.land(entry, "one")
    shop.report("s1")
    shop.report("s2")
    _answer(shop, sha, **more)
    assert _turn(shop, poll_targets) == 0
    assert shop.promotion(entry).stage is Stage.TARGETS
    assert not shop.promotion(entry).failed


@pytest.mark.parametrize("body", [f'{{"config_sha": "{"f" * 40}", "healthy": true}}', "[" * 60_000, '{"a": 1}', ""])
def test_a_status_that_cannot_be_true_stops_no_other(shop, body):
    entry = shop.announce("one")
    shop.land(entry, "one")
    shop.report("s1")
    shop.report("s2")
    shop.ports.target_statuses.answers[URL] = body.encode()
    turn = ReconcilerPass(shop.ports.clock, shop.ports.clock.now() + timedelta(minutes=1))
    assert poll_targets(shop.ports, turn) == 0
    assert turn.failures == []
    assert shop.promotion(entry).stage is Stage.TARGETS


def test_no_target_is_asked_when_the_pass_is_over(shop, monkeypatch):
    shop.land(shop.announce("one"), "one")
    found = shop.store.environments(REPOSITORY)

    def late(_):
        shop.ports.clock.advance(3600)
        return found

    monkeypatch.setattr(shop.store, "environments", late)
    assert _turn(shop, poll_targets) == 0
    assert shop.ports.target_statuses.asked == []


def test_a_target_that_does_not_answer_stops_no_other(shop):
    entry = shop.announce("one")
    shop.land(entry, "one")
    assert _turn(shop, poll_targets) == 0
    assert shop.ports.target_statuses.asked == [URL]
