"""Replays in the artifact bucket: what is to be made, what became of it, and the new commits."""

from __future__ import annotations

import hashlib
import json

from tidegate.aws.records import pack, unpack
from tidegate.config_updates.rules.replay import Replay, Replayed, bundle_key, order_key, result_key
from tidegate.plans.rules.plan import Artifact
from tidegate.ports import Artifacts


class StoredReplays:
    """The port ``Replays`` on stored objects."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    def keep_order(self, job: str, order: Replay) -> Artifact:
        text = json.dumps(pack(order), sort_keys=True).encode()
        self._artifacts.put(order_key(job), text)
        return Artifact(order_key(job), hashlib.sha256(text).hexdigest())

    def result(self, job: str, sha256: str) -> Replayed | None:
        text = self._artifacts.get(result_key(job))
        return read_result(text) if hashlib.sha256(text).hexdigest() == sha256 else None

    def bundle(self, job: str) -> bytes:
        return self._artifacts.get(bundle_key(job))


def read_order(text: bytes) -> Replay:
    """Return a stored order."""
    return unpack(Replay, json.loads(text))


def read_result(text: bytes) -> Replayed:
    """Return a stored result."""
    return unpack(Replayed, json.loads(text))


def result_text(result: Replayed) -> bytes:
    """Return a result as it is stored."""
    return json.dumps(pack(result), sort_keys=True).encode()
