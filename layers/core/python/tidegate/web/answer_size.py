"""Response size: API Gateway takes at most 6 MB of JSON from a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from tidegate.deploys.read_log import LogPage

Made = TypeVar("Made")

#: Bytes of a body in a function's response. Lambda takes 6,291,556 in all; the rest is for headers.
LONGEST_ANSWER = 6_000_000
#: Bytes of a character in JSON at most: two surrogates as ``\\uXXXX``.
_LARGEST_CHARACTER = 12


def fits(body: str) -> bool:
    """Tell whether a body fits into a function's response, as an ASCII JSON string."""
    return len(body) * _LARGEST_CHARACTER <= LONGEST_ANSWER or len(json.dumps(body)) <= LONGEST_ANSWER


def fitting(page: LogPage, make: Callable[[LogPage], Made], body: Callable[[Made], str]) -> Made:
    """Return ``make``'s result for as many of a page's lines as fit, at least one."""
    made = make(page)
    while len(page.lines) > 1 and not fits(body(made)):
        page = page.first(len(page.lines) // 2)
        made = make(page)
    return made
