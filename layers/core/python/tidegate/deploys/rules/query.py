"""Tag queries about deployments: the tags that each has, and refusals of those that none has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from tidegate.deploys.rules.needs import RUNNING
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.summary import DeploymentSummary
from tidegate.roots.rules.query_words import InvalidTagQuery, Kind, Token, words
from tidegate.roots.rules.root_query import TagQuery, parse_tag_query
from tidegate.roots.rules.terms import Tagged
from tidegate.rules.errors import quoted

#: What begins the tags of a deployment, and how a tag of it looks.
KINDS: Mapping[str, str] = {
    "repository": "repository:acme/infra",
    "root": "root:network",
    "name": "name:network",
    "dir": "dir:live/network",
    "workspace": "workspace:default",
    "stack_name": "stack_name:prod",
    "state": "state:waiting",
    "trigger": "trigger:manual",
    "by": "by:octocat",
    "revision": "revision:0a1b2c3",
    "change": "change:0a1b2c3d",
}
#: States under one name.
GROUPS: Mapping[str, frozenset[State]] = {
    "waiting": frozenset(
        {State.QUEUED, State.GATED, State.BLOCKED, State.AWAITING_REVIEW, State.AWAITING_REQUIREMENTS}
    ),
    "running": RUNNING,
    "ended": frozenset(filter(is_final, State)),
    "failed": frozenset({State.PLAN_FAILED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.ENGINE_FAULT}),
}
STATES = (*GROUPS, *(state.value for state in State))
_WORDS: Mapping[str, tuple[str, ...]] = {
    "state": STATES,
    "trigger": tuple(trigger.value for trigger in Trigger),
}
#: Characters of a revision that a query may have, at least.
_SHORTEST_REVISION = 7
_STACK = "stack_name:"
#: Stacks that are named where one is unknown.
_LISTED = 20


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What queries about one kind of things may ask for: its name, what tags begin with, and the words of some."""

    name: str
    kinds: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


DEPLOYMENTS = Vocabulary("deployment", KINDS, _WORDS)


def parse_query(text: str, about: Vocabulary) -> TagQuery:
    """Return the parsed query. Raise InvalidTagQuery, also for tags that cannot exist.

    Any other tag is one of the root's own; a quoted one always is.
    """
    query = parse_tag_query(text)
    for token in _tags(words(text)):
        _check(token, about)
    return query


def parse_deployment_query(text: str) -> TagQuery:
    """Return the query that a text says about deployments, as ``parse_query`` does."""
    return parse_query(text, DEPLOYMENTS)


def deployment_tags(one: DeploymentSummary) -> Tagged:
    """Return a deployment with its tags: a revision is found by any beginning of at least seven characters."""
    sha = one.revision.sha
    tags = [
        f"repository:{one.repository}",
        f"root:{one.root.name}",
        f"name:{one.root.name}",
        f"dir:{one.root.dir}",
        f"workspace:{one.root.workspace}",
        *(f"stack_name:{name}" for name in (one.stack, *one.within)),
        f"state:{one.state.value}",
        *(f"state:{name}" for name, states in GROUPS.items() if one.state in states),
        f"trigger:{one.request.trigger.value}",
        f"by:{one.request.by}",
        *(f"revision:{sha[:length]}" for length in range(_SHORTEST_REVISION, len(sha) + 1)),
        f"change:{one.change.id}",
    ]
    return Tagged(one.root.dir, frozenset((*one.tags, *tags)))


@dataclass(slots=True)
class Searched:
    """The stacks and own tags that a search found, to tell which requested ones do not exist."""

    about: Vocabulary
    stacks: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)

    def add(self, stacks: Iterable[str], tags: Iterable[str]) -> None:
        """Remember one."""
        self.stacks.update(stacks)
        self.tags.update(tags)

    def missing(self, query: TagQuery) -> str:
        """Return sentences about requested stacks and own tags that were not found, with similar names."""
        stacks = [tag.removeprefix(_STACK) for tag in query.tags if tag.startswith(_STACK)]
        own = [tag for tag in query.tags if tag.partition(":")[0] not in KINDS]
        told = [
            *self._missing("stack", stacks, self.stacks, _STACK),
            *self._missing("tag", own, self.tags),
        ]
        return " ".join(told)

    def _missing(self, what: str, named: Iterable[str], known: Collection[str], prefix: str = "") -> list[str]:
        told = []
        for name in [each for each in named if each not in known]:
            near = get_close_matches(name, sorted(known), n=1)
            meant = f" Did you mean {prefix}{near[0]}?" if near else ""
            told.append(f"None of the {self.about.name}s searched has the {what} {quoted(name)}.{meant}")
        if told and known:
            shown = sorted(known)[:_LISTED]
            told.append(f"Known: {', '.join(shown)}{', …' if len(known) > len(shown) else ''}.")
        return told


def _tags(tokens: list[Token]) -> Iterable[Token]:
    """Yield the tags of a query, without those on either side of ``in``."""
    for number, token in enumerate(tokens):
        before = tokens[number - 1].kind if number else None
        is_place = before is Kind.IN or (token.kind is Kind.TAG and tokens[number + 1].kind is Kind.IN)
        if token.kind is Kind.TAG and not token.quoted and not is_place:
            yield token


def _check(token: Token, about: Vocabulary) -> None:
    if token.text.startswith("dir~"):
        return
    kind, colon, value = token.text.partition(":")
    if not colon or kind not in about.kinds:
        _check_own(token, kind, colon, about)
        return
    known = about.words.get(kind)
    if known and value not in known:
        near = get_close_matches(value, known, n=1)
        meant = f"Did you mean {kind}:{near[0]}? " if near else ""
        raise InvalidTagQuery(
            token.column, f"{token.shown} matches no {about.name}", f"{meant}Use one of: {', '.join(known)}"
        )
    if kind == "revision" and len(value) < _SHORTEST_REVISION:
        raise InvalidTagQuery(
            token.column, f"{token.shown} is too short", f"Use at least {_SHORTEST_REVISION} characters"
        )


def _check_own(token: Token, kind: str, colon: str, about: Vocabulary) -> None:
    """Raise InvalidTagQuery for a misspelled tag of Tidegate."""
    if colon:
        near = get_close_matches(kind, about.kinds, n=1)
        meant = f"{near[0]}:" if near else ""
    else:
        meant = next((f"{each}:{token.text}" for each, known in about.words.items() if token.text in known), "")
    if meant or kind in KINDS:
        allowed = f"Did you mean {meant}? " if meant else ""
        raise InvalidTagQuery(
            token.column,
            f"{token.shown} is not a tag of {about.name}s",
            f"{allowed}Tags of {about.name}s begin with {', '.join(f'{name}:' for name in about.kinds)}, or are "
            "defined by their roots; quote a tag to use it unchecked",
        )
