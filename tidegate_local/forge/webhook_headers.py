"""The headers of GitHub's webhooks, signatures included."""

from __future__ import annotations

import hashlib
import hmac

from tidegate_local.forge.hooks import Dress
from tidegate_local.forge.settings import Settings


def of_app(settings: Settings) -> Dress:
    """Return what makes the headers of the App's deliveries."""
    app = str(settings.app_id)

    def dress(name: str, guid: str, body: str, secret: str) -> dict[str, str]:
        return {
            "Accept": "*/*",
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/local",
            "X-GitHub-Delivery": guid,
            "X-GitHub-Event": name,
            "X-GitHub-Hook-ID": app,
            "X-GitHub-Hook-Installation-Target-ID": app,
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            **_signatures(body, secret),
        }

    return dress


def _signatures(body: str, secret: str) -> dict[str, str]:
    return {
        "X-Hub-Signature": f"sha1={hmac.new(secret.encode(), body.encode(), hashlib.sha1).hexdigest()}",
        "X-Hub-Signature-256": f"sha256={hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()}",
    }
