"""Access control of a root: the configured rule, and whether it allows a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.rules.decision import Decision
from tidegate.rules.permission import ROLES, Permission

EVERYBODY = "*"
_USER, _TEAM, _ROLE = "user:", "team:", "role:"
_LOGIN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9_])?(?:\[bot\])?")
_SLUG = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,99})")
_ADVICE = f"use '*', user:LOGIN, team:SLUG, or role: with one of {', '.join(ROLES)}"

#: Why nobody may act on a root without a matching policy.
UNMATCHED = (
    "no policy of 'access_control' matches. On the default branch, add a last policy with tag_query: '', which "
    "matches every root"
)

#: Why nobody may act on a pull request's root that the default branch does not have.
AMBIGUOUS = (
    "the default branch has no such root here, and nobody has this permission for all roots that it could be. "
    "First merge the change of the root's name or directory"
)


class Action(StrEnum):
    """Actions of people: request a plan or a deploy (also a re-run), unlock, decide a plan review."""

    PLAN = "plan"
    APPLY = "apply"
    UNLOCK = "unlock"
    REVIEW = "review"


_WORDS = {
    Action.PLAN: "request plans of",
    Action.APPLY: "deploy",
    Action.UNLOCK: "unlock the queue of",
    Action.REVIEW: "review plans of",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may do each action: ``*``, ``user:LOGIN``, ``team:SLUG`` or ``role:ROLE`` (that role or a higher one).

    ``*`` means everybody with write permission. Nobody may if a list is empty; ``denied`` is then the reason, such as
    that no policy matches the root.
    """

    plan: tuple[str, ...] = (EVERYBODY,)
    apply: tuple[str, ...] = (EVERYBODY,)
    unlock: tuple[str, ...] = (EVERYBODY,)
    review: tuple[str, ...] = (EVERYBODY,)
    denied: str = ""

    def who_may(self, action: Action) -> tuple[str, ...]:
        """Return who may do it."""
        lists = {
            Action.PLAN: self.plan,
            Action.APPLY: self.apply,
            Action.UNLOCK: self.unlock,
            Action.REVIEW: self.review,
        }
        return lists[action]

    def and_also(self, other: Access) -> Access:
        """Return the access of something that may be either of two: only people in both may."""
        one = {action: _both(self.who_may(action), other.who_may(action)) for action in Action}
        denied = self.denied or other.denied or ("" if all(one.values()) else AMBIGUOUS)
        return Access(one[Action.PLAN], one[Action.APPLY], one[Action.UNLOCK], one[Action.REVIEW], denied)


@dataclass(frozen=True, slots=True)
class Person:
    """A person at the VCS provider: their permission in the repository, and their teams (slugs).

    Only teams that were checked are known.
    """

    login: str
    permission: Permission
    teams: frozenset[str] = frozenset()


def grantee(text: str) -> str:
    """Return a grantee in its canonical form. Raise ValueError with the allowed forms."""
    kind, colon, name = text.strip().partition(":")
    prefix = kind.lower() + colon
    if text.strip() == EVERYBODY:
        return EVERYBODY
    if prefix == _USER and _LOGIN.fullmatch(name):
        return prefix + name
    if prefix == _TEAM and _SLUG.fullmatch(name):
        return prefix + name.lower()
    if prefix == _ROLE and name.lower() in ROLES:
        return prefix + name.lower()
    raise ValueError(_ADVICE)


def teams_among(grantees: Sequence[str]) -> tuple[str, ...]:
    """Return the slugs of the teams among grantees, each once."""
    return tuple(dict.fromkeys(each.removeprefix(_TEAM) for each in grantees if each.startswith(_TEAM)))


def matches(each: str, person: Person) -> bool:
    """Tell whether a grantee includes a person.

    ``*`` is everybody with write permission; other grantees must have read permission, because their decisions are
    visible there.
    """
    if each == EVERYBODY:
        return person.permission >= Permission.WRITE
    if person.permission < Permission.READ:
        return False
    if each.startswith(_USER):
        return each.removeprefix(_USER).casefold() == person.login.casefold()
    if each.startswith(_TEAM):
        return each.removeprefix(_TEAM) in person.teams
    return each.startswith(_ROLE) and person.permission >= ROLES[each.removeprefix(_ROLE)]


def check_access(access: Access | None, action: Action, person: Person, repository: str, what: str) -> Decision:
    """Decide whether a person may act on ``what``, such as "stack prod", and why not.

    Without access control, everybody with write permission may.
    """
    grantees = access.who_may(action) if access else (EVERYBODY,)
    if any(matches(each, person) for each in grantees):
        return Decision(True, "")
    if access and not grantees:
        because = access.denied or f"its 'access_control' has an empty list for '{action}'"
        return Decision(False, f"Nobody can {_WORDS[action]} {what}: {because}.")
    if person.permission < Permission.WRITE and set(grantees) <= {EVERYBODY}:
        return Decision(False, f"{person.login} needs write access to {repository} to {_WORDS[action]} {what}.")
    who = " and ".join(spelled(each) for each in grantees)
    return Decision(False, f"Only {who} can {_WORDS[action]} {what}, and {person.login} is not among them.")


def _both(ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    met = (_meet(one, other) for one in ours for other in theirs)
    return tuple(dict.fromkeys(each for each in met if each is not None))


def _meet(one: str, other: str) -> str | None:
    """Return the intersection of two grantees; None if no single grantee expresses it."""
    if one == other:
        return one
    role, others = _role(one), _role(other)
    if role and others:
        return max((role, one), (others, other))[1]
    if EVERYBODY in {one, other}:
        return other if one == EVERYBODY else one
    return None


def _role(each: str) -> Permission | None:
    """Return the least role that a grantee stands for, if it stands for one: to write, for everybody."""
    return (
        Permission.WRITE
        if each == EVERYBODY
        else ROLES.get(each.removeprefix(_ROLE))
        if each.startswith(_ROLE)
        else None
    )


def spelled(each: str) -> str:
    """Return a grantee as people read it."""
    if each == EVERYBODY:
        return "people with write access"
    return f"{each} (or higher)" if each.startswith(_ROLE) and each != f"{_ROLE}admin" else each
