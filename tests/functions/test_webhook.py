"""The webhook function as API Gateway calls it, on an AWS of our own."""

from __future__ import annotations

import base64
import hmac
import importlib.util
import json
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests import gitlab_events

TOP = Path(__file__).parents[2]
HANDLER = TOP / "functions/webhook/handler.py"
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "eu-west-1"}
PUSH = {
    "ref": "refs/heads/main",
    "before": "a" * 40,
    "after": "b" * 40,
    "repository": {"full_name": "acme/infra", "default_branch": "main"},
    "sender": {"login": "octocat"},
    "installation": {"id": 42},
    "commits": [{"message": "a payload that is not stored"}],
}
PRESS = {
    "action": "requested_action",
    "requested_action": {"identifier": "Approve"},
    "check_run": {"id": 7, "external_id": "network-1", "name": "tidegate/deploy: network", "head_sha": "b" * 40},
    "repository": {"full_name": "acme/infra"},
    "sender": {"login": "octocat"},
    "installation": {"id": 42},
}


COMMENT = {
    "action": "created",
    "issue": {"number": 5, "pull_request": {}},
    "comment": {"id": 77, "body": "tidegate deploy"},
    "repository": {"full_name": "acme/infra"},
    "sender": {"login": "octocat", "type": "User"},
    "installation": {"id": 42},
}


@dataclass
class Cloud:
    """What the function uses of AWS, and the function in it."""

    handler: Any
    sqs: Any
    dynamodb: Any
    secrets: Any
    names: dict[str, str]

    def queued(self, event: str) -> list[dict[str, Any]]:
        url = self.names["TIDEGATE_DISCOVERY_QUEUE" if event == "push" else "TIDEGATE_ACTION_QUEUE"]
        messages = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        return [json.loads(message["Body"]) for message in messages]

    def stored(self) -> list[dict[str, Any]]:
        return self.dynamodb.scan(TableName=self.names["TIDEGATE_TABLE"])["Items"]

    def request(self, payload: Any = PUSH, *, event: str = "push", **options: Any) -> tuple[int, dict[str, str]]:
        answer = self.handler.lambda_handler(http_event(payload, event=event, **options), None)
        assert answer["headers"] == {"content-type": "application/json"}
        return answer["statusCode"], json.loads(answer["body"])


