"""Notifications: from an event of a deployment to receivers on this machine, over real HTTP."""

from __future__ import annotations

import json

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.receiver import SIGNING_SECRET
from tidegate.notifications.rules.signing import signed_headers

TOLD = """
version: 1
notifications:
  - destinations: [hooks, deploys, office, owners]
    on: [review-waits, applied, failed]
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


def test_nothing_is_lost_while_a_receiver_fails(project, receiver):
    receiver.is_down = True
    try:
        sha = project.push({"app": thing("one")}, **{"tidegate.yaml": TOLD})
        project.reviewed(sha, "app")
        assert kinds(receiver, project) == []
    finally:
        receiver.is_down = False
    eventually(lambda: kinds(receiver, project) == ["review-waits"], what="the webhook")
