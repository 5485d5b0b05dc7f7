"""What a webhook costs: its cold start against importing boto3, its warm CPU against bare HMAC and JSON parsing.

Prints one line of JSON for each: name, ratio, the two medians in milliseconds, and the ratio that is allowed.
AWS is a process of its own that answers every call at once, over real sockets.
"""

from __future__ import annotations

import contextlib
import hmac
import io
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
HANDLER = str(TOP / "functions/webhook/handler.py")
PACKAGE = str(TOP / "layers/core/python")
COLD_ROUNDS, WARM_ROUNDS, PER_ROUND = 9, 15, 40

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
    person = {"name": "Grace", "email": "grace@example.org", "username": "grace"}
    commit = {
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
    push = {"ref": "refs/heads/main", "before": "a" * 40, "after": "b" * 40, "repository": repository}
    push |= {"sender": {"login": "grace"}, "installation": {"id": 42}, "commits": [commit] * 6, "head_commit": commit}
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
            "TIDEGATE_PUSH_QUEUE": "https://sqs/push",
            "TIDEGATE_PRESS_QUEUE": "https://sqs/press",
            "TIDEGATE_WEBHOOK_SECRET_NAME": "secret",
        }
        process.terminate()


def median(once: Callable[[], float], rounds: int) -> float:
    return statistics.median(once() for _ in range(rounds))


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


def report(name: str, measured: float, baseline: float, allowed: float) -> None:
    line = {"name": name, "ratio": round(measured / baseline, 3), "ms": round(measured * 1000, 3)}
    print(json.dumps({**line, "baseline_ms": round(baseline * 1000, 3), "allowed": allowed}))


def cold(environ: dict[str, str], body: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "event.json")
        file.write_text(json.dumps(event(body, 0)), encoding="utf-8")
        code = (
            f"import json, runpy; runpy.run_path({HANDLER!r})['lambda_handler'](json.load(open({str(file)!r})), None)"
        )
        ours = median(lambda: started({**environ, "PYTHONPATH": PACKAGE}, "-c", code), COLD_ROUNDS)
    report(
        "webhook cold start / boto3 with two clients",
        ours,
        median(lambda: started(environ, "-c", BOTO3), COLD_ROUNDS),
        1.0,
    )


def warm_cpu(handler: Callable[..., Any], events: list[dict[str, Any]]) -> float:
    return median(lambda: cpu(lambda each: handler(each, None), events), WARM_ROUNDS)


def warm(environ: dict[str, str], body: bytes) -> None:
    os.environ.update(environ)
    sys.path.insert(0, PACKAGE)
    handler = runpy.run_path(HANDLER)["lambda_handler"]
    stored = [event(body, number) for number in range(PER_ROUND)]
    ignored = [event(body, number, "pull_request") for number in range(PER_ROUND)]
    baseline = median(lambda: cpu(bare, stored), WARM_ROUNDS)
    with contextlib.redirect_stdout(io.StringIO()):
        assert handler(stored[0], None)["statusCode"] == 202  # noqa: PLR2004
        ours = [warm_cpu(handler, events) for events in (stored, ignored)]
    report("webhook warm CPU, stored / HMAC and JSON", ours[0], baseline, 5.0)
    report("webhook warm CPU, ignored / HMAC and JSON", ours[1], baseline, 5.0)


def main() -> None:
    with cloud() as environ:
        cold(environ, payload())
        warm(environ, payload())


if __name__ == "__main__":
    main()
