"""A look at a pull request that is overtaken, or done once more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_layer, any_plan, sha
from tests.unit.pull_requests.pull_request_scenario import (
    FILES,
    FORK_POINT,
    HEAD,
    MAIN,
    PullRequestScenario,
    changes,
    names,
    opened,
)
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.ports import Change
from tidegate.rules.errors import Conflict, ForgeUnavailable

NEWER = sha(4)


@pytest.fixture
def scenario():
    return PullRequestScenario()


class TestOvertaken:
    def test_an_older_revision_and_a_closed_pull_request_are_not_looked_at(self, scenario):
        scenario.receive()
        older = scenario.record
        scenario.pull(head_sha=NEWER)
        scenario.receive()
        assert scenario.discover(older) == ("stop", ())
        scenario.pull(is_open=False)
        newer = scenario.record
        scenario.receive()
        assert scenario.discover(newer) == ("stop", ())

    def test_a_head_that_comes_back_before_the_one_between_was_looked_at_is_planned_after_all(self, scenario):
        opened(scenario)
        stopped = scenario.record.layers
        for head in (NEWER, HEAD):
            scenario.pull(head_sha=head)
            scenario.receive()
        assert [layer.state for layer in scenario.layers.many(stopped)] == [LayerState.CANCELLED]
        assert scenario.discover() == ("plan", scenario.record.layers)
        assert [layer.state for layer in scenario.found] == [LayerState.WAITING]

    def test_a_commit_that_a_forced_push_took_away_is_left_to_the_next_event(self, scenario):
        scenario.receive()
        del scenario.trees[HEAD]
        assert scenario.discover() == ("stop", ())
        assert scenario.record.discovered == ""

    def test_a_commit_that_comes_while_files_are_read_stops_the_discovery(self, scenario):
        scenario.receive()
        older = scenario.record
        fetch = scenario.fetch

        def meanwhile(*where):
            scenario.pull(head_sha=NEWER)
            scenario.receive()
            return fetch(*where)

        scenario.fetch = meanwhile
        assert scenario.discover(older) == ("stop", ())
        assert scenario.record.discovered == ""

    @pytest.mark.parametrize("now", [{"head_sha": NEWER}, {"is_open": False}])
    def test_layers_that_are_made_after_a_newer_commit_came_are_removed(self, scenario, now):
        scenario.receive()
        older, create = scenario.record, scenario.layers.create

        def meanwhile(layers):
            scenario.pull(**now)
            scenario.receive()
            create(layers)
            assert list(scenario.layers.many([layer.id for layer in layers])) == list(layers)

        scenario.layers.create = meanwhile
        assert scenario.discover(older) == ("stop", ())
        assert list(scenario.layers._layers) == []

    def test_a_record_forgets_names_of_removed_layers_before_they_fill_it(self, scenario):
        scenario.receive()
        kept = any_layer("kept", sha=sha(9), state=LayerState.PLANNED, plan=any_plan())
        scenario.layers.create([kept])
        gone = tuple(f"gone-{number}" for number in range(3000))
        scenario.records.save(replace(scenario.record, layers=(*gone, kept.id)))
        saved = scenario.records.save
        named = []
        scenario.records.save = lambda record: named.append(record.layers) or saved(record)
        assert scenario.discover()[0] == "plan"
        assert named[0] == (kept.id, scenario.found[0].id)
        assert scenario.layers.many([kept.id]) == []

    def test_layers_of_an_older_commit_go_with_their_plans_once_the_newer_is_known(self, scenario):
        opened(scenario)
        (older,) = scenario.found
        plan = any_plan()
        scenario.layers.save(replace(older, state=LayerState.PLANNED, plan=plan))
        scenario.artifacts.objects[plan.file.key] = b""
        scenario.trees[NEWER] = {**FILES, "live/db/main.tf": "#"}
        scenario.forge.changes[MAIN, NEWER] = Change(FORK_POINT, None)
        scenario.pull(head_sha=NEWER)
        scenario.receive()
        scenario.discover()
        assert names(scenario) == ["live/db"]
        assert list(scenario.layers.many([older.id])) == []
        assert scenario.artifacts.objects == {}


class TestAgain:
    def test_the_same_discovery_again_answers_the_same_and_makes_nothing_new(self, scenario):
        first = opened(scenario)
        before = scenario.record
        assert scenario.discover() == first
        assert scenario.record == before

    def test_only_layers_that_have_not_ended_are_planned_again(self, scenario):
        changes(scenario, {"live/app/main.tf": "#", "live/db/main.tf": "#"})
        opened(scenario)
        app, db = scenario.found
        scenario.layers.save(replace(app, state=LayerState.PLANNED))
        assert scenario.discover() == ("plan", (db.id,))
        scenario.layers.save(replace(db, state=LayerState.FAILED))
        assert scenario.discover() == ("comment", ())

    def test_another_attempt_has_layers_of_its_own(self, scenario):
        opened(scenario)
        before = scenario.record.layers
        scenario.follow(again=True)
        scenario.discover()
        assert set(scenario.record.layers).isdisjoint(before)

    def test_somebody_who_writes_the_record_at_the_same_time_is_not_written_over(self, scenario):
        scenario.receive()
        save, once = scenario.records.save, [True]

        def crossed(record):
            if once:
                once.clear()
                save(replace(scenario.record, queued="q"))
                raise Conflict("The pull request")
            return save(record)

        scenario.records.save = crossed
        assert scenario.discover()[0] == "plan"
        assert scenario.record.queued == "q"

    def test_a_forge_that_does_not_answer_leaves_everything_to_the_next_try(self, scenario):
        scenario.receive()
        scenario.forge.failures = [ForgeUnavailable("it sleeps")]
        with pytest.raises(ForgeUnavailable):
            scenario.discover()
        assert scenario.discover()[0] == "plan"
