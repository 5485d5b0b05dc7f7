"""The few AWS calls of the runner, answered over real HTTP, with what a test wants to see and to break."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from tidegate.deploys.adapters.job_items import job_key, to_specification
from tidegate.deploys.rules.issued import NOTHING, to_text
from tidegate.deploys.rules.job import Job

TABLE = "tidegate-table"
BUCKET = "tidegate-artifacts"
ENGINE_ROLE = "arn:aws:iam::123456789012:role/engine"
START_TOKEN = "start-token-0123456789"
JOB_TOKEN = "job-token-0123456789"
ENGINE_SECRET = "engine-secret-key-0123456789"

Json = dict[str, Any]


class Refusal(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class FakeAws:
    """State of the fake. ``answers`` are the task tokens' answers in the order in which they came."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Json] = {}
        self.objects: dict[str, bytes] = {}
        self.answers: list[tuple[str, str, Json]] = []
        self.heartbeats = 0
        self.calls: list[tuple[str, str]] = []
        self.assumed: list[str] = []
        self.session_seconds = 3600.0
        self.tokens: list[str] = []
        self.identity = NOTHING
        self.gone: set[str] = set()
        #: Kubeconfigs by the names of their secrets, and what EKS knows of clusters by their names.
        self.secrets: dict[str, str] = {}
        self.eks: dict[str, Json] = {}
        #: What becomes of a cluster of EKS once it was described: empty is gone.
        self.eks_becomes = {"CREATING": "ACTIVE", "DELETING": ""}
        self.refuse: Callable[[str, str], Refusal | None] = lambda _service, _operation: None
        self.lose_answer_of = ""
        self.dispatch_on_start: tuple[str, str] | None = None
        self.changed = threading.Condition()
        self.url = ""

    # What tests do

    def add_job(self, job: Job, clone_token: str) -> None:
        """Store the job; it is handed over as soon as the runner has answered its start token."""
        self.items[job_key(job.id), "record"] = {
            "pk": {"S": job_key(job.id)},
            "sk": {"S": "record"},
            "specification": {"S": to_specification(job)},
        }
        self.dispatch_on_start = (job.id, clone_token)

    def create_cluster(self, request: Json) -> tuple[int, bytes]:
        """Let EKS make a cluster, which is not ready yet. EKS takes what botocore takes, and each name once."""
        import botocore.session  # Few tests need it.
        from botocore.validate import validate_parameters

        eks = botocore.session.get_session().get_service_model("eks")
        validate_parameters(request, eks.operation_model("CreateCluster").input_shape)
        if request["name"] in self.eks:
            return 409, b'{"__type": "ResourceInUseException"}'
        arn = f"arn:aws:eks:eu-west-1:123456789012:cluster/{request['name']}"
        reached = {"endpoint": "https://127.0.0.1:1", "certificateAuthority": {"data": "QQ=="}}
        self.eks[request["name"]] = {**request, **reached, "arn": arn, "status": "CREATING"}
        return 200, json.dumps({"cluster": self.eks[request["name"]]}).encode()

    def described(self, name: str) -> Json | None:
        """Return what EKS knows of a cluster, which goes on meanwhile."""
        if name not in self.eks:
            return None
        described = dict(self.eks[name])
        self.eks[name]["status"] = self.eks_becomes.get(described["status"], described["status"])
        if not self.eks[name]["status"]:
            del self.eks[name]
        return described

    def record(self, job: str) -> Json:
        return self.items[job_key(job), "record"]

    def answer(self, token: str) -> tuple[str, Json] | None:
        return next(((operation, fields) for operation, given, fields in self.answers if given == token), None)

    def log_lines(self, job: str) -> list[str]:
        chunks = sorted(
            (sk, item) for (pk, sk), item in self.items.items() if pk == job_key(job) and sk.startswith("log#")
        )
        lines: list[str] = []
        for sk, item in chunks:
            assert int(sk.removeprefix("log#")) == len(lines), "chunks must follow each other"
            lines.extend(line["S"] for line in item["lines"]["L"])
        return lines

    def wait_for(self, condition: Callable[[], Any], seconds: float = 30) -> Any:
        """Wait until something that a call changed makes the condition true; return what it gives."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while not (found := condition()):
                left = deadline - time.monotonic()
                assert left > 0, "it did not happen in time"
                self.changed.wait(min(left, 0.05))
            return found

    # What the runner calls

    def handle(self, service: str, operation: str, body: bytes) -> bytes:
        with self.changed:
            self.calls.append((service, operation))
            refusal = self.refuse(service, operation)
            if refusal:
                raise refusal
            result: bytes = getattr(self, f"_{service}_{operation}")(body)
            self.changed.notify_all()
            if operation == self.lose_answer_of:
                self.lose_answer_of = ""
                raise Refusal(500, "InternalServerError")
            return result

    def _states_SendTaskSuccess(self, body: bytes) -> bytes:
        fields = json.loads(body)
        self._check_token(fields["taskToken"])
        self.answers.append(("success", fields["taskToken"], json.loads(fields["output"])))
        if fields["taskToken"] == START_TOKEN and self.dispatch_on_start:
            job, clone_token = self.dispatch_on_start
            identity = {"S": to_text(self.identity)}
            self.record(job).update(token={"S": JOB_TOKEN}, clone_token={"S": clone_token}, identity=identity)
        return b"{}"

    def _states_SendTaskFailure(self, body: bytes) -> bytes:
        fields = json.loads(body)
        self._check_token(fields["taskToken"])
        assert len(fields["cause"]) <= 32_768
        self.answers.append(("failure", fields["taskToken"], {"error": fields["error"], **json.loads(fields["cause"])}))
        return b"{}"

    def _states_SendTaskHeartbeat(self, body: bytes) -> bytes:
        self._check_token(json.loads(body)["taskToken"])
        self.heartbeats += 1
        return b"{}"

    def _check_token(self, token: str) -> None:
        if token in self.gone or self.answer(token):
            raise Refusal(400, "TaskTimedOut")

    def _dynamodb_GetItem(self, body: bytes) -> bytes:
        item = self.items.get(_key(json.loads(body)))
        return json.dumps({"Item": item} if item else {}).encode()

    def _dynamodb_PutItem(self, body: bytes) -> bytes:
        item = json.loads(body)["Item"]
        assert len(body) < 400_000, "DynamoDB takes items of 400 KB"
        self.items[item["pk"]["S"], item["sk"]["S"]] = item
        return b"{}"

    def _dynamodb_UpdateItem(self, body: bytes) -> bytes:
        fields = json.loads(body)
        item = self.items[_key(fields)]
        if ":limit" in fields["ExpressionAttributeValues"]:
            item["met_limit"] = fields["ExpressionAttributeValues"][":limit"]
            return b"{}"
        runner, token = (fields["ExpressionAttributeValues"][name] for name in (":runner", ":token"))
        free = item.get("taken_by") in (None, runner) and "closed" not in item
        if not free or item.get("token") != token:
            raise Refusal(400, "ConditionalCheckFailedException")
        item["taken_by"] = runner
        item.pop("clone_token", None)
        item.pop("identity", None)
        return b"{}"

    def _secretsmanager_GetSecretValue(self, body: bytes) -> bytes:
        name = json.loads(body)["SecretId"]
        if name not in self.secrets:
            raise Refusal(400, "ResourceNotFoundException")
        return json.dumps({"SecretString": self.secrets[name]}).encode()

    def _sts_AssumeRole(self, body: bytes) -> bytes:
        self.assumed.append(body.decode())
        return self._session()

    def _sts_AssumeRoleWithWebIdentity(self, body: bytes) -> bytes:
        self.tokens.append(body.decode())
        return self._session()

    def _session(self) -> bytes:
        number = "" if len(self.assumed) < 2 else str(len(self.assumed))
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.session_seconds))
        return (
            f"<AssumeRoleResponse><AccessKeyId>ASIAENGINE{number}</AccessKeyId>"
            f"<SecretAccessKey>{ENGINE_SECRET}{number}</SecretAccessKey>"
            f"<SessionToken>engine-session-token{number}</SessionToken><Expiration>{ends}</Expiration>"
            "</AssumeRoleResponse>"
        ).encode()


def _key(fields: Json) -> tuple[str, str]:
    return fields["Key"]["pk"]["S"], fields["Key"]["sk"]["S"]


@contextmanager
def running_fake_aws() -> Iterator[FakeAws]:  # noqa: C901  # A server in a function.
    fake = FakeAws()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/clusters":
                self._answer(*fake.create_cluster(json.loads(body)))
                return
            if self.path == "/state":  # Terraform's own backend of kind http, which takes no state.
                self._answer(500, b"")
                return
            target = self.headers.get("x-amz-target", "")
            # Of the calls of the runner, one alone is not signed.
            service = self.headers.get("authorization", "///sts").split("/")[3]
            action = parse_qs(body.decode()).get("Action", [""])[0] if service == "sts" else ""
            try:
                self._answer(200, fake.handle(service, target.rpartition(".")[2] or action, body))
            except Refusal as refusal:
                self._answer(refusal.status, json.dumps({"__type": refusal.code}).encode())

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert hashlib.sha256(body).hexdigest() == self.headers["x-amz-content-sha256"]
            self._object("PutObject", lambda key: fake.objects.__setitem__(key, body))

        def do_GET(self) -> None:
            if self.path.startswith("/clusters/"):
                described = fake.described(self.path.removeprefix("/clusters/"))
                self._answer(200 if described else 404, json.dumps({"cluster": described}).encode())
                return
            self._object("GetObject", fake.objects.get)

        def do_DELETE(self) -> None:
            if self.path.startswith("/clusters/"):
                fake.eks[self.path.removeprefix("/clusters/")]["status"] = "DELETING"
                self._answer(200, b"{}")
                return
            self._object("DeleteObject", lambda key: fake.objects.pop(key, None))

        def _object(self, operation: str, act: Callable[[str], bytes | None]) -> None:
            with fake.changed:
                fake.calls.append(("s3", operation))
                refusal = fake.refuse("s3", operation)
                content = None if refusal else act(self.path.removeprefix(f"/{BUCKET}/"))
                fake.changed.notify_all()
            if refusal:
                self._answer(refusal.status, f"<Error><Code>{refusal.code}</Code></Error>".encode())
            elif content is None and operation == "GetObject":
                self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            else:
                self._answer(200, content or b"")

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
