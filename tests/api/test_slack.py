"""Buttons in Slack, as signed requests of Slack, and the page that links a user of Slack to an account."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest

from tests.api.scenario import Client
from tests.builders import amended, any_plan, deployment_in
from tests.unit.notifications.interactions import SECRETS, USER, payload, request
from tidegate.deploys.rules.state import State


@pytest.fixture
def slack(wires):
    wires.slack_apps.secrets = SECRETS
    return Slack(wires)


class Slack:
    """Slack, which signs what its users click."""

    def __init__(self, wires):
        self.wires = wires
        self.one = wires.deployed(amended(deployment_in(State.AWAITING_REVIEW), plan=any_plan()))

    def click(self, action="approve", app="slack", **headers):
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

    @property
    def code(self):
        """The code that this user alone sees."""
        return re.search(r"[B-Z]{4}-[B-Z]{4}", self.reply["text"])[0]

    def typed(self, browser, code):
        """Somebody opens the link, types a code, and links the user to themselves."""
        page = browser.get(self.link).body
        fields = dict(re.findall(r'name="(csrf|request)" value="([^"]+)"', page))
        return browser.post_form("/account/slack", **fields, code=code, action="link")


def test_a_person_types_the_code_links_their_user_of_slack_once_and_then_decides_there(wires, slack, browser):
    assert (slack.click().status, slack.click().body) == (200, "")
    link, code = slack.link, slack.code
    assert code not in link
    assert "is linked" not in browser.get(link).text
    done = slack.typed(browser, code.lower().replace("-", " "))
    assert "is linked" in browser.get(done.headers["location"]).text
    again = {"csrf": browser.form_token(), "request": link.partition("=")[2], "code": code}
    assert browser.post_form("/account/slack", **again, action="link").status == 400

    assert slack.click().status == 200
    review = wires.deployments.get(slack.one.id).review
    assert (review.approved, review.by) == (True, "reviewer")


def test_the_page_says_whose_user_of_which_workspace_would_decide_as_whom(slack, browser):
    slack.click()
    page = browser.get(slack.link)
    assert all(each in page.text for each in ("reviewer.at.work", USER.id, "acme", USER.team, "as reviewer"))
    assert slack.code not in page.body


def test_a_link_needs_somebody_who_signs_in_and_confirms_it(wires, slack, browser):
    slack.click()
    assert Client(wires).get(slack.link).headers["location"].startswith("/login?next=%2Faccount%2Fslack")
    fields = {"request": slack.link.partition("=")[2], "code": slack.code}
    assert browser.post_form("/account/slack", **fields, action="link").status == 403
    assert wires.slack_accounts.link(USER) is None


def test_a_link_alone_links_nobody_and_ends_after_five_wrong_codes(wires, slack, browser):
    slack.click()
    for left in (4, 3, 2, 1, 0):
        refused = slack.typed(browser, "" if left == 4 else "BBBB-BBBB")
        assert refused.status == 400
        assert (f"{left} more" in refused.text) == bool(left)
    assert slack.typed(browser, slack.code).status == 400
    assert wires.slack_accounts.link(USER) is None


def test_a_page_claims_no_link_that_does_not_exist(slack, browser):
    slack.click()
    for path in ("/account/slack?done=linked", f"{slack.link}&done=linked", "/account/slack?done=unlinked"):
        page = browser.get(path).text
        assert "is linked" not in page
        assert "no longer" not in page


def test_the_link_of_somebody_else_says_nothing_once_it_was_used(wires, slack, browser):
    slack.click()
    slack.typed(browser, slack.code)
    assert Client(wires).sign_in("reader").get(slack.link).status == 400


def test_a_person_sees_who_decides_as_them_and_ends_that(slack, browser):
    slack.click()
    slack.typed(browser, slack.code)
    used, code = slack.link.partition("=")[2], slack.code
    page = browser.get("/account/slack").text
    assert "reviewer.at.work" in page
    assert USER.id in page
    user = {"app": USER.app, "team": USER.team, "user": USER.id}
    done = browser.post_form("/account/slack", csrf=browser.form_token(), **user, action="unlink")
    assert USER.id not in browser.get(done.headers["location"]).text
    slack.click()
    assert "Link it" in slack.reply["text"]
    again = {"csrf": browser.form_token(), "request": used, "code": code}
    assert browser.post_form("/account/slack", **again, action="link").status == 400


def test_who_is_linked_already_is_not_asked_again(slack, browser):
    slack.click()
    first = slack.link
    slack.wires.now += 1
    slack.click()
    slack.typed(browser, slack.code)
    assert browser.get(first).status == 400
    slack.wires.now += 1
    token = slack.wires.sessions.slack_link(USER, "reviewer.at.work", "acme")
    page = browser.get(f"/account/slack?request={token}")
    assert "already" in page.text
    assert 'name="code"' not in page.body


def test_the_log_tells_which_user_of_slack_was_linked_to_whom_and_clicked(slack, browser, caplog):
    slack.click()
    slack.typed(browser, slack.code)
    slack.click()
    told = [(each.message, vars(each).get("login")) for each in caplog.records if vars(each).get("slack_user")]
    assert told == [("clicked", None), ("linked", "reviewer"), ("clicked", None)]
    assert {vars(each).get("slack_user") for each in caplog.records} == {None, "slack/T0TEAM/U0USER"}


def test_an_expired_or_forged_link_links_nobody(wires, slack, browser):
    slack.click()
    wires.now += 601
    for path in (slack.link, "/account/slack?request=forged"):
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
    assert slack.click(**headers).status == 401
    assert wires.slack_apps.replies == []


def test_a_request_is_refused_if_no_signing_secret_is_configured(wires, slack):
    wires.slack_apps.secrets = {}
    assert slack.click().status == 401


def test_an_app_without_its_secret_stops_no_other_and_the_log_names_it(wires, slack, caplog):
    wires.slack_apps.secrets = {"gone": None, "empty": "", **SECRETS}
    assert slack.click().status == 200
    assert {vars(each).get("secret") for each in caplog.records} == {None, "gone"}


def test_an_app_does_not_speak_for_users_of_another_one(wires, slack, browser):
    slack.click()
    slack.typed(browser, slack.code)
    assert slack.click(app="other").status == 200
    assert "Link it" in slack.reply["text"]
    assert wires.deployments.get(slack.one.id).review.approved is None


def test_the_click_on_a_link_is_taken_and_decides_nothing(wires, slack):
    assert slack.click("open").status == 200
    assert wires.slack_apps.replies == []


def test_an_installation_without_an_app_in_slack_has_no_users_to_link(wires, browser):
    wires.slack_apps.secrets = {}
    page = browser.get("/account/slack")
    assert page.status == 404
    assert "no app in Slack" in page.body
