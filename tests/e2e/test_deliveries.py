"""Webhooks that come twice, late, out of order, about other things, or from somebody else."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.project import has_ended, title, words


def deployments_of(tidegate, repository):
    """Return the deployments that were ever stored for a repository."""
    pages = tidegate.cloud.client("dynamodb").get_paginator("scan").paginate(TableName=tidegate.cloud.table)
    items = [item for page in pages for item in page["Items"]]
    return [item for item in items if item["pk"]["S"].startswith("deployment#") and repository in json.dumps(item)]


def is_stored(tidegate, guid):
    key = {"pk": {"S": f"delivery#{guid}"}, "sk": {"S": "record"}}
    return "Item" in tidegate.cloud.client("dynamodb").get_item(TableName=tidegate.cloud.table, Key=key)


def test_a_delivery_that_comes_many_times_at_once_and_again_under_other_ids_is_one_deployment(project):
    tidegate = project.tidegate
    with tidegate.webhooks_lost():
        sha = project.push({"app": thing()})
        push = tidegate.sent("push", project.name)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: tidegate.deliver(push), range(8)))
    assert {status for status, _ in answers} == {202}
    assert "stored" in {answer["result"] for _, answer in answers}
    tidegate.send_again(push)
    for guid in ("the-same-push-1", "the-same-push-2"):
        assert tidegate.deliver(push, guid=guid + uuid.uuid4().hex)[0] == 202
    project.deployed(sha, "app")
    assert tidegate.deliver(push)[1]["result"] == "duplicate"
    end = project.ended(sha, "app")
    assert len(tidegate.executions("terraform", end["external_id"])) == 1
    assert tidegate.audited(end["external_id"]) == ["RUNNING", "SUCCESS"]
    assert len({item["pk"]["S"] for item in deployments_of(tidegate, project.name)}) == 1


@pytest.mark.nightly
def test_a_push_whose_webhook_comes_after_that_of_a_later_push_is_never_deployed_after_it(project):
    tidegate = project.tidegate
    with tidegate.webhooks_lost():
        first = project.push({"app": thing("first")})
        late = tidegate.sent("push", project.name, after=first)
    second = project.push({"app": thing("second")})
    project.deployed(second, "app")
    tidegate.send_again(late)
    superseded = project.ended(first, "app")
    assert superseded["conclusion"] == "skipped"
    assert second[:7] in words(superseded)
    assert "Superseded" in words(superseded)
    assert tidegate.audited(superseded["external_id"]) == []
    assert project.value("app") == "second"


@pytest.mark.nightly
def test_a_forced_push_back_is_refused_and_one_to_the_side_asks_to_look_twice(project):
    first = project.push({"app": thing("first")})
    project.deployed(first, "app")
    second = project.push({"app": thing("second")})
    project.deployed(second, "app")
    project.force(first)
    back = project.wait(first, "app", "Not deployed")
    assert "Deployments never go backwards" in words(back)
    assert project.value("app") == "second"

    aside = project.push({"app": thing("aside")})
    asked = project.reviewed(aside, "app")
    assert "diverged" in words(asked)
    assert second[:7] in words(asked)
    project.click(asked, "Reject")
    assert has_ended(project.ended(aside, "app"))
    assert project.value("app") == "second"


@pytest.mark.nightly
def test_other_branches_tags_and_deleted_branches_are_acknowledged_and_nothing_follows(project):
    tidegate = project.tidegate
    begin = project.push_files({"README.md": "# Nothing to deploy\n"})
    side = project.push_files({"app/main.tf": thing()}, branch="side", base="main")
    project.git("push", "--quiet", "{url}", f"{side}:refs/tags/v1")
    project.git("push", "--quiet", "{url}", ":refs/heads/side")
    reasons = {
        "refs/heads/side": "not to the default branch",
        "refs/tags/v1": "tag",
    }
    for ref, reason in reasons.items():
        push = tidegate.sent("push", project.name, ref=ref, after=side)
        status, answer = tidegate.deliver(push)
        assert (status, answer["result"]) == (202, "ignored")
        assert reason in answer["reason"]
    deleted = tidegate.sent("push", project.name, ref="refs/heads/side", deleted=True)
    assert tidegate.deliver(deleted)[1]["reason"] == "The branch was deleted."
    assert not is_stored(tidegate, deleted.guid)
    assert project.names(side) == project.names(begin) == set()
    assert deployments_of(tidegate, project.name) == []


def sha1(body: bytes, secret: str) -> str:
    return "sha1=" + hmac.new(secret.encode(), body, hashlib.sha1).hexdigest()


@pytest.fixture
def push(project):
    """A push of which Tidegate has not heard."""
    with project.tidegate.webhooks_lost():
        sha = project.push({"app": thing()})
        yield project.tidegate.sent("push", project.name, after=sha)
    assert deployments_of(project.tidegate, project.name) == []


@pytest.mark.nightly
def test_without_a_signature_that_holds_nothing_is_taken(tidegate, push):
    body, secret = json.dumps(push.payload).encode(), tidegate.cloud.webhook_secret
    wrong = "sha256=" + hmac.new(b"another secret", body, hashlib.sha256).hexdigest()
    right = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    refusals = [
        tidegate.post(body, guid=push.guid, X_Hub_Signature_256=wrong),
        tidegate.post(body, guid=push.guid, X_Hub_Signature_256=None),
        tidegate.post(body, guid=push.guid, X_Hub_Signature_256=""),
        tidegate.post(body, guid=push.guid, X_Hub_Signature_256=None, X_Hub_Signature=sha1(body, secret)),
        tidegate.post(body, guid=push.guid, X_Hub_Signature_256=sha1(body, secret)),
        tidegate.post(body.replace(b"refs/heads", b"refs/tails"), guid=push.guid, X_Hub_Signature_256=right),
    ]
    assert [status for status, _ in refusals] == [401] * len(refusals)
    assert len({json.dumps(answer) for _, answer in refusals}) == 1
    assert not is_stored(tidegate, push.guid)


@pytest.mark.nightly
def test_what_is_no_event_is_refused_and_the_next_event_is_taken(tidegate, push):
    guid = uuid.uuid4().hex
    for body in (b"", b"{", b"[]", b"{}", b'{"ref": "\\ud800"}', b"[" * 100_000):
        status, answer = tidegate.post(body, guid=guid)
        assert status == 400, (body[:20], answer)
    # API Gateway hands a JSON body over as text, so what is no UTF-8 is not what was signed any more.
    for body in (b"\xff\xfe\x00{}", b'{"ref": "\xed\xa0\x80"}'):
        assert tidegate.post(body, guid=guid)[0] in {400, 401}
    assert tidegate.post(b" " * 10_000_000, guid=guid)[0] == 413
    assert tidegate.post(b" " * (10 * 1024 * 1024 + 1), guid=guid)[0] == 413
    assert not is_stored(tidegate, guid)
    assert tidegate.post(b'{"zen": "Keep it logically awesome."}', event="ping")[0] == 202


@pytest.mark.nightly
def test_every_delivery_of_the_forge_was_answered_with_success(project):
    sha = project.push({"app": thing()})
    project.click(project.reviewed(sha, "app"), "Reject")
    assert title(project.ended(sha, "app")) == "Rejected"
    tidegate = project.tidegate
    for event in ("push", "check_suite", "check_run"):
        sent = tidegate.sent(event, project.name)
        eventually(lambda sent=sent: tidegate.deliver(sent)[0] == 202)
