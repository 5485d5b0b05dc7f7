"""A click in Slack decides what its user's account may decide, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, amended, any_plan, deployment_in
from tests.fakes.ports import With, changed, memory_ports
from tests.unit.notifications.interactions import USER, payload
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.notifications.answer_click import answer_click
from tidegate.notifications.link_slack import link_slack, unlink_slack
from tidegate.notifications.rules.slack_account import (
    LINK_SECONDS,
    MOST_ATTEMPTS,
    InvalidSlackLink,
    WrongSlackCode,
    code_from,
    is_code,
)
from tidegate.notifications.rules.slack_interaction import click_of
from tidegate.rules.access import Access
from tidegate.rules.errors import ForgeUnavailable

LATER = 1_800_000_000


class Channel:
    """A deployment that waits for a review, which a message in a channel tells of."""

    def __init__(self, **fields):
        self.ports = memory_ports(
            {"TIDEGATE_WEB_URL": "https://tidegate.example"}, app_secret=self, seconds=lambda: self.seconds
        )
        self.seconds = float(LATER)
        self.ports.clock.at = NOW
        waiting = amended(deployment_in(State.AWAITING_REVIEW), plan=any_plan(), **fields)
        self.ports.queues.enqueue(waiting)
        self.one = waiting

    def current(self):
        """Return the App's secret, by which codes are signed."""
        return {"client_id": "client", "client_secret": "client secret"}

    @property
    def now(self):
        return self.ports.deployments.get(self.one.id)

    def click(self, action="approve", review=None, reason=None):
        """Click a button below a typed reason; return what became of it, and the reply."""
        value = f"{self.one.id} {review or self.one.review.id}"
        blocks = [
            {"type": "input", "block_id": value},
            {"type": "actions", "elements": [{"type": "button", "value": value}]},
        ]
        state = {"values": {value: {"reason": {"type": "plain_text_input", "value": reason}}}}
        click = click_of("slack", json.dumps(payload(action, value, message={"blocks": blocks}, state=state)))
        outcome = answer_click(self.ports, click)
        replies = self.ports.slack_apps.replies
        return outcome, json.loads(replies[-1][1]) if replies else None

    def token(self):
        """Return the token of the link that a user gets now."""
        return self.ports.sessions.slack_link(USER, "reviewer.at.work", "acme")

    def link(self, token, login="reviewer"):
        return link_slack(self.ports, token, self.ports.sessions.slack_code(token), login)

    def linked(self, login="reviewer"):
        self.link(self.token(), login)
        return self


def test_a_user_without_an_account_is_told_alone_where_to_link_it_and_decides_nothing():
    channel = Channel()
    _, told = channel.click()
    assert (told["response_type"], told["replace_original"]) == ("ephemeral", False)
    token = told["text"].partition("/account/slack?request=")[2].partition("|")[0]
    request = channel.ports.sessions.read_slack_link(token)
    assert (request.user, request.name, request.workspace) == (USER, "reviewer.at.work", "acme")
    assert channel.ports.sessions.slack_code(token) in told["text"]
    assert channel.now.state is State.AWAITING_REVIEW


@pytest.mark.parametrize(("action", "approved"), [("approve", True), ("reject", False)])
def test_a_linked_user_decides_and_the_message_says_so_without_its_buttons(action, approved):
    channel = Channel().linked()
    outcome, told = channel.click(action)
    assert (channel.now.review.approved, channel.now.review.by) == (approved, "reviewer")
    assert told["replace_original"]
    assert [block["type"] for block in told["blocks"]] == ["context"]
    assert outcome in json.dumps(told)


def test_what_is_typed_above_the_buttons_is_the_reason():
    channel = Channel().linked()
    outcome, told = channel.click("reject", reason="Not\nbefore the freeze.")
    assert channel.now.review.reason == "Not before the freeze."
    assert "Not before the freeze." in outcome
    assert outcome in json.dumps(told)


