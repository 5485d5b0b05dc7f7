"""What the reconciler repairs: each test breaks the thing first, and lets it be repaired twice."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.project import title, words
from tidegate.roots.rules.root import queue_id, worker_name


@pytest.fixture
def reconciled(project):
    """Let the reconciler run, and return the number of things that each repair repaired."""

    def run():
        before = _runs(project.tidegate)
        project.tidegate.reconcile()
        return eventually(lambda: _runs(project.tidegate)[len(before) :], what="the reconciler's run")[0]

    return run


def _runs(tidegate):
    """Return what each run of the reconciler said that it did."""
    group = next(name for key, name in tidegate.cloud.info["log_groups"].items() if "Reconcile" in key)
    pages = tidegate.cloud.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
    lines = [event["message"] for page in pages for event in page["events"] if event["message"].startswith("{")]
    documents = [json.loads(line) for line in lines]
    return [document["result"] for document in documents if document.get("message") == "done"]


def _table(tidegate):
    return tidegate.cloud.client("dynamodb")


def _rewrite(tidegate, pk, sk, **values):
    """Replace attributes of an item; the values are DynamoDB's."""
    _table(tidegate).update_item(
        TableName=tidegate.cloud.table,
        Key={"pk": {"S": pk}, "sk": {"S": sk}},
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
        ConditionExpression="attribute_exists(pk)",
        ExpressionAttributeNames={f"#{name}": name for name in values},
        ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
    )


def _minutes_ago(minutes=3):
    return {"S": (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(timespec="microseconds")}


def _deployed_once(project, sha, root="app"):
    end = project.ended(sha, root)
    assert title(end).startswith("Applied"), words(end)
    assert len(project.tidegate.executions("terraform", end["external_id"])) == 1
    assert project.tidegate.audited(end["external_id"]) == ["RUNNING", "SUCCESS"]


def test_a_webhook_that_the_forge_could_not_deliver_is_asked_for_once_more(project, reconciled):
    tidegate = project.tidegate
    reconciled()  # Other tests have lost webhooks, too.
    tidegate.maintainer.lose_webhooks("push")
    sha = project.push({"app": thing()})
    eventually(lambda: tidegate.sent("push", project.name, after=sha))
    assert project.check_runs(sha, "tidegate/deploy: app") == []
    assert reconciled()["redeliver_webhooks"] == 1
    assert reconciled()["redeliver_webhooks"] == 0
    project.approved(sha, "app")
    _deployed_once(project, sha)


@pytest.mark.nightly
def test_a_push_that_no_webhook_ever_tells_of_is_found_at_the_head_of_the_default_branch(project, reconciled):
    tidegate = project.tidegate
    first = project.push({"app": thing()})
    project.deployed(first, "app")
    # GitHub forgets deliveries after three days; here, the receiving end never learns of this one.
    tidegate.cloud.add_fault(service="dynamodb", action="PutItem", role="*Webhook*", error="ValidationException")
    sha = project.push({"app": thing("two")})
    guid = tidegate.sent("push", project.name, after=sha).guid
    _rewrite_nothing_is_redelivered(tidegate, guid)
    # One run asks about some repositories only, and the other tests have left many.
    assert eventually(lambda: reconciled()["catch_up_heads"], what="the head that nobody told of") == 1
    assert reconciled()["catch_up_heads"] == 0
    for item in _open(tidegate, "delivery"):
        _rewrite(tidegate, item["pk"]["S"], item["sk"]["S"], open_since=_minutes_ago())
    assert reconciled()["resend_deliveries"] == 1
    project.approved(sha, "app")
    _deployed_once(project, sha)
    assert reconciled()["resend_deliveries"] == 0


def _rewrite_nothing_is_redelivered(tidegate, guid):
    """Let it look as if the forge had been asked for this delivery often enough."""
    _table(tidegate).put_item(
        TableName=tidegate.cloud.table,
        Item={
            "pk": {"S": f"delivery#{guid}"},
            "sk": {"S": "asked"},
            "times": {"N": "99"},
            "at": _minutes_ago(),
        },
    )


def _head(project):
    key = {"pk": {"S": f"queue#{project.name}||app"}, "sk": {"S": "#head"}}
    return _table(project.tidegate).get_item(TableName=project.tidegate.cloud.table, Key=key)["Item"]


def _open(tidegate, kind):
    return _table(tidegate).query(
        TableName=tidegate.cloud.table,
        IndexName="open",
        KeyConditionExpression="#open = :open",
        ExpressionAttributeNames={"#open": "open"},
        ExpressionAttributeValues={":open": {"S": kind}},
    )["Items"]


@contextmanager
def lost(tidegate, word):
    """Let all messages be lost that are sent to a queue meanwhile: held back, and removed before anybody got them."""
    sqs, url = tidegate.cloud.client("sqs"), _queue(tidegate, word)
    eventually(lambda: _is_empty(tidegate, word), what=f"all to be done that {word} told of before")
    before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["DelaySeconds"])["Attributes"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "900"})
    try:
        yield
        # Whoever answers a click announces it last.
        eventually(lambda: _is_empty(tidegate, "Action"), what="the click to be answered")
        sqs.purge_queue(QueueUrl=url)
    finally:
        sqs.set_queue_attributes(QueueUrl=url, Attributes=before)


def _queue(tidegate, word):
    """Return the URL of a queue by the word that its name ends with, but for what AWS appends."""
    [found] = [
        url for name, url in tidegate.cloud.queues.items() if re.fullmatch(f"Messaging{word}[0-9A-F]{{8}}", name)
    ]
    return found


