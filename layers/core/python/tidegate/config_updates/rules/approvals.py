"""Why an entry may not enter the auto branch yet: missing approvals. See ``environment_rules`` for freeze windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import EVERYBODY, Person, matches, spelled
from tidegate.texts.sentences import listed

#: People that a reason names.
_NAMED = 10
_UNMATCHED = (
    "No check of apply_requirements matches this environment. On the default branch, add a last check with "
    "tag_query: '', which matches every environment."
)


@dataclass(frozen=True, slots=True)
class EntryApproval:
    """Who asked for an entry or approved it, when, and whom of those that a requirement names they stood for then."""

    by: str
    at: datetime
    meets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntryWait:
    """Why an entry waits in the queue although its turn has come, empty if it does not, and until when if known."""

    reason: str = ""
    until: datetime | None = None


def stood_for(person: Person, wanted: Requirements) -> tuple[str, ...]:
    """Return which of those that a requirement may mean a person is."""
    return tuple(each for each in dict.fromkeys((EVERYBODY, *wanted.grantees)) if matches(each, person))


def with_approval(given: Sequence[EntryApproval], approval: EntryApproval) -> tuple[EntryApproval, ...]:
    """Return approvals with another one. A person counts once: the last approval says whom they stand for."""
    others = (each for each in given if each.by.casefold() != approval.by.casefold())
    return (*others, approval)


def missing_approvals(given: Sequence[EntryApproval], wanted: Requirements | None) -> str:
    """Return which approvals are missing, as sentences; empty if none are. ``wanted`` is None if no check matches.

    Whoever asked for the entry counts as well. Checks, conflicts and missing commits of a pull request say nothing
    about an image set, whose required checks are its own.
    """
    if wanted is None:
        return _UNMATCHED
    meant = wanted.any_of or (EVERYBODY,)
    counted = [each for each in given if set(meant) & set(each.meets)]
    found = []
    if len(counted) < wanted.approvals:
        among = f" by people among {' or '.join(map(spelled, wanted.any_of))}" if wanted.any_of else ""
        by = f" (by {listed([each.by for each in counted], _NAMED)})" if counted else ""
        number = f"{wanted.approvals} approval{'' if wanted.approvals == 1 else 's'}{among}"
        found.append(f"It needs {number}, and has {len(counted) or 'none'}{by}.")
    unmet = [each for each in wanted.all_of if not any(each in one.meets for one in given)]
    if unmet:
        found.append(f"It needs an approval by {' and by '.join(map(spelled, unmet))}.")
    return " ".join(found)
