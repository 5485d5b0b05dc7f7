"""A job's identity tokens by audience, or why there are none.

No pydantic here: the runner imports this module, and its start is part of every deploy.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.deploys.rules.targets import Cloud


@dataclass(frozen=True, slots=True)
class Issued:
    """Tokens for one job. ``problem`` says in sentences why there are none, ``passes`` that it may be temporary."""

    tokens: Mapping[Cloud, str] = field(default_factory=dict, repr=False)
    problem: str = ""
    passes: bool = False


#: For a job that needs none.
NOTHING = Issued()


def said_in(token: str) -> Mapping[str, Any]:
    """Return the claims of a token, unverified."""
    part = token.split(".")[1]
    claims: Mapping[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def times_problem(token: str, now: float) -> str:
    """Return why a token is not valid by this clock, in seconds since 1970, in sentences; empty if it is."""
    claims = said_in(token)
    begins, ends = int(claims["nbf"]), int(claims["exp"])
    if begins <= now < ends:
        return ""
    away = f"{begins - now:.0f} s early" if now < begins else f"{now - ends:.0f} s late"
    return (
        f"The job's identity token is not valid by the runner's clock ({away}), although it was just issued. The "
        "clocks of the function forge_steps and of the runner differ. Start the job again."
    )


def to_text(issued: Issued) -> str:
    """Return it as JSON, which ``from_text`` reads; of nothing, an empty text."""
    if issued == NOTHING:
        return ""
    tokens = {cloud.value: token for cloud, token in issued.tokens.items()}
    return json.dumps({"tokens": tokens, "problem": issued.problem, "passes": issued.passes}, separators=(",", ":"))


def from_text(text: str) -> Issued:
    """Return what ``to_text`` wrote."""
    if not text:
        return NOTHING
    said = json.loads(text)
    return Issued({Cloud(name): token for name, token in said["tokens"].items()}, said["problem"], said["passes"])
