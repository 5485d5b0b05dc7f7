"""A policy set in the configuration: its files, its owners, and its roots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import Tagged

#: conftest's default directory of rules.
NAMESPACE = "main"
_BRANCH = "branch:"


class PolicySource(StrEnum):
    """The location of a set's files: in the repository, or in the organization's storage."""

    REPOSITORY = "repository"
    ORGANIZATION = "organization"


@dataclass(frozen=True, slots=True)
class PolicySet:
    """A named set. ``paths`` are directories of the repository's default branch, none for an organization's set.

    ``owners`` are grantees as in access control; ``approvals`` different ones among them override its violations.
    It applies to roots that ``query`` matches, and stands in ``line`` of the file.
    """

    name: str
    query: TagQuery
    paths: tuple[str, ...] = ()
    source: PolicySource = PolicySource.REPOSITORY
    owners: tuple[str, ...] = ()
    approvals: int = 1
    namespaces: tuple[str, ...] = (NAMESPACE,)
    line: int = 0


def sets_for(sets: Iterable[PolicySet], tagged: Tagged) -> tuple[str, ...]:
    """Return the names of the sets for a root with these tags, in the order of the file.

    A set applies if it matches with *or* without the source branch's tag: whoever pushes chooses the branch's name, and
    could bypass sets by it.
    """
    others = Tagged(tagged.directory, frozenset(tag for tag in tagged.tags if not tag.startswith(_BRANCH)))
    return tuple(each.name for each in sets if each.query.matches(tagged) or each.query.matches(others))
