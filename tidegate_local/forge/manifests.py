"""Apps from manifests: GitHub's flow, for the only App of this forge, which takes over what the manifest asks for.

https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from tidegate_local.forge import shapes
from tidegate_local.forge.codes import Codes, local_address
from tidegate_local.forge.refusals import Refusal
from tidegate_local.forge.settings import APP_EVENTS, APP_PERMISSIONS

if TYPE_CHECKING:
    from tidegate_local.forge.hosting import Hosting

_NOTE = "manifest"
_LONGEST_NAME = 34
_LEVELS = {"read": 1, "write": 2}


class Manifests:
    """The manifest of the App, and the codes that hand it out once. ``private_key`` is the App's (PEM)."""

    private_key = ""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting, self._codes = hosting, Codes()

    def asked(self) -> dict[str, Any]:
        """Return the manifest that the App was made from; empty if it was there from the beginning."""
        text = self._hosting.store.note(_NOTE)
        return dict(json.loads(text)) if text else {}

    def create(self, text: str, name: str, login: str) -> tuple[str, str]:
        """Make the App of a manifest, and return where to go with which code. Raise Refusal (422)."""
        manifest = {**read(text), "name": name}
        if not 0 < len(name) <= _LONGEST_NAME:
            raise Refusal(422, f"Name is too long (maximum is {_LONGEST_NAME} characters) or empty.")
        self._hosting.store.keep_note(_NOTE, json.dumps(manifest))
        target = local_address(str(manifest.get("redirect_url", "")))
        return target, self._codes.make(login, target)

    def convert(self, code: str) -> dict[str, Any] | None:
        """Return the App with its secrets, and sign its webhooks with a new one; None for a code that does not hold."""
        if self._codes.take(code) is None:
            return None
        settings, secret = self._hosting.settings, secrets.token_hex(20)
        self._hosting.webhooks.point_at(self.asked()["hook_attributes"]["url"], secret)
        return {
            **shapes.app(self._hosting),
            "client_secret": settings.client_secret,
            "webhook_secret": secret,
            "pem": self.private_key,
        }


def read(text: str) -> dict[str, Any]:
    """Return a manifest. Raise Refusal (422) for what GitHub would not take."""
    try:
        manifest = json.loads(text)
        local_address(str(manifest["hook_attributes"]["url"]))
        events, permissions = set(manifest["default_events"]), dict(manifest["default_permissions"])
    except (ValueError, TypeError, KeyError):
        raise Refusal(422, "Invalid GitHub App configuration.") from None
    unknown = events - set(APP_EVENTS) or {
        name
        for name, level in permissions.items()
        if _LEVELS.get(level, 9) > _LEVELS.get(APP_PERMISSIONS.get(name, ""), 0)
    }
    if not isinstance(manifest.get("url"), str) or unknown:
        raise Refusal(422, f"Invalid GitHub App configuration: {', '.join(sorted(unknown)) or 'url'}.")
    return dict(manifest)
