"""Secrets of destinations (Secrets Manager): a JSON object of texts each, read again every five minutes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidegate.rules.errors import AppNotStored, CloudUnavailable
from tidegate.vcs.adapters.app_secret import StoredAppSecret


class StoredSecrets:
    """Reads secrets by their names. A secret that is no JSON object has no fields."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._known: dict[str, StoredAppSecret] = {}

    def fields(self, name: str) -> Mapping[str, str]:
        """Return the fields of a secret. Raise CloudUnavailable."""
        known = self._known.setdefault(name, StoredAppSecret(self._client, name, _fields))
        try:
            return known.current()
        except AppNotStored as error:
            raise CloudUnavailable("Secrets Manager", f"the secret {name} does not exist") from error


def _fields(_name: str, text: str) -> Mapping[str, str]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return {key: str(value) for key, value in found.items()} if isinstance(found, dict) else {}
