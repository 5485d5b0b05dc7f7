"""Comments that approve, reject or cancel, from their words to what comes of them."""

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
from tests.unit.deploys.cancel_scenario import LATER, CancelScenario
from tidegate.comments.answer_comment import Comment
from tidegate.comments.decide_by_comment import decide_by_comment
from tidegate.comments.dispatch_comment import dispatch_comment
from tidegate.comments.rules.command import Command, Verb
from tidegate.comments.texts.decisions import MOST_AT_ONCE
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate
from tidegate.ports import Delivery
from tidegate.pull_requests.rules.record import Applying
from tidegate.rules.access import Access

NUMBER, EARLIER = 5, "2026-03-02T07:59:59.000000+00:00"
DIGEST = any_plan().file.sha256


class DecidedScenario(CancelScenario):
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
def scenario():
    return DecidedScenario()


@pytest.mark.parametrize("roots", ["", "-p network "])
def test_the_plan_that_a_comment_names_is_approved(scenario, roots):
    one = scenario.waiting()
    scenario.say(f"tidegate approve {roots}{DIGEST[:12].upper()}")
    now = scenario.now(one)
    assert (now.state, now.review.by, now.review.at) == (State.APPROVED, "reviewer", LATER)
    assert "✅ reviewer approved the plan" in scenario.reply


def test_a_comment_that_names_no_plan_approves_none_and_is_told_how_to(scenario):
    one, other = scenario.waiting(), scenario.waiting("app", "cd" * 32)
    scenario.say("tidegate approve")
    assert {scenario.now(each).state for each in (one, other)} == {State.AWAITING_REVIEW}
    assert f"`tidegate approve -p network {DIGEST[:16]}`" in scenario.reply
    assert f"`tidegate approve -p app {'cd' * 8}`" in scenario.reply


def test_another_plan_than_the_one_that_waits_is_not_approved(scenario):
    one = scenario.waiting()
    scenario.say(f"tidegate approve {'cd' * 8}")
    assert scenario.now(one).state is State.AWAITING_REVIEW
    assert f"`tidegate approve -p network {DIGEST[:16]}`" in scenario.reply


@pytest.mark.parametrize("written_at", [EARLIER, ""])
def test_a_comment_that_was_written_before_the_plan_was_shown_does_not_approve_it(scenario, written_at):
    one = scenario.waiting(review=any_review(asked_at=NOW))
    scenario.say(f"tidegate approve {DIGEST}", written_at=written_at)
    assert scenario.now(one).state is State.AWAITING_REVIEW
    assert "This comment is older than the plan" in scenario.reply


@pytest.mark.parametrize("text", [f"tidegate approve {DIGEST}", "tidegate reject", "tidegate cancel"])
def test_whom_no_rule_names_decides_nothing(scenario, text):
    one = scenario.waiting(access=Access(review=("team:sre",)))
    scenario.say(text)
    assert scenario.now(one) == one
    assert "Only team:sre can review" in scenario.reply


def test_a_plan_is_rejected_where_only_one_waits(scenario):
    one = scenario.waiting()
    scenario.say("tidegate reject")
    assert (scenario.now(one).state, scenario.now(one).review.by) == (State.REJECTED, "reviewer")
    assert "🚫" in scenario.reply


def test_of_several_that_wait_the_one_that_is_named_is_rejected(scenario):
    one, other = scenario.waiting(), scenario.waiting("app")
    scenario.say("tidegate reject")
    assert {scenario.now(each).state for each in (one, other)} == {State.AWAITING_REVIEW}
    assert "`tidegate reject -p app`" in scenario.reply
    scenario.say("tidegate reject -p app")
    assert (scenario.now(one).state, scenario.now(other).state) == (State.AWAITING_REVIEW, State.REJECTED)


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED, State.AWAITING_REQUIREMENTS])
def test_what_waits_at_a_gate_is_rejected_there(scenario, state):
    one = scenario.waiting(state=state, gate=Gate("g", NOW))
    scenario.say("tidegate reject")
    assert "reviewer rejected" in scenario.reply
    now = scenario.now(one)
    assert (now.gate.next, now.gate.by, now.gate.at) == (AfterGate.REJECTED, "reviewer", LATER)


