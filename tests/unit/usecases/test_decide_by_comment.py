"""Comments that confirm, reject or cancel, from their words to what comes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import (
    NOW,
    REPOSITORY,
    amended,
    any_artifact,
    any_deployment,
    any_plan,
    any_pull_request_record,
    any_review,
    any_root,
    deployment_in,
    seen,
    sha,
)
from tests.fakes.ports import memory_ports
from tests.unit.usecases.cancel_world import LATER, CancelWorld
from tidegate.comments.answer_comment import Comment
from tidegate.comments.decide_by_comment import decide_by_comment
from tidegate.comments.dispatch_comment import dispatch_comment
from tidegate.comments.rules.command import Command, Verb
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate
from tidegate.ports import Delivery
from tidegate.pull_requests.rules.record import Applying
from tidegate.rules.access import Access

NUMBER, EARLIER = 5, "2026-03-02T07:59:59.000000+00:00"
DIGEST = any_plan().file.sha256


class DecidedWorld(CancelWorld):
    """A merged pull request that people comment on."""

    def __post_init__(self):
        super().__post_init__()
        self.said = 0
        self.forge.seen[NUMBER] = seen(merged=True, is_open=False, merge_sha=sha(1))

    def say(self, text, by="reviewer", written_at=LATER, delivery=None, **fields):
        self.said += 1
        where = {"repository": REPOSITORY, "pull_request": NUMBER, "comment": 70 + self.said}
        stored = delivery or Delivery(
            f"decision-{self.said}",
            "decision",
            {**where, "text": text, "sender": by, "written_at": written_at, **fields},
            LATER,
        )
        self.deliveries.store(stored)
        return decide_by_comment(self.ports, stored)

    def waiting(self, root="network", digest=DIGEST, state=State.AWAITING_REVIEW, **fields):
        plan = any_plan(file=any_artifact(sha256=digest))
        one = deployment_in(state, root=any_root(name=root), plan=plan, **fields)
        return self.in_flight(replace(one, id=f"{root}-{fields.get('stack', '1')}"))

    @property
    def reply(self):
        return self.forge.comments[-1][1]


@pytest.fixture
def world():
    return DecidedWorld()


@pytest.mark.parametrize("roots", ["", "-p network "])
def test_the_plan_that_a_comment_names_is_confirmed(world, roots):
    one = world.waiting()
    world.say(f"tidegate confirm {roots}{DIGEST[:12].upper()}")
    now = world.now(one)
    assert (now.state, now.review.by, now.review.at) == (State.APPROVED, "reviewer", LATER)
    assert "✅ reviewer confirmed the plan" in world.reply


def test_a_comment_that_names_no_plan_confirms_none_and_is_told_how_to(world):
    one, other = world.waiting(), world.waiting("app", "cd" * 32)
    world.say("tidegate confirm")
    assert {world.now(each).state for each in (one, other)} == {State.AWAITING_REVIEW}
    assert f"`tidegate confirm -p network {DIGEST[:16]}`" in world.reply
    assert f"`tidegate confirm -p app {'cd' * 8}`" in world.reply


def test_another_plan_than_the_one_that_waits_is_not_confirmed(world):
    one = world.waiting()
    world.say(f"tidegate confirm {'cd' * 8}")
    assert world.now(one).state is State.AWAITING_REVIEW
    assert f"`tidegate confirm -p network {DIGEST[:16]}`" in world.reply


@pytest.mark.parametrize("written_at", [EARLIER, ""])
def test_a_comment_that_was_written_before_the_plan_was_shown_does_not_confirm_it(world, written_at):
    one = world.waiting(review=any_review(asked_at=NOW))
    world.say(f"tidegate confirm {DIGEST}", written_at=written_at)
    assert world.now(one).state is State.AWAITING_REVIEW
    assert "This comment is older than the plan" in world.reply


@pytest.mark.parametrize("text", [f"tidegate confirm {DIGEST}", "tidegate reject", "tidegate cancel"])
def test_whom_no_rule_names_decides_nothing(world, text):
    one = world.waiting(access=Access(review=("team:sre",)))
    world.say(text)
    assert world.now(one) == one
    assert "Only team:sre can review" in world.reply


def test_a_plan_is_rejected_where_only_one_waits(world):
    one = world.waiting()
    world.say("tidegate reject")
    assert (world.now(one).state, world.now(one).review.by) == (State.REJECTED, "reviewer")
    assert "🚫" in world.reply


def test_of_several_that_wait_the_one_that_is_named_is_rejected(world):
    one, other = world.waiting(), world.waiting("app")
    world.say("tidegate reject")
    assert {world.now(each).state for each in (one, other)} == {State.AWAITING_REVIEW}
    assert "`tidegate reject -p app`" in world.reply
    world.say("tidegate reject -p app")
    assert (world.now(one).state, world.now(other).state) == (State.AWAITING_REVIEW, State.REJECTED)


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED, State.AWAITING_REQUIREMENTS])
def test_what_waits_at_a_gate_is_rejected_there(world, state):
    one = world.waiting(state=state, gate=Gate("g", NOW))
    world.say("tidegate reject")
    assert "reviewer rejected" in world.reply
    now = world.now(one)
    assert (now.gate.next, now.gate.by, now.gate.at) == (AfterGate.REJECTED, "reviewer", LATER)


def test_all_of_a_pull_request_that_wait_or_plan_are_cancelled_and_applies_only_if_that_is_said(world):
    one, applying = world.waiting(), world.applying()
    app = world.waiting("app", state=State.PLANNING)
    world.say("tidegate cancel")
    assert [world.now(each).state for each in (one, app)] == [State.CANCELLED] * 2
    assert world.now(applying).outcome.cancelled is None
    assert "partly changed" in world.reply
    world.say("tidegate cancel --apply")
    assert world.now(applying).outcome.cancelled.by == "reviewer"


@pytest.mark.parametrize("cancelled", [True, False])
def test_the_answer_to_a_cancel_tells_what_became_of_the_pull_requests_plans(world, cancelled):
    world.say("tidegate cancel", plans="That became of them", plans_cancelled=cancelled)
    assert "That became of them" in world.reply
    assert ("Nothing was done" in world.reply) is not cancelled
    assert ("🛑" in world.reply) is cancelled


@pytest.mark.parametrize("access", [None, Access(review=("team:sre",))])
def test_plans_and_deployments_are_cancelled_by_one_comment_each_by_its_own_rule(world, access):
    one = world.waiting(access=access)
    told = world.say("tidegate cancel", plans="Plans are cancelled", plans_cancelled=True)
    assert (world.now(one).state is State.CANCELLED) is (access is None)
    assert "Plans are cancelled" in told
    assert "`network`: " in world.reply
    assert "Plans are cancelled" in world.reply
    assert not world.forge.reactions


def test_what_became_of_plans_is_told_also_where_the_forge_has_no_such_pull_request(world):
    world.forge.seen.clear()
    world.say("tidegate cancel", plans="Plans are cancelled", plans_cancelled=True)
    assert "There is no pull request" in world.reply
    assert "Plans are cancelled" in world.reply


def test_one_root_is_cancelled_by_its_name(world):
    one, other = world.waiting(), world.waiting("app")
    world.say("tidegate cancel -p app")
    assert (world.now(one).state, world.now(other).state) == (State.AWAITING_REVIEW, State.CANCELLED)


@pytest.mark.parametrize(
    ("fields", "is_meant"),
    [
        ({"revision": any_deployment(1).revision}, True),
        ({"revision": any_deployment(2).revision}, False),
        ({"revision": any_deployment(2).revision, "pull_request": NUMBER}, True),
        ({"revision": any_deployment(2).revision, "id": "kept"}, True),
        ({"revision": any_deployment(2).revision, "rerun_of": "kept", "trigger": Trigger.RERUN}, True),
        ({"revision": any_deployment(2).revision, "pull_request": 6}, False),
        ({"revision": any_deployment(2).revision, "destroy": Destruction("last", asked_on=NUMBER)}, True),
        ({"revision": any_deployment(2).revision, "destroy": Destruction("last", asked_on=6)}, False),
        ({"repository": "acme/other"}, False),
    ],
)
def test_deployments_of_its_merge_and_of_its_head_are_meant_and_no_others(world, fields, is_meant):
    world.pull_requests.save(any_pull_request_record(NUMBER, deploys=(Applying("network", "default", "kept"),)))
    one = world.in_flight(amended(deployment_in(State.AWAITING_REVIEW), **fields))
    world.say("tidegate reject")
    assert (world.now(one).state is State.REJECTED) is is_meant


@pytest.mark.parametrize("text", ["tidegate confirm", "tidegate reject -p app", "tidegate cancel"])
def test_where_nothing_waits_that_is_said(world, text):
    world.put(deployment_in(State.APPLIED))
    world.say(text)
    assert "**Nothing was done.** No" in world.reply


def test_a_pull_request_that_the_forge_does_not_have_is_answered(world):
    world.forge.seen.clear()
    world.say("tidegate cancel")
    assert "There is no pull request" in world.reply


def test_what_cannot_be_read_is_answered(world):
    world.say("tidegate confirm it")
    assert "is not a plan digest" in world.reply


def test_a_comment_that_is_received_again_is_answered_once(world):
    world.waiting()
    stored = Delivery(
        "decision-x",
        "decision",
        {
            "repository": REPOSITORY,
            "pull_request": NUMBER,
            "comment": 71,
            "text": "tidegate reject",
            "sender": "reviewer",
            "written_at": LATER,
        },
        LATER,
    )
    world.say("", delivery=stored)
    world.say("", delivery=stored)
    assert len(world.forge.comments) == 1


def test_a_comment_is_handed_over_as_it_was_written():
    ports = memory_ports()
    comment = Comment("guid", REPOSITORY, NUMBER, 70, "tidegate reject", "reviewer", LATER, NOW)
    told = dispatch_comment(ports, comment, Command(Verb.REJECT))
    (sent,) = ports.events.sent
    assert (sent.id, sent.event, sent.received_at) == ("decision-guid", "decision", LATER)
    assert Comment.of(replace(sent, id="guid")) == comment
    assert ports.deliveries.is_queued(sent.id)
    assert sent.id in told.text
