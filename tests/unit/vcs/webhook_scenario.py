"""Where webhooks are received: secrets, deliveries and a queue in memory."""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass, field

from tests.fakes.scenario import MemoryClock, MemoryEventQueue
from tests.fakes.stores import MemoryDeliveries
from tidegate.vcs.receive_webhook import WebhookReceiver, WebhookRequest

DELIVERY = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
AFTER = "b" * 40


@dataclass
class FakeSecrets:
    known: tuple[str, ...] = ("current",)
    newer: tuple[str, ...] | None = None
    refreshes: int = 0

    def current(self):
        return self.known

    def refreshed(self):
        self.refreshes += 1
        self.known = self.known if self.newer is None else self.newer
        return self.known


@dataclass
class Scenario:
    secrets: FakeSecrets = field(default_factory=FakeSecrets)
    deliveries: MemoryDeliveries = field(default_factory=MemoryDeliveries)
    queue: MemoryEventQueue = field(default_factory=MemoryEventQueue)
    clock: MemoryClock = field(default_factory=MemoryClock)

    def receive(self, request):
        return WebhookReceiver(self.secrets, self.deliveries, self.queue, self.clock).receive(request)


def push(delivery=DELIVERY, key="current", body=None, **fields):
    payload = {
        "ref": "refs/heads/main",
        "before": "a" * 40,
        "after": AFTER,
        "repository": {"full_name": "acme/infra", "default_branch": "main"},
        "sender": {"login": "octocat"},
        "installation": {"id": 42},
        **fields,
    }
    body = json.dumps(payload).encode() if body is None else body
    return WebhookRequest(body, f"sha256={hmac.new(key.encode(), body, 'sha256').hexdigest()}", "push", delivery)
