"""Calls to receivers of notifications: real HTTP to a server on this machine, SNS and SQS as moto plays them."""

from __future__ import annotations

import base64
import json
import socket
import threading
from contextlib import suppress
from dataclasses import replace

import pytest
from moto import mock_aws

from tests.http_server import server
from tests.unit.notifications.told import DESTINATIONS
from tidegate.aws.boto import client
from tidegate.notifications.adapters.queue import SqsNotificationQueue
from tidegate.notifications.adapters.receivers import HttpReceivers, post
from tidegate.notifications.adapters.secrets import StoredSecrets
from tidegate.notifications.adapters.slack import HttpSlackApps
from tidegate.notifications.rules.destination import Destination, DestinationKind
from tidegate.notifications.rules.outgoing import NotDelivered, Outgoing
from tidegate.rules.errors import CloudUnavailable

SECRET = "whsec_" + base64.b64encode(b"x" * 32).decode()
SECRETS = {"hooks": {"signing_secret": SECRET}, "slack": {"bot_token": "xoxb-1"}, "bad": {"signing_secret": "x"}}
MESSAGE = Outgoing("message-1", b'{"a": 1}', "application/json", "Title ä")
UNREACHABLE = "http://127.0.0.1:9"


def receivers(secrets=None, **how):
    found = {**SECRETS, **(secrets or {})}
    return HttpReceivers(lambda name: found.get(name, {}), lambda: None, str, now=lambda: 1000.0, **how)


def hook(url, secret="hooks"):
    return Destination("hooks", DestinationKind.WEBHOOK, url, secret)


def test_a_webhook_is_posted_with_its_signature_and_each_attempt_has_the_same_id():
    with server(lambda _: (204, {}, b"")) as (url, received):
        receivers(is_local=True).send(hook(f"{url}/hooks?x=1"), MESSAGE)
    [request] = received
    assert (request.method, request.path, request.body) == ("POST", "/hooks?x=1", MESSAGE.body)
    assert request.headers["webhook-id"] == "message-1"
    assert request.headers["webhook-timestamp"] == "1000"
    assert request.headers["webhook-signature"].startswith("v1,")
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("answer", "problem", "seconds"),
    [
        ((500, {}, b""), "HTTP status 500", None),
        ((429, {"retry-after": "30"}, b""), "HTTP status 429", 30),
        ((503, {"retry-after": "tomorrow"}, b""), "HTTP status 503", None),
        ((0, {}, b""), "no answer", None),
    ],
)
def test_another_answer_than_success_is_a_failure_with_the_wait_that_it_asks_for(answer, problem, seconds):
    with server(lambda _: answer) as (url, _), pytest.raises(NotDelivered) as refused:
        receivers(is_local=True).send(hook(url), MESSAGE)
    assert problem in refused.value.problem
    assert refused.value.retry_after == seconds


def test_redirects_are_not_followed():
    with server(lambda _: (302, {"location": "/elsewhere"}, b"")) as (url, received):
        with pytest.raises(NotDelivered, match="302"):
            receivers(is_local=True).send(hook(url), MESSAGE)
        assert [each.path for each in received] == ["/"]


@pytest.mark.parametrize(
    "destination",
    [hook(UNREACHABLE), hook("https://127.0.0.1:9/"), hook(UNREACHABLE, "bad"), hook(UNREACHABLE, "unknown")],
)
def test_what_cannot_be_called_is_a_failure(destination):
    with pytest.raises(NotDelivered):
        receivers(is_local=True).send(destination, MESSAGE)


def test_on_aws_nothing_on_the_machine_itself_is_called_and_a_secret_url_is_not_told():
    with server(lambda _: (200, {}, b"")) as (url, received):
        teams = Destination("office", DestinationKind.TEAMS, secret="teams")
        for destination in (hook(url), teams):
            with pytest.raises(NotDelivered) as refused:
                receivers({"teams": {"url": f"{url}/sig=secret"}}).send(destination, MESSAGE)
            assert "secret" not in str(refused.value)
        assert received == []


