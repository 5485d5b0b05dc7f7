"""Clicks on buttons in Slack: who signed them, and what they ask for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.notifications.interactions import SECRETS, USER, payload, request
from tidegate.deploys.rules.review import Answer
from tidegate.notifications.rules.slack_interaction import SlackRequest, click_of, signature_of, signer, without_buttons

NOW = 1_800_000_000


def test_a_signature_is_the_one_of_slacks_own_example():
    body = (
        "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&"
        "channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&"
        "response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&"
        "trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    signed = signature_of("8f742231b10e8888abcd99yyyzzz85a5", "1531420618", body)
    assert signed == "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"


def test_the_app_that_signed_a_request_is_found_within_five_minutes():
    for app in SECRETS:
        for age in (-300, 0, 300):
            assert signer(SECRETS, request("payload=x", NOW, app), NOW + age) == app
        for age in (-301, 301):
            assert signer(SECRETS, request("payload=x", NOW, app), NOW + age) is None


@pytest.mark.parametrize(
    ("body", "timestamp", "signature"),
    [
        ("other", str(NOW), None),
        ("x", str(NOW - 1), None),
        ("x", str(NOW), ""),
        ("x", str(NOW), "v0=é"),
        ("x", "", None),
        ("x", "now", None),
        ("x", f"-{NOW}", None),
        ("x", "\uff19", None),
    ],
)
def test_a_request_that_is_not_what_was_signed_has_no_signer(body, timestamp, signature):
    signed = request("x", NOW)
    assert (
        signer(SECRETS, SlackRequest(body, timestamp, signed.signature if signature is None else signature), NOW)
        is None
    )


def test_without_a_signing_secret_nobody_has_signed():
    assert signer({}, request("x", NOW), NOW) is None


def test_a_click_says_who_decides_what():
    click = click_of("slack", json.dumps(payload("approve")))
    assert (click.user, click.name, click.workspace) == (USER, "reviewer.at.work", "acme")
    assert click.answer is Answer.APPROVE
    assert (click.deployment, click.review) == ("d-1", "abc123")
    assert click.response_url == "https://hooks.slack.com/actions/1"


def test_a_user_of_an_organization_has_a_team_of_their_own():
    of_organization = payload("approve", team=None, enterprise={"id": "E0GRID", "name": "Acme"})
    of_organization["user"]["team_id"] = USER.team
    click = click_of("slack", json.dumps(of_organization))
    assert (click.user, click.workspace) == (USER, "Acme")


@pytest.mark.parametrize(
    "given",
    [
        payload("open"),
        payload("approve", value="d-1"),
        payload("approve", value="../x abc"),
        payload("approve", value=7),
        payload("approve", user={"id": "u 1"}),
        payload("approve", actions=[]),
        payload("approve", actions="approve"),
        payload("approve", team={"id": ["T1"]}, user={"id": "U1"}),
        ["approve"],
        None,
    ],
)
def test_other_clicks_decide_nothing(given):
    assert click_of("slack", json.dumps(given)) is None


@given(st.recursive(st.none() | st.text() | st.integers(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)))
def test_whatever_comes_is_read_or_refused(given):
    click_of("slack", json.dumps(given))
    click_of("slack", json.dumps(payload("approve", message={"blocks": given}, actions=given)))


def test_halves_of_characters_are_not_kept():
    given = payload("approve", user={"id": USER.id, "username": "a\ud83d"}, response_url="https://x/\ud83d")
    given["state"] = {"values": {"d-1 abc123": {"reason": {"value": "why\ud83d"}}}}
    click = click_of("slack", json.dumps(given))
    assert (click.name, click.reason, click.response_url) == ("a?", "why?", "https://x/?")


def test_what_is_no_json_decides_nothing():
    assert click_of("slack", "{") is None


def test_a_decided_review_loses_its_buttons_and_the_others_keep_theirs():
    mine, other = {"type": "button", "value": "d-1 abc123"}, {"type": "button", "value": "d-2 abc123"}
    link, header = {"type": "button", "url": "https://x"}, {"type": "header"}
    blocks = [header, {"type": "actions", "elements": [mine, mine, link]}, {"type": "actions", "elements": [other]}]
    blocks += [{"type": "actions", "elements": [mine]}, "odd"]
    click = click_of("slack", json.dumps(payload("approve", message={"blocks": blocks})))
    assert without_buttons(click) == [
        header,
        {"type": "actions", "elements": [link]},
        {"type": "actions", "elements": [other]},
    ]
