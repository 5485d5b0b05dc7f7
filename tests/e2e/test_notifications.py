"""Notifications: from an event of a deployment to receivers on this machine, over real HTTP."""

from __future__ import annotations

import json
import re
import time
import uuid
from urllib.parse import urlencode

import httpx

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pages import click, sign_in
from tests.e2e.receiver import SIGNING_SECRET, SLACK_TOKENS
from tests.unit.notifications.interactions import payload
from tidegate.notifications.rules.signing import signed_headers
from tidegate.notifications.rules.slack_interaction import signature_of

TOLD = """
version: 1
notifications:
  - destinations: [hooks, deploys, office, owners]
    events: [review-waits, applied, failed]
"""


def kinds(receiver, project):
    """Return the kinds of the events about a project that arrived at the webhook, in their order."""
    return [json.loads(each.body)["data"]["kind"] for _, each in receiver.about("/hooks", project.name)]


def test_destinations_are_told_that_a_review_waits_and_that_a_root_is_applied(project, receiver):
    sha = project.push({"app": thing("one")}, **{"tidegate.yaml": TOLD})
    project.reviewed(sha, "app")
    [(_, request)] = eventually(lambda: receiver.about("/hooks", project.name), what="the webhook")
    event = json.loads(request.body)
    assert (event["type"], event["data"]["sha"]) == ("tidegate.review-waits", sha)
    sent = request.headers
    signed = signed_headers(SIGNING_SECRET, sent["webhook-id"], int(sent["webhook-timestamp"]), request.body)
    assert sent["webhook-signature"] == signed["webhook-signature"]
    for path in ("/slack/chat.postMessage", "/teams"):
        assert eventually(lambda path=path: receiver.about(path, project.name), what=path)

    project.approved(sha, "app")
    project.ended(sha, "app")
    eventually(lambda: kinds(receiver, project) == ["review-waits", "applied"], what="applied")


def click_button(tidegate, receiver, message, answer):
    """Click a button of a message as Slack sends it, and return what was replied."""
    [value] = [
        element["value"]
        for block in message["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if element["action_id"] == answer
    ]
    replies = f"/replies/{uuid.uuid4().hex}"
    given = payload(answer, value, response_url=f"{receiver.url}{replies}", message=message)
    body, at = urlencode({"payload": json.dumps(given)}), str(int(time.time()))
    signed = {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": at,
        "x-slack-signature": signature_of(SLACK_TOKENS["signing_secret"], at, body),
    }
    answered = httpx.post(f"{tidegate.cloud.api_url}/slack/actions", content=body, headers=signed, trust_env=False)
    assert (answered.status_code, answered.text) == (200, "")
    [(_, reply)] = receiver.about(replies, "")
    return json.loads(reply.body)


def test_a_person_links_their_user_of_slack_and_approves_there(project, tidegate, receiver, browser):
    sha = project.push({"app": thing("one")}, **{"tidegate.yaml": TOLD})
    project.reviewed(sha, "app")
    [(_, request)] = eventually(lambda: receiver.about("/slack/chat.postMessage", project.name), what="Slack")
    message = json.loads(request.body)
    told = click_button(tidegate, receiver, message, "approve")["text"]
    link, code = re.search(r"<[^|]*(/account/slack[^|]+)\|.*\*([A-Z-]+)\*", told).groups()
    click(browser, sign_in(browser, link), "/account/slack", code=code)
    assert "reviewer approved" in click_button(tidegate, receiver, message, "approve")["text"]
    assert project.ended(sha, "app")["conclusion"] == "success"


def test_nothing_is_lost_while_a_receiver_fails(project, receiver):
    receiver.is_down = True
    try:
        sha = project.push({"app": thing("one")}, **{"tidegate.yaml": TOLD})
        project.reviewed(sha, "app")
        assert kinds(receiver, project) == []
    finally:
        receiver.is_down = False
    eventually(lambda: kinds(receiver, project) == ["review-waits"], what="the webhook")