def test_all_of_a_pull_request_that_wait_or_plan_are_cancelled_and_applies_only_if_that_is_said(scenario):
    one, applying = scenario.waiting(), scenario.applying()
    app = scenario.waiting("app", state=State.PLANNING)
    scenario.say("tidegate cancel")
    assert [scenario.now(each).state for each in (one, app)] == [State.CANCELLED] * 2
    assert scenario.now(applying).outcome.cancelled is None
    assert "partly changed" in scenario.reply
    scenario.say("tidegate cancel --apply")
    assert scenario.now(applying).outcome.cancelled.by == "reviewer"


@pytest.mark.parametrize("cancelled", [True, False])
def test_the_answer_to_a_cancel_tells_what_became_of_the_pull_requests_plans(scenario, cancelled):
    scenario.say("tidegate cancel", plans="That became of them", plans_cancelled=cancelled)
    assert "That became of them" in scenario.reply
    assert ("Nothing was done" in scenario.reply) is not cancelled
    assert ("🛑" in scenario.reply) is cancelled


@pytest.mark.parametrize("access", [None, Access(review=("team:sre",))])
def test_plans_and_deployments_are_cancelled_by_one_comment_each_by_its_own_rule(scenario, access):
    one = scenario.waiting(access=access)
    told = scenario.say("tidegate cancel", plans="Plans are cancelled", plans_cancelled=True)
    assert (scenario.now(one).state is State.CANCELLED) is (access is None)
    assert "Plans are cancelled" in told
    assert "`network`: " in scenario.reply
    assert "Plans are cancelled" in scenario.reply
    assert not scenario.forge.reactions


def test_what_became_of_plans_is_told_also_where_the_forge_has_no_such_pull_request(scenario):
    scenario.forge.seen.clear()
    scenario.say("tidegate cancel", plans="Plans are cancelled", plans_cancelled=True)
    assert "There is no pull request" in scenario.reply
    assert "Plans are cancelled" in scenario.reply


def test_one_root_is_cancelled_by_its_name(scenario):
    one, other = scenario.waiting(), scenario.waiting("app")
    scenario.say("tidegate cancel -p app")
    assert (scenario.now(one).state, scenario.now(other).state) == (State.AWAITING_REVIEW, State.CANCELLED)


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
def test_deployments_of_its_merge_and_of_its_head_are_meant_and_no_others(scenario, fields, is_meant):
    scenario.pull_requests.save(any_pull_request_record(NUMBER, deploys=(Applying("network", "default", "kept"),)))
    one = scenario.in_flight(amended(deployment_in(State.AWAITING_REVIEW), **fields))
    scenario.say("tidegate reject")
    assert (scenario.now(one).state is State.REJECTED) is is_meant


@pytest.mark.parametrize("text", ["tidegate approve", "tidegate reject -p app", "tidegate cancel"])
def test_where_nothing_waits_that_is_said(scenario, text):
    scenario.put(deployment_in(State.APPLIED))
    scenario.say(text)
    assert "**Nothing was done.** No" in scenario.reply


def test_a_pull_request_that_the_forge_does_not_have_is_answered(scenario):
    scenario.forge.seen.clear()
    scenario.say("tidegate cancel")
    assert "There is no pull request" in scenario.reply


def test_what_cannot_be_read_is_answered(scenario):
    scenario.say("tidegate approve :)")
    assert "is not a valid name" in scenario.reply


def test_a_root_is_approved_by_its_name_with_a_reason(scenario):
    one, other = scenario.waiting(), scenario.waiting("app", "cd" * 32)
    scenario.say("tidegate approve network the <b>vendor</b> agreed")
    assert (scenario.now(one).state, scenario.now(one).review.reason) == (State.APPROVED, "the <b>vendor</b> agreed")
    assert scenario.now(other).state is State.AWAITING_REVIEW
    assert "reviewer approved the plan: the &lt;b&gt;vendor&lt;/b&gt; agreed" in scenario.reply
    scenario.say("tidegate approve -p app")
    assert scenario.now(other).state is State.APPROVED


