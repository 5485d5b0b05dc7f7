"""Replace secrets in everything that leaves the runner."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterable

MASK = "(masked)"
#: Shorter values ("yes", "443") are everywhere in a log; masking them would hide the log, not the secret.
SHORTEST_VALUE = 4
#: The longest match of a configured pattern that is found even across the pieces of one overlong line.
LONGEST_PATTERN_MATCH = 4096

#: The form of credentials that a cloud issues for a job's token. The engine requests them itself, so their values are
#: not known here: session tokens of STS (in Base64, with the same beginning), access tokens of Google, JWTs of Azure
#: and others. No pattern can begin inside a match, so the search takes linear time.
FORMS_OF_SESSIONS = (
    r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/=]{80,}",
    r"ya29\.[A-Za-z0-9_.-]{20,}",
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}",
)


class Masker:
    """Knows secrets and patterns, and replaces them in text. May be used from several threads."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """``patterns`` are regular expressions. Raise ``re.error`` for an invalid one."""
        self._patterns = [re.compile(pattern).pattern for pattern in patterns]
        self._values: set[str] = set()
        self._lock = threading.Lock()
        self._expression: re.Pattern[str] | None = None
        self.reach = 0
        self._compile()

    def add(self, values: Iterable[str]) -> bool:
        """Mask these values from now on; return whether any was new. Each line of a value is masked separately."""
        spellings = {spelling for value in values for spelling in _spellings(value)}
        with self._lock:
            new = spellings - self._values
            if new:
                self._values |= new
                self._compile()
            return bool(new)

    def mask(self, text: str) -> str:
        """Return ``text`` with every known secret replaced."""
        expression = self._expression
        return text if expression is None else expression.sub(MASK, text)

    def safe_cut(self, text: str, cut: int) -> int:
        """Return the last position up to ``cut`` where ``text`` may be cut without cutting a secret."""
        expression = self._expression
        for match in expression.finditer(text) if expression else ():
            if match.start() >= cut:
                break
            if match.end() > cut:
                return match.start() or match.end()
        return cut

    def _compile(self) -> None:
        longest_first = sorted(self._values, key=len, reverse=True)
        alternatives = [re.escape(value) for value in longest_first] + [f"(?:{each})" for each in self._patterns]
        self._expression = re.compile("|".join(alternatives)) if alternatives else None
        self.reach = max(len(longest_first[0]) if longest_first else 0, LONGEST_PATTERN_MATCH if self._patterns else 0)


def _spellings(value: str) -> Iterable[str]:
    """Yield the forms of ``value`` in output: by lines, escaped as in JSON and HCL, in Base64."""
    whole = value.strip()
    if len(whole) < SHORTEST_VALUE:
        return
    for line in whole.splitlines():
        text = line.strip()
        if len(text) >= SHORTEST_VALUE:
            for spelling in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
                yield spelling
                yield spelling.replace("${", "$${").replace("%{", "%%{")
    yield json.dumps(value)[1:-1]
    for spelling in {value, whole}:
        yield base64.b64encode(spelling.encode()).decode().rstrip("=")