def test_a_link_of_three_months_ago_is_asked_for_anew():
    channel = Channel().linked()
    channel.seconds += LINK_SECONDS + 600
    _, told = channel.click()
    assert "/account/slack?request=" in told["text"]
    assert channel.now.state is State.AWAITING_REVIEW
    assert channel.linked().click()[0] == "reviewer approved the plan."


def test_only_the_account_ends_a_link_to_it_and_a_used_link_stays_used():
    channel = Channel()
    token = channel.token()
    channel.link(token)
    assert not unlink_slack(channel.ports, USER, "somebody")
    assert not unlink_slack(channel.ports, replace(USER, team="T0OTHER"), "reviewer")
    assert channel.ports.slack_accounts.link(USER).login == "reviewer"
    assert unlink_slack(channel.ports, USER, "Reviewer")
    assert "/account/slack?request=" in channel.click()[1]["text"]
    with pytest.raises(InvalidSlackLink):
        channel.link(token)


def test_a_click_that_arrives_again_decides_nothing_more():
    channel = Channel().linked()
    channel.click()
    before = channel.now
    channel.ports.clock.advance(1)
    _, told = channel.click()
    assert "already approved" in told["text"]
    assert channel.now.review == before.review


def test_an_old_message_cannot_approve_a_later_plan():
    channel = Channel().linked()
    _, told = channel.click(review="0" * 20)
    assert "another plan" in told["text"]
    channel.ports.deployments.save(replace(channel.now, review=None))
    assert "another plan" in channel.click()[1]["text"]
    assert channel.now.state is State.AWAITING_REVIEW


@pytest.mark.parametrize(
    ("login", "fields"), [("reader", {}), ("reviewer", {"access": Access(review=("user:somebody",))})]
)
def test_who_may_not_review_on_the_page_may_not_in_slack(login, fields):
    channel = Channel(**fields).linked(login)
    _, told = channel.click()
    assert (told["response_type"], login in told["text"]) == ("ephemeral", True)
    assert channel.now.review.approved is None


def test_buttons_stay_while_more_people_must_approve():
    channel = Channel(review_rule=ReviewRule(approvals=2)).linked()
    _, told = channel.click()
    assert told["response_type"] == "ephemeral"
    assert len(channel.now.review.approvals) == 1


def test_what_cannot_be_checked_now_is_told():
    channel = Channel().linked()

    def fails(*_):
        raise ForgeUnavailable("no answer")

    channel.ports = changed(channel.ports, people=With(channel.ports.people, permission=fails))
    _, told = channel.click()
    assert told["response_type"] == "ephemeral"
    assert channel.now.review.approved is None


def test_a_decision_stands_if_slack_takes_no_reply():
    channel = Channel().linked()
    channel.ports.slack_apps.is_down = True
    channel.click()
    assert channel.now.review.approved


def test_a_link_is_used_once_and_a_later_one_replaces_it():
    channel = Channel()
    first = channel.token()
    channel.link(first)
    with pytest.raises(InvalidSlackLink):
        channel.link(first, "somebody")
    channel.seconds += 1
    assert channel.link(channel.token(), "somebody").login == "somebody"


def test_a_link_without_its_code_links_nobody_and_attempts_are_limited():
    channel = Channel()
    token, other = channel.token(), channel.ports.sessions.slack_link(replace(USER, id="U0OTHER"), "other", "acme")
    for typed in ("", channel.ports.sessions.slack_code(other), "BBBB-BBBB", "\uff22", token)[:MOST_ATTEMPTS]:
        with pytest.raises(WrongSlackCode):
            link_slack(channel.ports, token, typed, "reviewer")
    with pytest.raises(InvalidSlackLink):
        channel.link(token)
    with pytest.raises(InvalidSlackLink):
        link_slack(channel.ports, "forged", "BBBB-BBBB", "reviewer")


@given(st.binary(min_size=32, max_size=32))
def test_a_code_is_typed_in_any_case_and_with_any_punctuation(digest):
    code = code_from(digest)
    assert is_code(code, f" {code.lower().replace('-', ' ')} ")
    assert not is_code(code, code[:-1])
    assert not is_code(code, f"{code}B")
