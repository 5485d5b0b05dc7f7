"""Access keys of the local cloud: which role, and which process, makes a call.

Functions, tasks and state machines get keys of their own role. An unknown key belongs to an operator (the person at the
keyboard, or a script), who may do everything.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/\d{8}/([^/]+)/([^/]+)/aws4_request")
_EXPIRATION = re.compile(rb"(<Expiration>)[^<]+(</Expiration>)")
_ISSUED = re.compile(rb"<AccessKeyId>([^<]+)</AccessKeyId>")


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls: a role and the process that uses it (a Lambda instance, a task, an execution's machine)."""

    role: str
    process: str = ""


@dataclass(frozen=True, slots=True)
class Keys:
    """An access key. ``environment`` has the names that every AWS SDK reads."""

    access_key_id: str
    secret_access_key: str
    session_token: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_SESSION_TOKEN": self.session_token,
        }


class Credentials:
    """Makes keys for roles and knows whose they are."""

    def __init__(self) -> None:
        self._owners: dict[str, Principal] = {}
        self._shared: dict[str, Keys] = {}
        self._ends: dict[str, float] = {}
        self._lock = threading.Lock()
        #: How long sessions live that are begun from now on; None for as long as they say.
        self.session_seconds: float | None = None

    def make(self, role: str, process: str = "") -> Keys:
        """Return new keys of the role for one process."""
        keys = Keys("LSIA" + secrets.token_hex(8).upper(), secrets.token_hex(20), secrets.token_hex(20))
        self._owners[keys.access_key_id] = Principal(role, process)
        return keys

    def shared(self, role: str, process: str) -> Keys:
        """Return the same keys for the same role every time (for parts of the local cloud that act for it)."""
        with self._lock:
            if role not in self._shared:
                self._shared[role] = self.make(role, process)
            return self._shared[role]

    def owner(self, access_key_id: str) -> Principal | None:
        """Return who has this key, or None for an operator's."""
        return self._owners.get(access_key_id)

    def has_ended(self, access_key_id: str) -> bool:
        """Tell whether the session is over that a key was made for."""
        return time.time() >= self._ends.get(access_key_id, float("inf"))

    def remember_assumed(self, role: str, process: str, sts_answer: bytes) -> bytes:
        """Learn the key that an AssumeRole answer hands out; return the answer, with the end that its session has."""
        found = _ISSUED.search(sts_answer)
        if not found:
            return sts_answer
        key = found.group(1).decode()
        self._owners[key] = Principal(role, process)
        if self.session_seconds is None:
            return sts_answer
        end = self._ends[key] = time.time() + self.session_seconds
        told = datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
        return _EXPIRATION.sub(lambda each: each[1] + told + each[2], sts_answer)


@dataclass(frozen=True, slots=True)
class Scope:
    """The signature's scope: access key, region and the service's signing name."""

    access_key_id: str
    region: str
    service: str


def scope_of(environ: Mapping[str, str]) -> Scope | None:
    """Return the scope of a signed request (header or presigned address), or None."""
    header = environ.get("HTTP_AUTHORIZATION", "")
    found = _CREDENTIAL.search(header)
    if not found:
        query = environ.get("QUERY_STRING", "").replace("%2F", "/").replace("X-Amz-Credential=", "Credential=")
        found = _CREDENTIAL.search(query)
    return Scope(found.group(1), found.group(2), found.group(3)) if found else None
