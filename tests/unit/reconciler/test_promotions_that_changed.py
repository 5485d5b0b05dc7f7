"""Promotions and environments that change, start or are gone while the reconciler looks at them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.config_updates.promotion_scenario import THREE, Promotions
from tidegate.config.model.file import FILE
from tidegate.reconciler.follow_promotions import follow_promotions, poll_targets
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import Conflict

ASKED = THREE.replace("{name: s3}", "{name: s3, status: 'https://status.example/s3'}")


@pytest.fixture
def shop():
    return Promotions(ASKED)


def _turn(scenario, repair):
    clock = scenario.ports.clock
    turn = ReconcilerPass(clock, clock.now() + timedelta(minutes=3))
    repaired = repair(scenario.ports, turn)
    assert turn.failures == []
    return repaired


def test_an_execution_that_has_not_recorded_its_promotion_yet_is_not_started_again(shop, monkeypatch):
    monkeypatch.setattr(shop, "go_on", lambda: None)
    entry = shop.announce("one")
    shop.land(entry, "one")
    started = list(shop.ports.update_workflows.promotions)
    assert shop.promotion(entry) is None
    assert _turn(shop, follow_promotions) == 0
    assert shop.ports.update_workflows.promotions == started
    assert len(started) == 1


def test_a_promotion_that_changes_while_it_is_started_again_is_left_to_the_next_pass(shop, monkeypatch):
    entry = shop.announce("one")
    before = shop.promotion(entry)
    shop.ports.update_workflows.endings[before.execution] = "FAILED"

    def refuse(_):
        raise Conflict("promotion")

    monkeypatch.setattr(shop.store, "save_promotion", refuse)
    assert _turn(shop, follow_promotions) == 0
    assert len(shop.ports.update_workflows.promotions) == 1
    monkeypatch.undo()
    assert _turn(shop, follow_promotions) == 1
    assert shop.promotion(entry).restarts == 1


@pytest.mark.parametrize("gone", ["name: staging,", "name: shop\n"], ids=["environment", "image set"])
def test_targets_of_a_place_that_is_not_declared_any_more_are_not_asked(shop, gone):
    shop.land(shop.announce("one"), "one")
    shop.push({FILE: ASKED.replace(gone, gone.replace("name: s", "name: other-s")).encode()})
    assert _turn(shop, poll_targets) == 0
    assert shop.ports.target_statuses.asked == []
