"""How long a notification takes from its event on the bus to its receiver, on the local cloud.

The baseline is the same message posted to the same receiver directly.
"""

from __future__ import annotations

import base64
import json
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from bench.lines import Line, medians, noise, paired
from tidegate.notifications.adapters.store import DynamoNotifications
from tidegate.notifications.rules.subscription import NotificationKind, Subscription, Subscriptions
from tidegate_local.client import LocalCloud

#: Seconds from event to receiver, at most.
TARGET = 1.0
_REPOSITORY, _SECRET, _PATIENCE = "acme/told", "bench/hooks", 60.0
_RUNS = 21


def run(*, quick: bool) -> Iterator[Line]:
    """Measure single events, one after another. The first one warms the functions up."""
    with _receiver() as (url, arrived), _cloud(url) as cloud, httpx.Client(trust_env=False) as client:
        _told(cloud, arrived)
        pairs = paired(lambda: _told(cloud, arrived), lambda: _posted(client, url, arrived), 1 if quick else _RUNS)
        yield Line(
            "notification",
            *medians(pairs),
            target=TARGET,
            compared="median",
            more={**noise(pairs), "slowest": round(max(ours for ours, _ in pairs), 3)},
        )


@contextmanager
def _receiver() -> Iterator[tuple[str, queue.SimpleQueue[float]]]:
    """Run a receiver that keeps when each message arrived."""
    arrived: queue.SimpleQueue[float] = queue.SimpleQueue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            arrived.put(time.monotonic())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hooks", arrived
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _cloud(url: str) -> Iterator[LocalCloud]:
    """Run a local cloud with the receiver as a destination, and a repository that tells it of drift."""
    hooks = {"hooks": {"kind": "webhook", "url": url, "secret": _SECRET}}
    with LocalCloud(context={"destinations": hooks}, clock=False, warm=True) as cloud:
        key = {"signing_secret": f"whsec_{base64.b64encode(b'x' * 32).decode()}"}
        cloud.client("secretsmanager").create_secret(Name=_SECRET, SecretString=json.dumps(key))
        listed = (Subscription(("hooks",), (NotificationKind.DRIFT,)),)
        store = DynamoNotifications(cloud.client("dynamodb"), cloud.info["table"])
        store.keep_subscriptions(Subscriptions(_REPOSITORY, listed))
        yield cloud


def _told(cloud: LocalCloud, arrived: queue.SimpleQueue[float]) -> float:
    """Put an event on the bus, and return the seconds until its message arrives."""
    at = f"2026-01-01T00:00:00.{time.time_ns() % 10**6:06}Z"
    root = {"root": "network", "stack": "prod", "state": "drifted"}
    detail = {"repository": _REPOSITORY, "schedule": "nightly", "revision": "", "branch": "main", "at": at}
    entry = {
        "EventBusName": cloud.info["event_bus"],
        "Source": "tidegate",
        "DetailType": "Drift",
        "Detail": json.dumps({**detail, "drifted": 1, "roots": [root]}),
    }
    events = cloud.client("events")
    begun = time.monotonic()
    events.put_events(Entries=[entry])
    return arrived.get(timeout=_PATIENCE) - begun


def _posted(client: httpx.Client, url: str, arrived: queue.SimpleQueue[float]) -> float:
    begun = time.monotonic()
    client.post(url, content=b"{}")
    return arrived.get(timeout=_PATIENCE) - begun
