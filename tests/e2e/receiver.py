"""A server on this machine that takes notifications: a webhook, Slack's API and a workflow of Teams."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.http_server import Answer, Received, server

SIGNING_SECRET = "whsec_" + base64.b64encode(b"notifications of the local cloud").decode()
SLACK_TOKENS = {"bot_token": "xoxb-local", "signing_secret": "signing secret of the local cloud"}


@dataclass
class Receiver:
    """``arrived`` are requests with their times, in seconds since 1970. While ``is_down``, each is answered by 503."""

    url: str = ""
    is_down: bool = False
    arrived: list[tuple[float, Received]] = field(default_factory=list)

    def answer(self, request: Received) -> Answer:
        if self.is_down:
            return 503, {"retry-after": "1"}, b""
        self.arrived.append((time.time(), request))
        return 200, {}, b'{"ok": true}'

    @property
    def destinations(self) -> dict[str, dict[str, str]]:
        return {
            "hooks": {"kind": "webhook", "url": f"{self.url}/hooks", "secret": "notify/hooks"},
            "deploys": {"kind": "slack", "url": f"{self.url}/slack", "channel": "C0DEPLOYS", "secret": "notify/slack"},
            "office": {"kind": "teams", "secret": "notify/teams"},
            "owners": {"kind": "email", "email": "owners@example.com"},
        }

    def store_secrets(self, secrets: Any) -> None:
        for name, fields in {
            "notify/hooks": {"signing_secret": SIGNING_SECRET},
            "notify/slack": SLACK_TOKENS,
            "notify/teams": {"url": f"{self.url}/teams"},
        }.items():
            secrets.create_secret(Name=name, SecretString=json.dumps(fields))

    def about(self, path: str, text: str) -> list[tuple[float, Received]]:
        """Return what arrived at a path and has a text in its body, with the times."""
        return [(at, each) for at, each in list(self.arrived) if each.path == path and text in each.body.decode()]


@contextmanager
def running() -> Iterator[Receiver]:
    """Run a receiver."""
    receiver = Receiver()
    with server(receiver.answer) as (url, _):
        receiver.url = url
        yield receiver
