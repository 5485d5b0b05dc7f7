"""Buttons in Slack, as signed requests of Slack, and the page that links a user of Slack to an account."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest

from tests.api.scenario import Client
from tests.builders import amended, any_plan, deployment_in
from tests.unit.notifications.presses import SECRETS, USER, payload, request
from tidegate.deploys.rules.state import State


@pytest.fixture
def slack(wires):
    wires.slack_apps.secrets = SECRETS
    return Slack(wires)


class Slack:
    """Slack, which signs what its users press."""

    def __init__(self, wires):
        self.wires = wires
        self.one = wires.deployed(amended(deployment_in(State.AWAITING_REVIEW), plan=any_plan()))

    def press(self, action="approve", app="slack", **headers):
        given = payload(action, f"{self.one.id} {self.one.review.id}")
        body = urlencode({"payload": json.dumps(given)})
        signed = request(body, self.wires.now, app)
        sent = {
            "content-type": "application/x-www-form-urlencoded",
            "x-slack-request-timestamp": signed.timestamp,
            "x-slack-signature": signed.signature,
            **headers,
        }
        return Client(self.wires).send("POST", "/slack/actions", body, sent)

    @property
    def reply(self):
        return json.loads(self.wires.slack_apps.replies[-1][1])

    @property
    def link(self):
        """The path of the link that a user is sent."""
        return re.search(r"https://tidegate.example(/account/slack[^|]+)", self.reply["text"])[1]


def test_a_person_links_their_user_of_slack_once_and_then_decides_there(wires, slack, browser):
    assert (slack.press().status, slack.press().body) == (200, "")
    page = browser.get(slack.link)
    assert "reviewer.at.work" in page.text
    code = re.search(r'name="code" value="([^"]+)"', page.body)[1]
    form = {"csrf": browser.form_token(slack.link), "code": code}
    done = browser.post_form("/account/slack", **form, action="link")
    assert "linked" in browser.get(done.headers["location"]).text
    assert browser.post_form("/account/slack", **form, action="link").status == 400

    assert slack.press().status == 200
    review = wires.deployments.get(slack.one.id).review
    assert (review.approved, review.by) == (True, "reviewer")


def test_a_link_needs_somebody_who_signs_in_and_confirms_it(wires, slack, browser):
    slack.press()
    assert Client(wires).get(slack.link).headers["location"].startswith("/login?next=%2Faccount%2Fslack")
    assert browser.post_form("/account/slack", code=slack.link.partition("=")[2], action="link").status == 403
    assert wires.slack_accounts.link(USER) is None


def test_a_person_sees_who_decides_as_them_and_ends_that(wires, slack, browser):
    slack.press()
    form = {"csrf": browser.form_token(slack.link), "code": slack.link.partition("=")[2]}
    browser.post_form("/account/slack", **form, action="link")
    assert USER.id in browser.get("/account/slack").text
    user = {"app": USER.app, "team": USER.team, "user": USER.id}
    done = browser.post_form("/account/slack", csrf=form["csrf"], **user, action="unlink")
    page = browser.get(done.headers["location"]).text
    assert "no longer linked" in page
    assert USER.id not in page
    slack.press()
    assert "Link it" in slack.reply["text"]
    assert browser.post_form("/account/slack", **form, action="link").status == 400


def test_the_log_tells_which_user_of_slack_was_linked_to_whom_and_pressed(wires, slack, browser, caplog):
    slack.press()
    form = {"csrf": browser.form_token(slack.link), "code": slack.link.partition("=")[2]}
    browser.post_form("/account/slack", **form, action="link")
    slack.press()
    told = [(each.message, vars(each).get("login")) for each in caplog.records if vars(each).get("slack_user")]
    assert told == [("pressed", None), ("linked", "reviewer"), ("pressed", None)]
    assert {vars(each).get("slack_user") for each in caplog.records} == {None, "slack/T0TEAM/U0USER"}


def test_an_expired_or_forged_code_links_nobody(wires, slack, browser):
    slack.press()
    wires.now += 601
    for path in (slack.link, "/account/slack?code=forged"):
        assert browser.get(path).status == 400
    assert "No Slack user" in browser.get("/account/slack").text


@pytest.mark.parametrize(
    "headers",
    [
        {"x-slack-signature": "v0=" + "0" * 64},
        {"x-slack-signature": ""},
        {"x-slack-request-timestamp": "1799999000"},
        {"x-slack-request-timestamp": ""},
    ],
)
def test_a_request_without_a_signature_of_now_is_refused(wires, slack, headers):
    assert slack.press(**headers).status == 401
    assert wires.slack_apps.replies == []


def test_a_request_is_refused_if_no_signing_secret_is_configured(wires, slack):
    wires.slack_apps.secrets = {}
    assert slack.press().status == 401


def test_an_app_does_not_speak_for_users_of_another_one(wires, slack, browser):
    code = wires.sessions.slack_code(USER, "")
    browser.post_form("/account/slack", csrf=browser.form_token(), code=code, action="link")
    assert slack.press(app="other").status == 200
    assert "Link it" in slack.reply["text"]
    assert wires.deployments.get(slack.one.id).review.approved is None


def test_the_press_of_a_link_is_taken_and_decides_nothing(wires, slack):
    assert slack.press("open").status == 200
    assert wires.slack_apps.replies == []
