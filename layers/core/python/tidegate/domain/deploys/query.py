"""Tag queries about deployments: the tags that each has, and refusals of those that none has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from tidegate.domain.deploys.deployment import State, Trigger, is_final
from tidegate.domain.deploys.needs import RUNNING
from tidegate.domain.deploys.summary import DeploymentSummary
from tidegate.domain.errors import quoted
from tidegate.domain.tags.query import TagQuery, parse_tag_query
from tidegate.domain.tags.terms import Tagged
from tidegate.domain.tags.words import InvalidTagQuery, Kind, Token, words

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
_WORDS: Mapping[str, tuple[str, ...]] = {
    "state": (*GROUPS, *(state.value for state in State)),
    "trigger": tuple(trigger.value for trigger in Trigger),
}
#: Characters of a revision that a query may have, at least.
_SHORTEST_REVISION = 7
_STACK = "stack_name:"
#: Stacks that are named where one is unknown.
_LISTED = 20


def parse_deployment_query(text: str) -> TagQuery:
    """Return the query that a text says about deployments. Raise InvalidTagQuery, also for what none can have.

    A tag in quotes is taken as it is.
    """
    query = parse_tag_query(text)
    for token in _tags(words(text)):
        _check(token)
    return query


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
        f"trigger:{one.trigger.value}",
        f"by:{one.requested_by}",
        *(f"revision:{sha[:length]}" for length in range(_SHORTEST_REVISION, len(sha) + 1)),
        f"change:{one.change_set}",
    ]
    return Tagged(one.root.dir, frozenset(tags))


def unknown_stacks(query: TagQuery, stacks: Collection[str]) -> str:
    """Return sentences about the stacks that a query names and that are none of ``stacks``: which may be meant."""
    named = [tag.removeprefix(_STACK) for tag in query.tags if tag.startswith(_STACK)]
    told = []
    for name in [each for each in named if each not in stacks]:
        near = get_close_matches(name, sorted(stacks), n=1)
        meant = f" Did you mean {_STACK}{near[0]}?" if near else ""
        told.append(f"No deployment that was searched has the stack {quoted(name)}.{meant}")
    if told and stacks:
        shown = sorted(stacks)[:_LISTED]
        told.append(f"There are: {', '.join(shown)}{', …' if len(stacks) > len(shown) else ''}.")
    return " ".join(told)


def _tags(tokens: list[Token]) -> Iterable[Token]:
    """Yield the tags of a query, without those on either side of ``in``."""
    for number, token in enumerate(tokens):
        before = tokens[number - 1].kind if number else None
        is_place = before is Kind.IN or (token.kind is Kind.TAG and tokens[number + 1].kind is Kind.IN)
        if token.kind is Kind.TAG and not token.quoted and not is_place:
            yield token


def _check(token: Token) -> None:
    if token.text.startswith("dir~"):
        return
    kind, colon, value = token.text.partition(":")
    if not colon or kind not in KINDS:
        raise _unknown(token, kind, colon)
    known = _WORDS.get(kind)
    if known and value not in known:
        near = get_close_matches(value, known, n=1)
        meant = f"Did you mean {kind}:{near[0]}? " if near else ""
        raise InvalidTagQuery(
            token.column, f"{token.shown} fits no deployment", f"{meant}Allowed here: {', '.join(known)}"
        )
    if kind == "revision" and len(value) < _SHORTEST_REVISION:
        raise InvalidTagQuery(
            token.column, f"{token.shown} is too short", f"Write at least {_SHORTEST_REVISION} characters of it"
        )


def _unknown(token: Token, kind: str, colon: str) -> InvalidTagQuery:
    near = get_close_matches(kind, KINDS, n=1) if colon else []
    other = "state" if token.text in _WORDS["state"] else "root"
    meant = f"Did you mean {near[0]}:? " if near else "" if colon else f"Did you mean {other}:{token.text}? "
    allowed = f"{meant}Tags of deployments begin with {', '.join(f'{name}:' for name in KINDS)}"
    return InvalidTagQuery(token.column, f"no deployment has the tag {token.shown}", allowed)