def http_event(
    payload: Any = PUSH,
    *,
    event: str = "push",
    key: str = "current",
    signature: str | None = None,
    delivery: str | None = None,
    encoded: bool = False,
    raw: bytes | None = None,
) -> dict[str, Any]:
    body = json.dumps(payload).encode() if raw is None else raw
    headers = {
        "x-hub-signature-256": f"sha256={hmac.new(key.encode(), body, 'sha256').hexdigest()}",
        "x-github-event": event,
        "x-github-delivery": delivery or str(uuid.uuid4()),
        "content-type": "application/json",
    }
    if signature is not None:
        headers["x-hub-signature-256"] = signature
    text = base64.b64encode(body).decode() if encoded else body.decode()
    return {"version": "2.0", "headers": headers, "body": text, "isBase64Encoded": encoded}


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def cloud(endpoint, monkeypatch):
    mark = uuid.uuid4().hex
    sqs, dynamodb, secrets = (
        boto3.client(service, endpoint_url=endpoint, **KEYS) for service in ("sqs", "dynamodb", "secretsmanager")
    )
    dynamodb.create_table(
        TableName=f"table-{mark}",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    secrets.create_secret(Name=f"secret-{mark}", SecretString=json.dumps({"secrets": ["current", "previous"]}))
    names = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "TIDEGATE_TABLE": f"table-{mark}",
        "TIDEGATE_DISCOVERY_QUEUE": sqs.create_queue(QueueName=f"push-{mark}")["QueueUrl"],
        "TIDEGATE_ACTION_QUEUE": sqs.create_queue(QueueName=f"click-{mark}")["QueueUrl"],
        "TIDEGATE_WEBHOOK_SECRET_NAME": f"secret-{mark}",
    }
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    module = loaded()
    yield Cloud(module, sqs, dynamodb, secrets, names)
    module.lambda_handler.__self__.aws.close()


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location(f"webhook_{uuid.uuid4().hex}", HANDLER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("encoded", [False, True])
def test_a_push_is_stored_queued_and_acknowledged(cloud, encoded):
    status, answer = cloud.request(encoded=encoded, delivery="72d3162e-cc78-11e3-81ab-4c9367dc0958")
    assert (status, answer["result"]) == (202, "stored")
    (message,) = cloud.queued("push")
    assert message["fields"]["after"] == "b" * 40
    (item,) = cloud.stored()
    assert item["pk"]["S"] == "delivery#72d3162e-cc78-11e3-81ab-4c9367dc0958"
    assert "open" not in item
    assert "not stored" not in json.dumps(item)


def test_a_press_goes_to_its_own_queue(cloud):
    assert cloud.request(PRESS, event="check_run")[0] == 202
    assert cloud.queued("push") == []
    assert cloud.queued("check_run")[0]["fields"]["identifier"] == "Approve"


def test_a_comment_goes_where_the_repositorys_files_are_read(cloud):
    assert cloud.request(COMMENT, event="issue_comment")[1]["result"] == "stored"
    assert cloud.queued("push")[0]["fields"]["text"] == "tidegate deploy"


def test_comments_begin_with_the_words_that_are_configured(cloud, monkeypatch):
    monkeypatch.setenv("TIDEGATE_COMMENT_PREFIXES", "atlantis gate")
    assert cloud.request(COMMENT, event="issue_comment")[1]["result"] == "ignored"
    other = {**COMMENT, "comment": {"id": 77, "body": "gate help"}}
    assert cloud.request(other, event="issue_comment")[1]["result"] == "stored"


def test_a_delivery_that_comes_twice_is_queued_once(cloud):
    same = str(uuid.uuid4())
    assert cloud.request(delivery=same)[1]["result"] == "stored"
    assert cloud.request(delivery=same) == (
        202,
        {"result": "duplicate", "reason": "This delivery was already received."},
    )
    assert len(cloud.queued("push")) == 1


def test_the_previous_secret_still_holds_while_it_is_listed(cloud):
    assert cloud.request(key="previous")[0] == 202


@pytest.mark.parametrize("signature", ["", "sha1=" + "0" * 40, "sha256=" + "0" * 64, "é"])
def test_a_wrong_signature_stores_nothing(cloud, signature):
    status, answer = cloud.request(signature=signature)
    assert (status, answer) == cloud.request(key="wrong")
    assert (status, answer["result"]) == (401, "refused")
    assert cloud.stored() == []


def test_a_request_without_headers_and_body_is_refused(cloud):
    for empty in ({}, {"headers": None, "body": None}, {"headers": {}, "body": "", "isBase64Encoded": True}):
        assert cloud.handler.lambda_handler(empty, None)["statusCode"] == 401


def test_an_altered_body_is_refused(cloud):
    event = http_event()
    event["body"] = event["body"].replace("acme/infra", "acme/other")
    assert cloud.handler.lambda_handler(event, None)["statusCode"] == 401


@pytest.mark.parametrize("body", ["\ud800", "€"])
def test_text_that_is_no_utf8_is_refused_and_not_a_fault(cloud, body):
    event = {**http_event(), "body": body}
    assert cloud.handler.lambda_handler(event, None)["statusCode"] == 401


def test_a_body_that_is_not_what_its_encoding_says_is_refused(cloud):
    assert cloud.handler.lambda_handler({**http_event(encoded=True), "body": "*"}, None)["statusCode"] == 400


@pytest.mark.parametrize(
    ("raw", "status"), [(b"{", 400), (b"\xff{}", 400), (b"[" * 200_000, 400), (b"x" * 10_000_000, 413)]
)
def test_what_is_no_json_or_too_much_is_refused(cloud, raw, status):
    assert cloud.request(raw=raw, encoded=True)[0] == status
    assert cloud.stored() == []


def test_a_missing_secret_closes_the_door(cloud):
    cloud.secrets.delete_secret(SecretId=cloud.names["TIDEGATE_WEBHOOK_SECRET_NAME"], ForceDeleteWithoutRecovery=True)
    status, answer = cloud.request(key="")
    assert (status, answer["result"]) == (503, "refused")
    assert cloud.stored() == []


def test_a_store_that_fails_is_a_failed_delivery_for_the_forge(cloud):
    cloud.dynamodb.delete_table(TableName=cloud.names["TIDEGATE_TABLE"])
    status, answer = cloud.request()
    assert (status, answer["result"]) == (500, "failed")
    assert cloud.queued("push") == []


def test_a_queue_that_fails_is_a_failed_delivery_which_stays_to_be_queued(cloud):
    cloud.sqs.delete_queue(QueueUrl=cloud.names["TIDEGATE_DISCOVERY_QUEUE"])
    assert cloud.request()[0] == 500
    assert cloud.stored()[0]["open"]["S"] == "delivery"


def test_each_request_is_one_line_of_log_without_payload_signature_or_secret(cloud, capsys):
    cloud.request(delivery="72d3162e-cc78-11e3-81ab-4c9367dc0958")
    cloud.request(event="x\ny" * 100, delivery="\n{}" * 100, signature="secret-looking")
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["delivery"], first["event"]) == ("72d3162e-cc78-11e3-81ab-4c9367dc0958", "push")
    assert (first["repository"], first["status"], first["result"]) == ("acme/infra", 202, "stored")
    assert (second["status"], len(second["event"]), len(second["delivery"])) == (401, 40, 64)
    assert "secret-looking" not in json.dumps([first, second])
    assert "not stored" not in json.dumps([first, second])


