"""GitHub's GraphQL API: what REST takes many calls for, or cannot do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from github.Repository import Repository

from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.vcs.github.access import NOT_FOUND, SECONDARY_LIMIT_PAUSE, UNPROCESSABLE

#: Types of errors that pass, and of those for what does not exist.
_PASSING = frozenset({"RATE_LIMITED", "RATE_LIMIT", "SERVICE_UNAVAILABLE", "INTERNAL"})
_MISSING = "NOT_FOUND"


def ask(repo: Repository, query: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data of the answer.

    Raise ForgeUnavailable, ForgeRefused with GitHub's messages, and what PyGithub and requests raise. An answer with an
    error counts as refused even if it has data: a part that may not be read is null there, as one that does not exist.
    """
    requester = repo.requester
    body = {"query": query, "variables": dict(variables)}
    _, answer = requester.requestJsonAndCheck("POST", requester.graphql_url, input=body)
    if errors := answer.get("errors"):
        raise _refusal(errors)
    data: Mapping[str, Any] = answer["data"]
    return data


def _refusal(errors: list[Mapping[str, Any]]) -> ForgeUnavailable | ForgeRefused:
    types = {str(each.get("type")) for each in errors}
    words = " ".join(" ".join(str(each.get("message")) for each in errors).split())[:300]
    if types & _PASSING:
        return ForgeUnavailable(words, SECONDARY_LIMIT_PAUSE)
    return ForgeRefused(NOT_FOUND if _MISSING in types else UNPROCESSABLE, words)