def _is_empty(tidegate, word):
    names = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
    sqs = tidegate.cloud.client("sqs")
    found = sqs.get_queue_attributes(QueueUrl=_queue(tidegate, word), AttributeNames=names)["Attributes"]
    return all(found[name] == "0" for name in names)


@pytest.mark.nightly
def test_a_check_run_whose_message_is_lost_is_shown_all_the_same(project, reconciled):
    tidegate = project.tidegate
    sha = project.push({"app": thing()})
    asked = project.reviewed(sha, "app")
    deployment = asked["external_id"]
    with lost(tidegate, "CheckRun"):
        project.click(asked, "Reject")
        eventually(lambda: "token" in _head(project), what="the queue's worker to wait, after the deployment's end")
    _rewrite(tidegate, f"deployment#{deployment}", "record", changed_at=_minutes_ago())
    assert title(project.newest(sha, "app")).startswith("Review the plan")
    assert reconciled()["show_check_runs"] >= 1
    project.wait(sha, "app", "Rejected")
    reconciled()
    assert title(project.newest(sha, "app")).startswith("Rejected")


@pytest.mark.nightly
def test_a_line_whose_message_is_lost_shows_its_places_all_the_same(project, reconciled):
    tidegate = project.tidegate
    asked = project.reviewed(project.push({"app": thing()}), "app")
    second, third = project.push({"app": thing("two")}), project.push({"app": thing("three")})
    project.wait(third, "app", "Queued: place 2")
    with lost(tidegate, "Positions"):
        project.click(asked, "Reject")
        running = project.reviewed(second, "app")
        eventually(lambda: _waits(tidegate, running["external_id"]), what="the second's review, which is announced")
    assert title(project.newest(third, "app")).startswith("Queued: place 2")
    assert reconciled()["refresh_all_positions"] >= 1  # Other tests have left lines, too.
    project.wait(third, "app", "Queued: next")
    project.click(running, "Reject")
    project.click(project.reviewed(third, "app"), "Reject")
    project.wait(third, "app", "Rejected")


def _waits(tidegate, deployment):
    """Tell whether an execution waits for an answer, and what was called to wait has returned."""
    [execution] = tidegate.executions("terraform", deployment)
    pages = tidegate.cloud.client("stepfunctions").get_paginator("get_execution_history")
    events = [each for page in pages.paginate(executionArn=execution["executionArn"]) for each in page["events"]]
    return events[-1]["type"] == "TaskSubmitted"


@pytest.mark.nightly
def test_a_worker_that_ended_while_nobody_heard_of_it_leaves_its_queue_to_another(project, reconciled):
    tidegate = project.tidegate
    closed = {"role": "*Workers*", "event": "*Execution Status Change*"}
    unheard = tidegate.cloud.add_fault(
        service="dynamodb", action="*", **closed, error="ValidationException", times=None
    )
    sha = project.push({"app": thing()})
    asked = project.reviewed(sha, "app")
    [worker] = tidegate.executions("deploy", worker_name(queue_id(project.name, "app"), 1))
    tidegate.cloud.client("stepfunctions").stop_execution(executionArn=worker["executionArn"])
    eventually(lambda: tidegate.cloud.read("faults")[unheard], what="the event of the execution's end")
    tidegate.cloud.remove_fault(unheard)
    reconciled()
    ended = project.wait(sha, "app", "Internal error")
    assert "nothing was applied" in words(ended).lower()
    reconciled()
    assert tidegate.audited(asked["external_id"]) == []
    after = project.push({"app": thing("later")})
    project.approved(after, "app")
    _deployed_once(project, after)


@pytest.mark.nightly
def test_a_deployment_that_fell_out_of_its_line_is_put_back_and_deployed(project, reconciled):
    first = project.push({"app": thing()})
    asked = project.reviewed(first, "app")
    second = project.push({"app": thing("two")})
    waiting = eventually(lambda: project.newest(second, "app"), what="the second in line")["external_id"]
    _fall_out_of_line(project, waiting)
    project.click(asked, "Approve")
    _deployed_once(project, first)
    assert reconciled()["close_orphans"] == 1
    project.approved(second, "app")
    _deployed_once(project, second)
    assert reconciled()["close_orphans"] == 0


def _fall_out_of_line(project, deployment):
    """Take a deployment out of its line as no program does."""
    tidegate, pk = project.tidegate, {"S": f"queue#{project.name}||app"}
    [item] = _table(tidegate).query(
        TableName=tidegate.cloud.table,
        KeyConditionExpression="pk = :pk AND begins_with(sk, :waiting)",
        ExpressionAttributeValues={":pk": pk, ":waiting": {"S": "waiting#"}},
    )["Items"]
    assert item["deployment"]["S"] == deployment
    _table(tidegate).transact_write_items(
        TransactItems=[
            {"Delete": {"TableName": tidegate.cloud.table, "Key": {"pk": pk, "sk": item["sk"]}}},
            {
                "Update": {
                    "TableName": tidegate.cloud.table,
                    "Key": {"pk": pk, "sk": {"S": "#head"}},
                    "UpdateExpression": "SET #length = :zero ADD #version :one",
                    "ExpressionAttributeNames": {"#length": "length", "#version": "version"},
                    "ExpressionAttributeValues": {":zero": {"N": "0"}, ":one": {"N": "1"}},
                }
            },
        ]
    )
