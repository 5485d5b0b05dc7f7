"""The headers of GitLab's webhooks."""

from __future__ import annotations

import uuid

from tidegate_local.forge.hooks import Dress


def of_instance(home: str) -> Dress:
    """Return what makes the headers of deliveries; an event's GUID is its Idempotency-Key, also when it is resent."""

    def dress(name: str, guid: str, body: str, secret: str) -> dict[str, str]:
        del body
        return {
            "Content-Type": "application/json",
            "User-Agent": "GitLab/18.5.0-local",
            "Idempotency-Key": guid,
            "X-Gitlab-Event": name,
            "X-Gitlab-Webhook-UUID": str(uuid.uuid4()),
            "X-Gitlab-Instance": home,
            **({"X-Gitlab-Token": secret} if secret else {}),
            "X-Gitlab-Event-UUID": str(uuid.uuid4()),
        }

    return dress
