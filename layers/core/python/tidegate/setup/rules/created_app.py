"""The App that GitHub has created, with its secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CreatedApp:
    """An App as GitHub returns it, once: ``page`` is its address there."""

    id: int
    name: str
    page: str
    client_id: str
    private_key: str = field(repr=False)
    client_secret: str = field(repr=False)
    webhook_secret: str = field(repr=False)


def app_secret(app: CreatedApp) -> str:
    """Return the text of the App's secret."""
    fields: Mapping[str, str] = {
        "app_id": str(app.id),
        "private_key": app.private_key,
        "client_id": app.client_id,
        "client_secret": app.client_secret,
    }
    return json.dumps(fields)


def webhook_secret(app: CreatedApp) -> str:
    """Return the text of the webhook's secret."""
    return json.dumps({"secrets": [app.webhook_secret]})