def test_an_answer_that_comes_byte_by_byte_is_not_awaited():
    ended = threading.Event()

    def drips(listener):
        with suppress(OSError), listener.accept()[0] as connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
            for _ in range(60):
                connection.sendall(b"x")
                if ended.wait(0.05):
                    break
            connection.sendall(b"\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drips, args=(listener,))
        thread.start()
        with pytest.raises(NotDelivered, match="no answer"):
            post("hooks", f"http://127.0.0.1:{listener.getsockname()[1]}", b"", {}, 0.3)
        ended.set()
        thread.join()


def test_a_receiver_that_takes_too_long_is_not_called_for_a_minute_and_holds_up_nobody_else():
    at, never = [1000.0], threading.Event()

    def answers(request):
        if request.path == "/slow":
            never.wait(0.3)
        return 204, {}, b""

    with server(answers) as (url, received):
        ours = HttpReceivers(SECRETS.get, lambda: None, str, now=lambda: at[0], is_local=True, seconds=0.1)
        slow, other = hook(f"{url}/slow"), replace(hook(f"{url}/other"), name="other")
        with pytest.raises(NotDelivered, match="TimeoutError"):
            ours.send(slow, MESSAGE)
        with pytest.raises(NotDelivered, match="a moment ago"):
            ours.send(slow, MESSAGE)
        ours.send(other, MESSAGE)
        at[0] += 60
        with pytest.raises(NotDelivered, match="TimeoutError"):
            ours.send(slow, MESSAGE)
    assert [each.path for each in received] == ["/slow", "/other", "/slow"]


def test_slack_is_asked_with_its_token_and_says_in_its_answer_whether_it_took_the_message():
    slack = DESTINATIONS["deploys"]
    answers = [b'{"ok": true}', b'{"ok": false, "error": "channel_not_found"}', b"<html>", b"[]", b"[" * 50_000]
    with server(lambda _: (200, {}, answers.pop(0))) as (url, received):
        one = Destination("deploys", slack.kind, f"{url}/api", "slack", slack.channel)
        receivers(is_local=True).send(one, MESSAGE)
        for problem in ("channel_not_found", "no JSON", "no JSON", "no JSON"):
            with pytest.raises(NotDelivered, match=problem):
                receivers(is_local=True).send(one, MESSAGE)
    assert received[0].path == "/api/chat.postMessage"
    assert received[0].headers["authorization"] == "Bearer xoxb-1"


def test_teams_gets_the_message_at_the_url_of_its_secret():
    with server(lambda _: (202, {}, b"")) as (url, received):
        found = receivers({"teams": {"url": f"{url}/workflow?sig=1"}}, is_local=True)
        found.send(Destination("office", DestinationKind.TEAMS, secret="teams"), MESSAGE)
    assert received[0].path == "/workflow?sig=1"


@pytest.fixture
def aws(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield


def test_email_goes_to_the_topic_of_its_destination(aws):
    sns, sqs = client("sns"), client("sqs")
    topic = sns.create_topic(Name="tidegate-notify-owners")["TopicArn"]
    queue = sqs.create_queue(QueueName="mails")["QueueUrl"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:eu-central-1:123456789012:mails")
    prefix = topic.removesuffix("owners")
    made = HttpReceivers(lambda _: {}, lambda: sns, lambda name: prefix + name)
    made.send(DESTINATIONS["owners"], Outgoing("1", "Grüße".encode(), "text/plain", "Title ä"))
    [mail] = sqs.receive_message(QueueUrl=queue)["Messages"]
    assert json.loads(mail["Body"])["Message"] == "Grüße"
    assert json.loads(mail["Body"])["Subject"] == "Title ?"
    gone = Destination("gone", DestinationKind.EMAIL, email="a@example.com")
    with pytest.raises(NotDelivered, match="SNS"):
        made.send(gone, MESSAGE)


def test_secrets_are_read_by_name_and_malformed_ones_have_no_fields(aws):
    manager = client("secretsmanager")
    for name, text in (("good", '{"url": "x"}'), ("list", "[]"), ("text", "x")):
        manager.create_secret(Name=name, SecretString=text)
    secrets = StoredSecrets(manager)
    assert [secrets.fields(name) for name in ("good", "good", "list", "text")] == [{"url": "x"}] * 2 + [{}] * 2
    with pytest.raises(CloudUnavailable, match="unknown") as refused:
        secrets.fields("unknown")
    assert "VCS provider" not in str(refused.value)


def test_an_attempt_is_queued_with_its_delay(aws):
    sqs = client("sqs")
    url = sqs.create_queue(QueueName="notifications")["QueueUrl"]
    SqsNotificationQueue(sqs, url).deliver("acme/infra", "delivery", 2)
    [message] = sqs.receive_message(QueueUrl=url)["Messages"]
    assert json.loads(message["Body"]) == {
        "kind": "deliver",
        "repository": "acme/infra",
        "delivery": "delivery",
        "attempt": 2,
    }
    with pytest.raises(CloudUnavailable):
        SqsNotificationQueue(sqs, f"{url}-gone").deliver("acme/infra", "delivery", 2)


def test_messages_can_be_answered_if_the_signing_secret_is_stored():
    slack = Destination("deploys", DestinationKind.SLACK, "https://slack.com/api", "slack", "C0")
    assert not receivers().takes_answers(slack)
    assert receivers({"slack": {"bot_token": "x", "signing_secret": "y"}}).takes_answers(slack)

    def fails(_name):
        raise CloudUnavailable("Secrets Manager", "throttled")

    with pytest.raises(NotDelivered, match="throttled"):
        HttpReceivers(fails, lambda: None, str).takes_answers(slack)


def test_replies_go_to_slack_alone_and_in_the_local_cloud_to_this_machine():
    with server(lambda _: (200, {}, b"ok")) as (url, received):
        HttpSlackApps(["slack"], lambda _: {}, is_local=True).reply(f"{url}/actions/1", b"{}")
        assert (received[0].path, received[0].body) == ("/actions/1", b"{}")
        for other in (url, "https://hooks.slack.com.evil.example/", "https://hooks.slack.com@evil.example/", ""):
            with pytest.raises(NotDelivered, match=r"hooks\.slack\.com"):
                HttpSlackApps(["slack"], lambda _: {}).reply(other, b"{}")
    assert len(received) == 1


def test_apps_have_the_signing_secrets_of_their_secrets():
    found = {"a": {"signing_secret": "x"}, "b": {"bot_token": "y"}}
    apps = HttpSlackApps(list(found), found.__getitem__)
    assert {name: apps.signing_secret(name) for name in apps.names()} == {"a": "x", "b": ""}