@pytest.mark.parametrize(("verb", "state"), [("approve", State.APPROVED), ("reject", State.REJECTED)])
@pytest.mark.parametrize("name", ["prod", "live"])
def test_all_plans_of_a_stack_or_a_group_are_decided_by_its_name(scenario, verb, state, name):
    both = [scenario.waiting(root, stack="prod", within=("live",)) for root in ("network", "app")]
    other = scenario.waiting("web", stack="dev")
    scenario.say(f"tidegate {verb} {name}")
    assert {scenario.now(each).state for each in both} == {state}
    assert scenario.now(other).state is State.AWAITING_REVIEW


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_name_that_could_mean_several_is_refused_with_what_it_could_mean(scenario, verb):
    dev, it = scenario.waiting("prod", "ab" * 32, stack="dev"), scenario.waiting("prod", "cd" * 32, stack="it")
    other = scenario.waiting("app", "ef" * 32, stack="prod")
    scenario.say(f"tidegate {verb} prod")
    assert {scenario.now(each).state for each in (dev, it, other)} == {State.AWAITING_REVIEW}
    assert scenario.reply.count("in stack") == 3
    scenario.say(f"tidegate {verb} {'cd' * 8}")
    assert [scenario.now(each).state is State.AWAITING_REVIEW for each in (dev, it)] == [True, False]


def test_a_root_in_several_stacks_is_not_approved_by_its_option_alone(scenario):
    both = [scenario.waiting(digest=digest, stack=stack) for stack, digest in (("dev", "ab" * 32), ("prod", "cd" * 32))]
    scenario.say("tidegate approve -p network")
    assert {scenario.now(each).state for each in both} == {State.AWAITING_REVIEW}


def test_a_name_of_nothing_that_waits_is_refused_with_what_does(scenario):
    scenario.waiting()
    scenario.say("tidegate approve netwrok")
    assert "Nothing of a root or a stack `netwrok` waits" in scenario.reply
    assert "`tidegate approve -p network" in scenario.reply


def test_a_comment_decides_about_a_limited_number(scenario):
    several = [scenario.waiting(f"root-{number}", stack="prod") for number in range(MOST_AT_ONCE + 1)]
    scenario.say("tidegate approve prod")
    assert {scenario.now(each).state for each in several} == {State.AWAITING_REVIEW}
    assert f"a comment can approve {MOST_AT_ONCE}" in scenario.reply


def test_what_a_protected_stack_would_lose_is_confirmed_in_the_comment(scenario):
    one = scenario.waiting(stack="prod", review_rule=ReviewRule(protected=True))
    scenario.say("tidegate approve prod")
    assert scenario.now(one).state is State.AWAITING_REVIEW
    assert "`--yes`" in scenario.reply
    scenario.say("tidegate approve prod --yes")
    assert scenario.now(one).state is State.APPROVED


def test_a_comment_that_is_received_again_is_answered_once(scenario):
    scenario.waiting()
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
    scenario.say("", delivery=stored)
    scenario.say("", delivery=stored)
    assert len(scenario.forge.comments) == 1


def test_a_comment_is_handed_over_as_it_was_written():
    ports = memory_ports()
    comment = Comment("guid", REPOSITORY, NUMBER, 70, "tidegate reject", "reviewer", LATER, NOW)
    told = dispatch_comment(ports, comment, Command(Verb.REJECT))
    (sent,) = ports.events.sent
    assert (sent.id, sent.event, sent.received_at) == ("decision-guid", "decision", LATER)
    assert Comment.of(replace(sent, id="guid")) == comment
    assert ports.deliveries.is_queued(sent.id)
    assert sent.id in told.text
