"""What ``cancel`` in a comment does to the plans of a pull request: what ends, what is shown, and who is refused."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.builders import any_plan, sha
from tests.fakes.ports import With, changed
from tests.unit.comments.comment_scenario import CommentScenario
from tests.unit.pull_requests.pull_request_scenario import FILES, FORK_POINT, HEAD, MAIN
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


class CancelledScenario(CommentScenario):
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
def busy(scenario):
    """Let the forge show no check runs for now."""

    def refuse(*_):
        raise ForgeUnavailable("busy")

    ports = scenario.ports
    scenario.ports = changed(ports, forge=With(ports.forge, create_check_run=refuse, update_check_run=refuse))
    yield
    scenario.ports = ports


@pytest.fixture
def scenario():
    return CancelledScenario()


def test_what_is_planned_stays_and_what_waits_or_runs_ends(scenario):
    scenario.comment("tidegate cancel")
    assert scenario.told[0]
    assert scenario.states == {"live/app": LayerState.PLANNED, "live/db": LayerState.CANCELLED}
    assert scenario.workflows.endings == {scenario.first: "ABORTED"}
    assert "writer" in scenario.found[1].reason


def test_slots_of_what_ends_are_given_back(scenario):
    waiting = scenario.record.layers[1]
    scenario.places.take(scenario.record.spec.repository, waiting, 2)
    scenario.comment("tidegate cancel")
    assert waiting not in scenario.places.read(scenario.record.spec.repository).held


def test_it_is_shown_who_cancelled_and_the_check_is_not_green(scenario):
    scenario.comment("tidegate cancel")
    record = scenario.record
    assert record.state is PullRequestState.COMMENT_NEEDED
    assert scenario.event_publisher.ended == [(record.spec.id, record.spec.revision, "", "")]
    assert "writer cancelled" in record.notice
    shown = render_whole(record, [LayerView(each) for each in scenario.found], "")
    assert shown.conclusion is Conclusion.FAILURE


def test_what_was_not_planned_for_another_reason_is_still_said(scenario):
    scenario.records.save(replace(scenario.record, notice="Another reason."))
    scenario.comment("tidegate cancel")
    assert scenario.record.notice.splitlines()[0] == "Another reason."


def test_nothing_begins_again_by_itself_but_somebody_has_it_planned_again(scenario):
    scenario.comment("tidegate cancel")
    restart_pull_request(scenario.ports, scenario.record)
    assert scenario.record.execution == scenario.first
    scenario.comment("tidegate plan")
    assert scenario.discover()[0] == "plan"
    assert scenario.waiting == ["live/app", "live/db"]
    assert scenario.record.notice == ""


def test_a_newer_commit_is_planned(scenario):
    scenario.comment("tidegate cancel")
    scenario.trees[NEWER] = {**FILES, "live/app/main.tf": "# newer"}
    scenario.forge.changes[MAIN, NEWER] = Change(FORK_POINT, None)
    scenario.pull(head_sha=NEWER)
    scenario.receive()
    assert scenario.discover()[0] == "plan"


def test_to_cancel_once_more_changes_nothing_and_says_the_same(scenario):
    scenario.comment("tidegate cancel")
    record, told = scenario.record, scenario.told
    scenario.comment("tidegate cancel")
    assert (scenario.record, scenario.told) == (record, told)


def test_plans_of_one_root_are_not_cancelled(scenario):
    scenario.comment("tidegate cancel -p live/db")
    assert (scenario.told[0], scenario.waiting) == (False, ["live/db"])
    assert "Speculative plans keep running. To cancel" in scenario.told[1]
    assert scenario.events.sent[-1].fields["text"] == "tidegate cancel -p live/db"


@pytest.mark.parametrize("may", [(), ("user:somebody",)])
def test_who_may_not_ask_for_the_plans_does_not_cancel_them(scenario, may):
    scenario.restrict(*may)
    scenario.comment("tidegate cancel")
    assert (scenario.told[0], scenario.waiting) == (False, ["live/db"])
    assert "root live/db" in scenario.told[1]


def test_who_may_only_read_cancels_nothing(scenario):
    scenario.comment("tidegate cancel", by="reader")
    assert (scenario.told[0], scenario.waiting) == (False, ["live/db"])


def test_who_may_have_what_is_left_planned_cancels_it(scenario):
    scenario.restrict("user:somebody")
    scenario.layers.save(replace(scenario.found[1], access=Access(plan=("user:reader",)), stack="prod"))
    scenario.comment("tidegate cancel", by="reader")
    assert scenario.told[0]


def test_what_is_not_known_yet_is_not_cancelled(scenario):
    scenario.trees[NEWER] = FILES
    scenario.pull(head_sha=NEWER)
    scenario.receive()
    scenario.comment("tidegate cancel")
    assert not scenario.told[0]
    assert "not known yet" in scenario.told[1]
    assert scenario.record.execution not in scenario.workflows.endings


@pytest.mark.parametrize("then", ["planned", "closed", "unknown"])
def test_nothing_is_said_of_plans_where_none_waits_or_runs(scenario, then):
    if then == "planned":
        scenario.planned()
    elif then == "closed":
        scenario.pull(is_open=False)
        scenario.receive()
    else:
        scenario.records._records.clear()
    scenario.comment("tidegate cancel")
    assert scenario.told == (False, "")


def test_what_ends_at_the_same_moment_has_its_plan(scenario, monkeypatch):
    save, ended = scenario.layers.save, []

    def overtaken(layer):
        if not ended:
            ended.append(save(replace(layer, state=LayerState.PLANNED, reason="", plan=any_plan())))
            raise Conflict(layer.id)
        return save(layer)

    monkeypatch.setattr(type(scenario.layers), "save", lambda _self, layer: overtaken(layer))
    scenario.comment("tidegate cancel")
    assert scenario.states == dict.fromkeys(("live/app", "live/db"), LayerState.PLANNED)


def test_a_cancel_that_the_forge_put_off_half_way_is_carried_out_when_it_comes_again(scenario):
    stored = scenario.delivery("issue_comment", comment=70, text="tidegate cancel", sender="writer")
    with busy(scenario), pytest.raises(ForgeUnavailable):
        scenario.comment("", delivery=stored)
    scenario.comment("", delivery=stored)
    assert scenario.told[0]
    assert "writer cancelled" in scenario.record.notice
    assert scenario.record.spec.head_sha == HEAD


def test_who_may_not_does_not_end_what_somebody_else_cancelled_half_way(scenario):
    scenario.restrict("user:writer")
    with busy(scenario), pytest.raises(ForgeUnavailable):
        scenario.comment("tidegate cancel")
    scenario.comment("tidegate cancel", by="reader")
    assert not scenario.told[0]
    assert scenario.record.notice == ""
