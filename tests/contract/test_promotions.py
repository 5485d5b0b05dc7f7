"""What every store of promotions does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW
from tests.fakes.config_updates import MemoryConfigUpdates
from tidegate.config.rules.config_updates import Promote
from tidegate.config_updates.adapters.store import DynamoConfigUpdates
from tidegate.config_updates.rules.promotion import AwaitedStack, NextEnvironment, Promotion, Stage, ended
from tidegate.rules.errors import Conflict

CONFIG = "acme/config"
STACK = AwaitedStack("acme/infra", "network", "c" * 40, NOW)
NEXT = NextEnvironment("internal", Promote.MANUAL, ("blog/test",), (STACK,))


@pytest.fixture
def store(request, kind):
    if kind == "memory":
        return MemoryConfigUpdates()
    return DynamoConfigUpdates(request.getfixturevalue("client"), request.getfixturevalue("table"))


def _promotion(entry="one", attempt=1, **fields):
    what = CONFIG, entry, attempt, "shop", "staging", "staging.json", ("s1", "s2"), 60
    return Promotion(*what, NEXT, **fields)


def test_a_promotion_is_kept_whole(store):
    assert store.promotion(CONFIG, "one", 1) is None
    known = store.save_promotion(_promotion(stage=Stage.AFTER, token="token", landed_at=NOW, approved_by="rhea"))
    assert known.version == 1
    assert store.promotion(CONFIG, "one", 1) == known


def test_only_one_of_two_writers_of_a_version_succeeds(store):
    known = store.save_promotion(_promotion())
    store.save_promotion(replace(known, stalled=True))
    for late in (known, ended(known, "late"), _promotion()):
        with pytest.raises(Conflict):
            store.save_promotion(late)


def test_a_promotion_that_has_ended_is_kept_and_is_not_open(store):
    first, second = store.save_promotion(_promotion()), store.save_promotion(_promotion("two", 2))
    done = store.save_promotion(ended(first, "It is promoted."))
    assert store.promotion(CONFIG, "one", 1) == done
    assert store.open_promotions(CONFIG) == [second]
    for again in (done, replace(done, reason="again"), ended(first, "late")):
        with pytest.raises(Conflict):
            store.save_promotion(again)


def test_a_promotion_may_end_before_it_began(store):
    done = store.save_promotion(ended(_promotion(), "The environment is gone."))
    assert store.promotion(CONFIG, "one", 1) == done
    assert store.open_promotions(CONFIG) == []
    assert store.open_promotions("acme/other") == []
