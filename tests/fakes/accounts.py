"""The forge's accounts in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlencode

from tidegate.rules.errors import TidegateError


@dataclass(slots=True)
class MemoryAccounts:
    """The port ``Accounts``: ``tokens`` belong to logins, ``codes`` stand for tokens.

    ``asked`` counts the questions whose token one is; ``failures`` are raised by the next calls, one each.
    """

    tokens: dict[str, str] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    failures: list[TidegateError] = field(default_factory=list)

    def login_of(self, token: str) -> str | None:
        self.asked += 1
        self._fail()
        return self.tokens.get(token)

    def exchange(self, code: str, redirect_uri: str) -> str | None:
        self._fail()
        return self.codes.pop(code, None)

    def authorize_url(self, state: str, redirect_uri: str) -> str:
        query = urlencode({"state": state, "redirect_uri": redirect_uri})
        return f"https://github.com/login/oauth/authorize?{query}"

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)
