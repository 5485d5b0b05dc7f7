"""The one-time code that allows to create the App, and the state that GitHub brings back."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

#: Long enough for a deploy in the evening and the App in the morning.
CODE_SECONDS = 24 * 3600
#: GitHub exchanges the code of a created App for an hour.
STATE_SECONDS = 3600
_ORGANIZATION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class SetupCode:
    """What is stored of the code and of the state of the begun creation: digests, and their ends in s since 1970."""

    digest: str
    ends: int
    state_digest: str = ""
    state_ends: int = 0
    options: tuple[str, ...] = ()


def digest(text: str) -> str:
    """Return the SHA-256 digest of a code or state: both are random, so it needs no salt."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def is_code(stored: SetupCode | None, code: str, now: float) -> bool:
    """Tell whether ``code`` is the stored one and valid at ``now`` (seconds since 1970)."""
    return stored is not None and now < stored.ends and hmac.compare_digest(stored.digest, digest(code.strip()))


def is_begun(stored: SetupCode | None, state: str, now: float) -> bool:
    """Tell whether a creation with this state has begun, and can be finished at ``now``."""
    if stored is None or not stored.state_digest or not now < stored.state_ends:
        return False
    return hmac.compare_digest(stored.state_digest, digest(state))


def is_organization(name: str) -> bool:
    """Tell whether an organization on GitHub can have this name."""
    return _ORGANIZATION.fullmatch(name) is not None