def test_the_function_imports_nothing_that_is_slow_to_import():
    code = f"import sys, runpy; runpy.run_path({str(HANDLER)!r}); print(*sys.modules)"
    environ = {"PYTHONPATH": str(TOP / "layers/core/python")}
    run = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, check=True, text=True)
    slow = {
        "boto3",
        "botocore",
        "pydantic",
        "aws_lambda_powertools",
        "yaml",
        "pathspec",
        "github",
        "urllib3",
        "requests",
    }
    assert not slow & {name.partition(".")[0] for name in run.stdout.split()}


@pytest.fixture
def of_gitlab(cloud, monkeypatch):
    """The function of an installation that serves GitLab."""
    monkeypatch.setenv("TIDEGATE_FORGE", "gitlab")

    def request(payload, event="Push Hook", **headers):
        given = {
            "x-gitlab-event": event,
            "x-gitlab-token": "current",
            "x-gitlab-event-uuid": str(uuid.uuid4()),
            **headers,
        }
        whole = {"version": "2.0", "headers": given, "body": json.dumps(payload), "isBase64Encoded": False}
        answer = cloud.handler.lambda_handler(whole, None)
        return answer["statusCode"], json.loads(answer["body"])["result"]

    return request


def test_gitlabs_webhooks_are_taken_where_gitlab_is_the_forge(cloud, of_gitlab):
    for event, payload, result in gitlab_events.EVERY:
        assert of_gitlab(payload, event) == (202, result), event
    assert of_gitlab(gitlab_events.push(), **{"x-gitlab-token": "other"}) == (401, "refused")
    assert of_gitlab({"object_kind": "push"}) == (400, "refused")
    pushed = [message for message in cloud.queued("push") if message["kind"] == "push"]
    assert {message["fields"]["repository"] for message in pushed} == {"acme/platform/infra"}


def test_what_gitlab_sends_again_is_known_by_its_key(of_gitlab):
    first = {"idempotency-key": "f5e5f430-f57b-4e6e-9fac-d9128cd7232f"}
    assert of_gitlab(gitlab_events.push(), **first) == (202, "stored")
    assert of_gitlab(gitlab_events.push(), **first) == (202, "duplicate")
    assert of_gitlab(gitlab_events.push(), **{"x-gitlab-event-uuid": ""}) == (400, "refused")


def test_githubs_webhooks_are_not_taken_where_gitlab_is_the_forge(cloud, of_gitlab):
    assert cloud.request()[0] == 401
    assert cloud.stored() == []
