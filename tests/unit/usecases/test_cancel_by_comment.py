"""What ``cancel`` in a comment does to the plans of a pull request: what ends, what is shown, and who is refused."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.builders import any_plan, sha
from tests.fakes.ports import With, changed
from tests.unit.usecases.comment_world import CommentWorld
from tests.unit.usecases.pull_request_world import FILES, FORK_POINT, HEAD, MAIN
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.ports import Change
from tidegate.pull_requests.restart_pull_request import restart_pull_request
from tidegate.pull_requests.rules.blocks import LayerView
from tidegate.pull_requests.rules.checks import render_whole
from tidegate.pull_requests.rules.record import PullRequestState
from tidegate.rules.access import Access
from tidegate.rules.errors import Conflict, ForgeUnavailable
from tidegate.vcs.rules.check_run import Conclusion

NEWER = sha(9)


class CancelledWorld(CommentWorld):
    """A pull request of which one root is planned, and one waits to be."""

    def __post_init__(self):
        super().__post_init__()
        self.receive()
        self.discover()
        self.first = self.record.execution
        self.layers.save(replace(self.found[0], state=LayerState.PLANNED, plan=any_plan()))

    @property
    def states(self):
        return {layer.root.name: layer.state for layer in self.found}

    @property
    def told(self):
        """What was handed over: whether plans are cancelled, and what is said of them."""
        fields = self.events.sent[-1].fields
        return fields["plans_cancelled"], fields["plans"]

    def restrict(self, *may):
        for layer in self.found:
            self.layers.save(replace(layer, access=Access(plan=may)))


@contextmanager
def busy(world):
    """Let the forge show no check runs for now."""

    def refuse(*_):
        raise ForgeUnavailable("busy")

    ports = world.ports
    world.ports = changed(ports, forge=With(ports.forge, create_check_run=refuse, update_check_run=refuse))
    yield
    world.ports = ports


@pytest.fixture
def world():
    return CancelledWorld()


def test_what_is_planned_stays_and_what_waits_or_runs_ends(world):
    world.comment("tidegate cancel")
    assert world.told[0]
    assert world.states == {"live/app": LayerState.PLANNED, "live/db": LayerState.CANCELLED}
    assert world.workflows.endings == {world.first: "ABORTED"}
    assert "writer" in world.found[1].reason


def test_slots_of_what_ends_are_given_back(world):
    waiting = world.record.layers[1]
    world.places.take(world.record.spec.repository, waiting, 2)
    world.comment("tidegate cancel")
    assert waiting not in world.places.read(world.record.spec.repository).held


def test_it_is_shown_who_cancelled_and_the_check_is_not_green(world):
    world.comment("tidegate cancel")
    record = world.record
    assert record.state is PullRequestState.COMMENT_NEEDED
    assert world.event_publisher.ended == [(record.spec.id, record.spec.revision, "", "")]
    assert "writer cancelled" in record.notice
    shown = render_whole(record, [LayerView(each) for each in world.found], "")
    assert shown.conclusion is Conclusion.FAILURE


def test_what_was_not_planned_for_another_reason_is_still_said(world):
    world.records.save(replace(world.record, notice="Another reason."))
    world.comment("tidegate cancel")
    assert world.record.notice.splitlines()[0] == "Another reason."


def test_nothing_begins_again_by_itself_but_somebody_has_it_planned_again(world):
    world.comment("tidegate cancel")
    restart_pull_request(world.ports, world.record)
    assert world.record.execution == world.first
    world.comment("tidegate plan")
    assert world.discover()[0] == "plan"
    assert world.waiting == ["live/app", "live/db"]
    assert world.record.notice == ""


def test_a_newer_commit_is_planned(world):
    world.comment("tidegate cancel")
    world.trees[NEWER] = {**FILES, "live/app/main.tf": "# newer"}
    world.forge.changes[MAIN, NEWER] = Change(FORK_POINT, None)
    world.pull(head_sha=NEWER)
    world.receive()
    assert world.discover()[0] == "plan"


def test_to_cancel_once_more_changes_nothing_and_says_the_same(world):
    world.comment("tidegate cancel")
    record, told = world.record, world.told
    world.comment("tidegate cancel")
    assert (world.record, world.told) == (record, told)


def test_plans_of_one_root_are_not_cancelled(world):
    world.comment("tidegate cancel -p live/db")
    assert (world.told[0], world.waiting) == (False, ["live/db"])
    assert "Speculative plans keep running. To cancel" in world.told[1]
    assert world.events.sent[-1].fields["text"] == "tidegate cancel -p live/db"


@pytest.mark.parametrize("may", [(), ("user:somebody",)])
def test_who_may_not_ask_for_the_plans_does_not_cancel_them(world, may):
    world.restrict(*may)
    world.comment("tidegate cancel")
    assert (world.told[0], world.waiting) == (False, ["live/db"])
    assert "root live/db" in world.told[1]


def test_who_may_only_read_cancels_nothing(world):
    world.comment("tidegate cancel", by="reader")
    assert (world.told[0], world.waiting) == (False, ["live/db"])


def test_who_may_have_what_is_left_planned_cancels_it(world):
    world.restrict("user:somebody")
    world.layers.save(replace(world.found[1], access=Access(plan=("user:reader",)), stack="prod"))
    world.comment("tidegate cancel", by="reader")
    assert world.told[0]


def test_what_is_not_known_yet_is_not_cancelled(world):
    world.trees[NEWER] = FILES
    world.pull(head_sha=NEWER)
    world.receive()
    world.comment("tidegate cancel")
    assert not world.told[0]
    assert "not known yet" in world.told[1]
    assert world.record.execution not in world.workflows.endings


@pytest.mark.parametrize("then", ["planned", "closed", "unknown"])
def test_nothing_is_said_of_plans_where_none_waits_or_runs(world, then):
    if then == "planned":
        world.planned()
    elif then == "closed":
        world.pull(is_open=False)
        world.receive()
    else:
        world.records._records.clear()
    world.comment("tidegate cancel")
    assert world.told == (False, "")


def test_what_ends_at_the_same_moment_has_its_plan(world, monkeypatch):
    save, ended = world.layers.save, []

    def overtaken(layer):
        if not ended:
            ended.append(save(replace(layer, state=LayerState.PLANNED, reason="", plan=any_plan())))
            raise Conflict(layer.id)
        return save(layer)

    monkeypatch.setattr(type(world.layers), "save", lambda _self, layer: overtaken(layer))
    world.comment("tidegate cancel")
    assert world.states == dict.fromkeys(("live/app", "live/db"), LayerState.PLANNED)


def test_a_cancel_that_the_forge_put_off_half_way_is_carried_out_when_it_comes_again(world):
    stored = world.delivery("issue_comment", comment=70, text="tidegate cancel", sender="writer")
    with busy(world), pytest.raises(ForgeUnavailable):
        world.comment("", delivery=stored)
    world.comment("", delivery=stored)
    assert world.told[0]
    assert "writer cancelled" in world.record.notice
    assert world.record.spec.head_sha == HEAD


def test_who_may_not_does_not_end_what_somebody_else_cancelled_half_way(world):
    world.restrict("user:writer")
    with busy(world), pytest.raises(ForgeUnavailable):
        world.comment("tidegate cancel")
    world.comment("tidegate cancel", by="reader")
    assert not world.told[0]
    assert world.record.notice == ""
