"""How large an answer may be: what API Gateway passes on comes from a function as JSON of at most 6 MB."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from tidegate.deploys.read_log import LogPage

Made = TypeVar("Made")

#: Bytes of a body inside a function's response. Lambda takes 6,291,556 in all; the rest is for headers.
LONGEST_ANSWER = 6_000_000
#: Bytes that a character grows to at most: two surrogates as ``\\uXXXX``.
_LARGEST_CHARACTER = 12


def fits(body: str) -> bool:
    """Tell whether a body fits into a function's response, where it is a string of JSON in ASCII."""
    return len(body) * _LARGEST_CHARACTER <= LONGEST_ANSWER or len(json.dumps(body)) <= LONGEST_ANSWER


def fitting(page: LogPage, make: Callable[[LogPage], Made], body: Callable[[Made], str]) -> Made:
    """Return what ``make`` makes of as many of a page's lines as fit, one at least."""
    made = make(page)
    while len(page.lines) > 1 and not fits(body(made)):
        page = page.first(len(page.lines) // 2)
        made = make(page)
    return made
