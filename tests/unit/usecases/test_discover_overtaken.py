"""A look at a pull request that is overtaken, or done once more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_layer, any_plan, sha
from tests.unit.usecases.pull_request_world import (
    FILES,
    FORK_POINT,
    HEAD,
    MAIN,
    PullRequestWorld,
    changes,
    names,
    opened,
)
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.ports import Change
from tidegate.rules.errors import Conflict, ForgeUnavailable

NEWER = sha(4)


@pytest.fixture
def world():
    return PullRequestWorld()


class TestOvertaken:
    def test_an_older_revision_and_a_closed_pull_request_are_not_looked_at(self, world):
        world.receive()
        older = world.record
        world.pull(head_sha=NEWER)
        world.receive()
        assert world.discover(older) == ("stop", ())
        world.pull(is_open=False)
        newer = world.record
        world.receive()
        assert world.discover(newer) == ("stop", ())

    def test_a_head_that_comes_back_before_the_one_between_was_looked_at_is_planned_after_all(self, world):
        opened(world)
        stopped = world.record.layers
        for head in (NEWER, HEAD):
            world.pull(head_sha=head)
            world.receive()
        assert [layer.state for layer in world.layers.many(stopped)] == [LayerState.CANCELLED]
        assert world.discover() == ("plan", world.record.layers)
        assert [layer.state for layer in world.found] == [LayerState.WAITING]

    def test_a_commit_that_a_forced_push_took_away_is_left_to_the_next_event(self, world):
        world.receive()
        del world.trees[HEAD]
        assert world.discover() == ("stop", ())
        assert world.record.discovered == ""

    def test_a_commit_that_comes_while_files_are_read_stops_the_discovery(self, world):
        world.receive()
        older = world.record
        fetch = world.fetch

        def meanwhile(*where):
            world.pull(head_sha=NEWER)
            world.receive()
            return fetch(*where)

        world.fetch = meanwhile
        assert world.discover(older) == ("stop", ())
        assert world.record.discovered == ""

    @pytest.mark.parametrize("now", [{"head_sha": NEWER}, {"is_open": False}])
    def test_layers_that_are_made_after_a_newer_commit_came_are_removed(self, world, now):
        world.receive()
        older, create = world.record, world.layers.create

        def meanwhile(layers):
            world.pull(**now)
            world.receive()
            create(layers)
            assert list(world.layers.many([layer.id for layer in layers])) == list(layers)

        world.layers.create = meanwhile
        assert world.discover(older) == ("stop", ())
        assert list(world.layers._layers) == []

    def test_a_record_forgets_names_of_removed_layers_before_they_fill_it(self, world):
        world.receive()
        kept = any_layer("kept", sha=sha(9), state=LayerState.PLANNED, plan=any_plan())
        world.layers.create([kept])
        gone = tuple(f"gone-{number}" for number in range(3000))
        world.records.save(replace(world.record, layers=(*gone, kept.id)))
        saved = world.records.save
        named = []
        world.records.save = lambda record: named.append(record.layers) or saved(record)
        assert world.discover()[0] == "plan"
        assert named[0] == (kept.id, world.found[0].id)
        assert world.layers.many([kept.id]) == []

    def test_layers_of_an_older_commit_go_with_their_plans_once_the_newer_is_known(self, world):
        opened(world)
        (older,) = world.found
        plan = any_plan()
        world.layers.save(replace(older, state=LayerState.PLANNED, plan=plan))
        world.artifacts.objects[plan.file.key] = b""
        world.trees[NEWER] = {**FILES, "live/db/main.tf": "#"}
        world.forge.changes[MAIN, NEWER] = Change(FORK_POINT, None)
        world.pull(head_sha=NEWER)
        world.receive()
        world.discover()
        assert names(world) == ["live/db"]
        assert list(world.layers.many([older.id])) == []
        assert world.artifacts.objects == {}


class TestAgain:
    def test_the_same_discovery_again_answers_the_same_and_makes_nothing_new(self, world):
        first = opened(world)
        before = world.record
        assert world.discover() == first
        assert world.record == before

    def test_only_layers_that_have_not_ended_are_planned_again(self, world):
        changes(world, {"live/app/main.tf": "#", "live/db/main.tf": "#"})
        opened(world)
        app, db = world.found
        world.layers.save(replace(app, state=LayerState.PLANNED))
        assert world.discover() == ("plan", (db.id,))
        world.layers.save(replace(db, state=LayerState.FAILED))
        assert world.discover() == ("comment", ())

    def test_another_attempt_has_layers_of_its_own(self, world):
        opened(world)
        before = world.record.layers
        world.follow(again=True)
        world.discover()
        assert set(world.record.layers).isdisjoint(before)

    def test_somebody_who_writes_the_record_at_the_same_time_is_not_written_over(self, world):
        world.receive()
        save, once = world.records.save, [True]

        def crossed(record):
            if once:
                once.clear()
                save(replace(world.record, queued="q"))
                raise Conflict("The pull request")
            return save(record)

        world.records.save = crossed
        assert world.discover()[0] == "plan"
        assert world.record.queued == "q"

    def test_a_forge_that_does_not_answer_leaves_everything_to_the_next_try(self, world):
        world.receive()
        world.forge.failures = [ForgeUnavailable("it sleeps")]
        with pytest.raises(ForgeUnavailable):
            world.discover()
        assert world.discover()[0] == "plan"
