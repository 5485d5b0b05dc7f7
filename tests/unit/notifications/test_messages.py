"""Messages in the form of each kind of destination: names from outside are never markup."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, deployment_in
from tidegate.deploys.rules.state import State
from tidegate.notifications.rules.notice import notice_of
from tidegate.notifications.rules.slack_interaction import button_value
from tidegate.notifications.rules.subscription import NotificationKind
from tidegate.notifications.texts.cloud_event import cloud_event
from tidegate.notifications.texts.email import email_message
from tidegate.notifications.texts.slack import slack_message
from tidegate.notifications.texts.teams import teams_message
from tidegate.notifications.texts.words import Said, facts, headline
from tidegate.plans.rules.plan import PlannedChanges

PAGE = "https://tidegate.example/deployments/1"
WAITING = notice_of(deployment_in(State.AWAITING_REVIEW), NotificationKind.REVIEW_WAITS, NOW)
#: Markup of Slack and Teams, mentions, and letters that turn text around.
hostile = st.text(st.sampled_from("<!@>&*_`[]()#\u202e\n\r\x1b]8;;aU0"), max_size=300)


def said(**fields):
    return Said(replace(WAITING, **fields), PAGE)


def test_a_cloud_event_says_what_happened_to_what_in_the_form_of_its_specification():
    event = json.loads(cloud_event(said(), "https://tidegate.example"))
    assert {name: event[name] for name in ("specversion", "type", "source", "subject", "datacontenttype")} == {
        "specversion": "1.0",
        "type": "tidegate.review-waits",
        "source": "https://tidegate.example",
        "subject": "acme/infra/network",
        "datacontenttype": "application/json",
    }
    assert event["id"] == WAITING.id
    assert event["data"]["changes"]["add"] == 2
    assert event["data"]["url"] == PAGE
    assert "plan" not in event["data"]


def test_slack_gets_a_link_to_the_page_if_there_is_one():
    def links(message):
        blocks = json.loads(message)["blocks"]
        return [each["url"] for block in blocks if block["type"] == "actions" for each in block["elements"]]

    assert links(slack_message("C0", [said()], 0)) == [PAGE]
    assert links(slack_message("C0", [replace(said(), url="")], 0)) == []


def test_a_review_that_can_be_decided_in_slack_has_one_field_for_a_reason():
    def fields(*listed):
        blocks = json.loads(slack_message("C0", listed, 0))["blocks"]
        return [(each["block_id"], each["optional"]) for each in blocks if each["type"] == "input"]

    decidable = replace(said(), decidable=True)
    assert fields(decidable) == [(button_value(WAITING.deployment, WAITING.review), True)]
    assert fields(said()) == fields(decidable, decidable) == []


def test_a_message_says_everything_that_a_plan_changes():
    assert facts(replace(WAITING, changes=PlannedChanges(replace=2, outputs=1)))[0] == (
        "2 to replace, 1 output to change"
    )


def test_headlines_say_how_a_deployment_failed():
    for state, begins in ((State.PLAN_FAILED, "Plan failed"), (State.REVIEW_EXPIRED, "Review expired")):
        notice = replace(WAITING, kind=NotificationKind.FAILED, state=state.value)
        assert headline(notice).startswith(f"{begins}: network in default")
    assert headline(replace(WAITING, stack="")) == "Review waits: network (acme/infra)"


@given(name=hostile, reason=hostile)
def test_texts_of_people_are_data_in_every_message(name, reason):
    listed = [said(subject=name, reason=reason, branch=name, by=name, details=(reason,)), said()]
    slack = json.loads(slack_message("C0", listed, 3))
    assert "<" not in slack["text"]
    for block in slack["blocks"]:
        assert block.get("text", {"type": "plain_text"})["type"] == "plain_text"
    card = json.loads(teams_message(listed, 3))["attachments"][0]["content"]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    for text in (slack["text"], email_message(listed, 3).decode(), headline(listed[0].notice)):
        assert not {"\x1b", "\u202e", "\r"} & set(text)


@given(st.integers(1, 20), st.text(max_size=3000))
def test_messages_stay_within_the_limits_of_their_receivers(count, text):
    listed = [replace(said(subject=text, reason=text, details=(text,)), decidable=True)] * count
    blocks = json.loads(slack_message("C0", listed, 1))["blocks"]
    assert len(blocks) <= 50
    assert all(len(block["text"]["text"]) <= 3000 for block in blocks if block["type"] == "section")
    assert len(blocks[0]["text"]["text"]) <= 150


def test_a_plan_is_shown_as_it_is():
    one = [replace(said(), plan="+ resource *x*")]
    for message in (slack_message("C0", one, 0), teams_message(one, 0), email_message(one, 0)):
        assert b"+ resource *x*" in message
    assert json.loads(cloud_event(one[0], "tidegate"))["data"]["plan"] == "+ resource *x*"


def test_teams_links_to_the_page_if_there_is_one():
    def actions(url):
        return json.loads(teams_message([replace(said(), url=url)], 0))["attachments"][0]["content"]["actions"]

    assert [each["url"] for each in actions(PAGE)] == [PAGE]
    assert actions("") == []


def test_a_message_about_several_notices_names_each_and_counts_those_that_it_does_not_show():
    listed = [said(), said(subject="database")]
    for message in (slack_message("C0", listed, 3), teams_message(listed, 3), email_message(listed, 3)):
        text = message.decode()
        assert "network in default" in text
        assert "database in default" in text
        assert "3 more are not shown." in text


def test_a_notice_without_facts_is_its_headline():
    bare = Said(replace(WAITING, changes=None, sha="", by="", reason=""))
    [header] = json.loads(slack_message("C0", [bare], 0))["blocks"]
    assert header["text"]["text"] == headline(bare.notice)
