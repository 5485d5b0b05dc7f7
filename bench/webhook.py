"""What a webhook costs: its cold start against importing boto3, its warm CPU against bare HMAC and JSON parsing.

AWS is a process of its own that answers every call at once, over real sockets.
"""

from __future__ import annotations

import contextlib
import hmac
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.lines import Line, medians, noise, paired

TOP = Path(__file__).parents[1]
HANDLER = str(TOP / "functions/webhook/handler.py")
PACKAGE = str(TOP / "layers/core/python")
COLD_ROUNDS, WARM_ROUNDS, PER_ROUND = 11, 25, 40

AWS = """
import json, socket, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
SECRET = json.dumps({"SecretString": json.dumps({"secrets": ["current"]})}).encode()
def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while request := connection.recv(65536):
        body = SECRET if b"GetSecretValue" in request else b"{}"
        connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
BOTO3 = "import boto3; [boto3.client(name, region_name='eu-west-1') for name in ('dynamodb', 'sqs')]"


def payload() -> bytes:
    """Return a push of a merge with a few commits, of the size that GitHub's have (about 9 KB)."""
    repository = {"full_name": "acme/infra", "default_branch": "main"}
    repository |= {
        f"{name}_url": f"https://api.github.com/repos/acme/infra/{name}{{/id}}" for name in map(str, range(60))
    }
    person = {"name": "Developer", "email": "developer@example.org", "username": "developer"}
    commit: dict[str, object] = {
        "id": "b" * 40,
        "tree_id": "c" * 40,
        "message": "Move the queues into a module of their own\n\nSo that the next region takes a line.",
        "timestamp": "2026-03-02T09:00:00+01:00",
        "url": "https://github.com/acme/infra/commit/" + "b" * 40,
        "author": person,
        "committer": person,
        "added": [f"modules/queues/{number}.tf" for number in range(6)],
        "removed": [],
        "modified": ["live/prod/eu-central-1/app/main.tf", "live/prod/eu-central-1/app/variables.tf"],
    }
    push: dict[str, object] = {
        "ref": "refs/heads/main",
        "before": "a" * 40,
        "after": "b" * 40,
        "repository": repository,
    }
    push |= {
        "sender": {"login": "developer"},
        "installation": {"id": 42},
        "commits": [commit] * 6,
        "head_commit": commit,
    }
    return json.dumps(push, separators=(",", ":")).encode()


def event(body: bytes, number: int, kind: str = "push") -> dict[str, Any]:
    signature = "sha256=" + hmac.digest(b"current", body, "sha256").hex()
    headers = {"x-hub-signature-256": signature, "x-github-event": kind, "x-github-delivery": f"delivery-{number}"}
    return {"headers": headers, "body": body.decode(), "isBase64Encoded": False}


@contextlib.contextmanager
def cloud() -> Iterator[dict[str, str]]:
    """Run the stand-in for AWS; yield the function's environment."""
    with subprocess.Popen([sys.executable, "-c", AWS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{process.stdout.readline().strip()}",
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "TIDEGATE_TABLE": "table",
            "TIDEGATE_DISCOVERY_QUEUE": "https://sqs/push",
            "TIDEGATE_ACTION_QUEUE": "https://sqs/press",
            "TIDEGATE_WEBHOOK_SECRET_NAME": "secret",
        }
        process.terminate()


def started(environ: dict[str, str], *arguments: str) -> float:
    """Return the seconds from the start of a Python process to its end."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environ, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def cpu(once: Callable[[dict[str, Any]], object], events: list[dict[str, Any]]) -> float:
    """Return the CPU seconds of one event."""
    begin = time.process_time()
    for each in events:
        once(each)
    return (time.process_time() - begin) / len(events)


def bare(each: dict[str, Any]) -> None:
    body = each["body"].encode()
    hmac.compare_digest(
        "sha256=" + hmac.digest(b"current", body, "sha256").hex(), each["headers"]["x-hub-signature-256"]
    )
    json.loads(body)


def cold(environ: dict[str, str], body: bytes, rounds: int) -> Line:
    """Compare process start to answer with importing boto3 and making two clients."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "event.json")
        file.write_text(json.dumps(event(body, 0)), encoding="utf-8")
        call = f"runpy.run_path({HANDLER!r})['lambda_handler'](json.load(open({str(file)!r})), None)"
        code = f"import json, runpy; assert {call}['statusCode'] == 202"
        ours = {**environ, "PYTHONPATH": PACKAGE}
        pairs = paired(lambda: started(ours, "-c", code), lambda: started(environ, "-c", BOTO3), rounds)
    return Line("webhook_cold_start", *medians(pairs), target=1.0, more=noise(pairs))


def warm(environ: dict[str, str], body: bytes, rounds: int) -> Iterator[Line]:
    """Compare the CPU of a stored and of an ignored event with bare HMAC and JSON parsing of the same bytes."""
    os.environ.update(environ)
    sys.path.insert(0, PACKAGE)
    handler = runpy.run_path(HANDLER)["lambda_handler"]
    for name, kind in (("webhook_warm_cpu", "push"), ("webhook_warm_cpu_ignored", "pull_request")):
        events = [event(body, number, kind) for number in range(PER_ROUND)]
        with contextlib.redirect_stdout(io.StringIO()):
            assert handler(events[0], None)["statusCode"] == 202  # noqa: PLR2004  # Accepted.
            pairs = paired(
                lambda events=events: cpu(lambda each: handler(each, None), events),  # type: ignore[misc]
                lambda events=events: cpu(bare, events),  # type: ignore[misc]
                rounds,
            )
        yield Line(name, *medians(pairs), target=5.0, more=noise(pairs))


def run(*, quick: bool) -> Iterator[Line]:
    """Measure. ``quick`` runs less often."""
    with cloud() as environ:
        yield cold(environ, payload(), 3 if quick else COLD_ROUNDS)
        yield from warm(environ, payload(), 3 if quick else WARM_ROUNDS)
