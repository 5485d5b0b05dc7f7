"""The small AWS client: signatures as botocore makes them, and its behaviour over real HTTP."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials

from tests.http_server import Answer, Received, server
from tidegate.aws.client import Aws, AwsError
from tidegate.aws.credentials import NoCredentialsError, standard_source
from tidegate.aws.signing import Credentials, Request, signed_headers

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG", "AWS_REGION": "eu-west-1"}
TIMESTAMP = "20261121T081500Z"
CLIENTS: list[Aws] = []


@pytest.fixture(autouse=True)
def _connections_are_closed() -> Iterator[None]:
    yield
    while CLIENTS:
        CLIENTS.pop().close()


def client(url: str, attempts: int = 5, **environ: str) -> Aws:
    CLIENTS.append(Aws({**KEYS, "AWS_ENDPOINT_URL": url, **environ}, attempts=attempts, pause=lambda _: None))
    return CLIENTS[-1]


@pytest.mark.parametrize("token", [None, "a/session+token=="])
@pytest.mark.parametrize(
    ("service", "method", "path", "headers", "body"),
    [
        ("dynamodb", "POST", "/", {"x-amz-target": "DynamoDB_20120810.GetItem", "content-type": "a/b"}, b'{"a":1}'),
        (
            "sts",
            "POST",
            "/",
            {"content-type": "application/x-www-form-urlencoded; charset=utf-8"},
            b"Action=AssumeRole",
        ),
        ("states", "POST", "/", {"x-amz-target": "AWSStepFunctions.SendTaskHeartbeat"}, b"{}"),
        ("s3", "PUT", "/bucket/plans/a%20b%2B%C3%A9~.json", {"content-type": "text/plain"}, b"content"),
        ("s3", "GET", "/bucket/key", {}, b""),
    ],
)
def test_signatures_are_those_of_botocore(  # One parameter each.
    service: str, method: str, path: str, headers: dict[str, str], body: bytes, token: str | None
) -> None:
    theirs = AWSRequest(method, f"https://host.example{path}", headers=headers, data=body)
    theirs.context["timestamp"] = TIMESTAMP
    theirs.context["payload_signing_enabled"] = True
    auth = (S3SigV4Auth if service == "s3" else SigV4Auth)(
        BotoCredentials("key", "secret", token), service, "eu-west-1"
    )
    auth._modify_request_before_signing(theirs)
    if "x-amz-date" not in {name.lower() for name in theirs.headers}:
        theirs.headers["X-Amz-Date"] = TIMESTAMP
    canonical = auth.canonical_request(theirs)
    auth._inject_signature_to_request(theirs, auth.signature(auth.string_to_sign(theirs, canonical), theirs))

    import hashlib

    request = Request(method, path, "", {**headers, "host": "host.example"}, hashlib.sha256(body).hexdigest())
    ours = signed_headers(request, Credentials("key", "secret", token), "eu-west-1", service, TIMESTAMP)

    assert ours["authorization"] == theirs.headers["Authorization"]


def test_a_call_carries_target_payload_and_signature() -> None:
    with server(lambda _: (200, {}, b'{"Item":{}}')) as (url, received):
        assert client(url).call("dynamodb", "GetItem", {"TableName": "t"}) == {"Item": {}}
    assert received[0].headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
    assert json.loads(received[0].body) == {"TableName": "t"}
    assert "/eu-west-1/dynamodb/aws4_request" in received[0].headers["authorization"]


def test_one_connection_serves_consecutive_calls() -> None:
    with server(lambda _: (200, {}, b"{}")) as (url, received):
        aws = client(url)
        for _ in range(3):
            aws.call("sqs", "SendMessage", {})
    assert len({request.peer for request in received}) == 1


def test_a_connection_that_the_server_closed_meanwhile_is_replaced() -> None:
    answers = iter([(200, {}, b"{}"), (0, {}, b""), (200, {}, b'{"second":1}')])
    with server(lambda _: next(answers)) as (url, received):
        aws = client(url, attempts=1)
        aws.call("sqs", "SendMessage", {})
        assert aws.call("sqs", "SendMessage", {}) == {"second": 1}
    assert len(received) == 3


@pytest.mark.parametrize(
    "refusal",
    [
        (400, {}, b'{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}'),
        (400, {"x-amzn-errortype": "ThrottlingException:"}, b'{"message":"Rate exceeded"}'),
        (500, {}, b'{"__type":"InternalServerError"}'),
        (503, {}, b"<Error><Code>SlowDown</Code><Message>Slow</Message></Error>"),
        (429, {}, b""),
        (0, {}, b""),
    ],
)
def test_what_passes_by_itself_is_tried_again(refusal: Answer) -> None:
    answers = iter([refusal, refusal, (200, {}, b'{"ok":true}')])
    with server(lambda _: next(answers)) as (url, _):
        assert client(url).call("dynamodb", "PutItem", {}) == {"ok": True}


def test_patience_ends_after_a_fixed_number_of_attempts() -> None:
    with server(lambda _: (500, {}, b"")) as (url, received):
        aws = client(url, attempts=3)
        with pytest.raises(AwsError, match="Status500") as refused:
            aws.call("dynamodb", "PutItem", {})
    assert len(received) == 3
    assert refused.value.passing


def test_a_refusal_for_good_is_not_repeated_and_names_its_code() -> None:
    body = b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no"}'
    with server(lambda _: (400, {}, body)) as (url, received), pytest.raises(AwsError) as refused:
        client(url).call("dynamodb", "PutItem", {})
    assert (refused.value.code, refused.value.message, refused.value.status) == (
        "ConditionalCheckFailedException",
        "no",
        400,
    )
    assert len(received) == 1


def test_nobody_listening_is_an_error_of_its_own() -> None:
    with pytest.raises(AwsError) as refused:
        client("http://127.0.0.1:9").call("dynamodb", "PutItem", {})
    assert refused.value.code == "ConnectionFailed"


def test_objects_travel_both_ways_as_streams_with_their_digest() -> None:
    stored: dict[str, bytes] = {}

    def s3(request: Received) -> Answer:
        if request.method == "PUT":
            stored[request.path] = request.body
        return 200, {}, stored[request.path]

    content = bytes(range(256)) * 20_000
    with server(s3) as (url, received):
        put = client(url).put_object("bucket", "plans/ä b+c.tfplan", io.BytesIO(content))
        into = io.BytesIO(b"left over from an attempt before")
        got = client(url).get_object("bucket", "plans/ä b+c.tfplan", into)
    assert into.getvalue() == content
    assert put == got == received[0].headers["x-amz-content-sha256"]
    assert received[0].path == "/bucket/plans/%C3%A4%20b%2Bc.tfplan"


def test_an_object_is_deleted_without_a_body_in_the_answer() -> None:
    with server(lambda _: (204, {}, b"")) as (url, received):
        client(url).delete_object("bucket", "clusters/a")
    assert [(request.method, request.path) for request in received] == [("DELETE", "/bucket/clusters/a")]


def test_an_upload_starts_anew_when_it_is_repeated() -> None:
    answers = iter([(503, {}, b""), (200, {}, b"")])
    with server(lambda _: next(answers)) as (url, received):
        client(url).put_object("bucket", "key", io.BytesIO(b"all of it"))
    assert [request.body for request in received] == [b"all of it", b"all of it"]


def test_a_missing_object_is_reported_by_its_code() -> None:
    body = b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>It's &lt;gone&gt;</Message></Error>"
    with server(lambda _: (404, {}, body)) as (url, _), pytest.raises(AwsError) as refused:
        client(url).get_object("bucket", "key", io.BytesIO())
    assert (refused.value.code, refused.value.message) == ("NoSuchKey", "It's <gone>")


def test_a_role_is_assumed() -> None:
    body = (
        b"<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId>"
        b"<SecretAccessKey>s/+=</SecretAccessKey><SessionToken>t==</SessionToken></Credentials>"
        b"</AssumeRoleResult></AssumeRoleResponse>"
    )
    with server(lambda _: (200, {}, body)) as (url, received):
        credentials = client(url).assume_role("arn:aws:iam::123456789012:role/engine", "job-1")
    assert credentials == Credentials("ASIA", "s/+=", "t==")
    assert b"RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fengine" in received[0].body


def test_a_session_has_its_tags_and_its_source_identity() -> None:
    with server(lambda _: (200, {}, b"<AccessKeyId>A</AccessKeyId>")) as (url, received):
        client(url).assume_role("arn", "job-1", tags={"a:b": "acme/infra", "c": "x y"}, source_identity="app-1")
    form = parse_qs(received[0].body.decode())
    tags = {form[f"Tags.member.{at}.Key"][0]: form[f"Tags.member.{at}.Value"][0] for at in (1, 2)}
    assert tags == {"a:b": "acme/infra", "c": "x y"}
    assert form["SourceIdentity"] == ["app-1"]


def test_an_endpoint_of_a_service_goes_before_the_general_one() -> None:
    with server(lambda _: (200, {}, b"{}")) as (url, received):
        aws = client("http://127.0.0.1:9", AWS_ENDPOINT_URL_SFN=url)
        aws.call("states", "SendTaskHeartbeat", {"taskToken": "t"})
    assert len(received) == 1


@pytest.mark.parametrize(
    ("service", "region", "url"),
    [
        ("dynamodb", "eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com"),
        ("states", "cn-north-1", "https://states.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_without_configuration_the_endpoint_is_aws(service: str, region: str, url: str) -> None:
    assert Aws({**KEYS, "AWS_REGION": region})._endpoint(service) == url


@pytest.mark.parametrize(
    ("bucket", "url"),
    [
        ("artifacts", "https://artifacts.s3.eu-west-1.amazonaws.com/plans/a"),
        ("dotted.name", "https://s3.eu-west-1.amazonaws.com/dotted.name/plans/a"),
    ],
)
def test_objects_on_aws_are_addressed_by_host_unless_the_bucket_has_a_dot(bucket: str, url: str) -> None:
    assert Aws(KEYS)._object_url(bucket, "plans/a") == url


def _container_answer(key: str, expires: str) -> bytes:
    return json.dumps({"AccessKeyId": key, "SecretAccessKey": "s", "Token": "t", "Expiration": expires}).encode()


def test_credentials_of_a_task_are_fetched_once_and_renewed_before_they_end() -> None:
    answers = iter(
        [
            (200, {}, _container_answer("first", "1970-01-01T01:00:00Z")),
            (200, {}, _container_answer("second", "2100-01-01T00:00:00Z")),
        ]
    )
    with server(lambda _: next(answers)) as (url, received):
        source = standard_source(
            {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{url}/role", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret"}
        )
        source._now = lambda: 3000.0
        assert [source.get().access_key, source.get().access_key] == ["first", "first"]
        source._now = lambda: 3400.0
        assert [source.get().access_key, source.get().access_key] == ["second", "second"]
    assert received[0].headers["authorization"] == "secret"


def test_expired_credentials_are_fetched_anew() -> None:
    keys = iter(["first", "second"])

    def aws_and_container(request: Received) -> Answer:
        if request.path == "/role":
            return 200, {}, _container_answer(next(keys), "2100-01-01T00:00:00Z")
        if "Credential=first/" in request.headers["authorization"]:
            return 400, {}, b'{"__type":"ExpiredTokenException"}'
        return 200, {}, b'{"ok":1}'

    with server(aws_and_container) as (url, _):
        environ = {"AWS_ACCESS_KEY_ID": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{url}/role"}
        aws = client(url, **environ)
        assert aws.call("states", "SendTaskHeartbeat", {}) == {"ok": 1}


@pytest.mark.parametrize("answer", [(500, {}, b""), (200, {}, b"no json")])
def test_a_credentials_endpoint_that_fails_is_named(answer: Answer) -> None:
    with server(lambda _: answer) as (url, _):
        source = standard_source({"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{url}/role"})
        with pytest.raises(NoCredentialsError, match="credentials endpoint"):
            source.get()


def test_a_call_without_credentials_is_tried_again_and_refused_as_calls_are() -> None:
    answers = iter([(500, {}, b"")] * 3)

    def aws_and_container(request: Received) -> Answer:
        if request.path != "/role":
            return 200, {}, b'{"ok":1}'
        return next(answers, (200, {}, _container_answer("key", "2100-01-01T00:00:00Z")))

    with server(aws_and_container) as (url, _):
        environ = {"AWS_ACCESS_KEY_ID": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{url}/role"}
        assert client(url, **environ).call("states", "SendTaskSuccess", {}) == {"ok": 1}
    with pytest.raises(AwsError) as refused:
        client(url, AWS_ACCESS_KEY_ID="").call("states", "SendTaskSuccess", {})
    assert refused.value.code == "NoCredentials"


def test_no_credentials_at_all_is_refused() -> None:
    with pytest.raises(NoCredentialsError, match="AWS_ACCESS_KEY_ID"):
        standard_source({}).get()


def test_secret_keys_do_not_show_in_a_printed_record() -> None:
    assert "very-secret" not in repr(Credentials("key", "very-secret", "very-secret"))


def test_concurrent_calls_do_not_mix() -> None:
    with server(lambda request: (200, {}, request.body)) as (url, _):
        aws = client(url)
        results: list[bool] = []

        def work(number: int) -> None:
            results.extend(aws.call("sqs", "Echo", {"n": [number, i]}) == {"n": [number, i]} for i in range(20))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [True] * 160
