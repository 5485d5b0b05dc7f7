"""Valid values of ``tidegate.yaml``, and their short forms: each refusal says what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator
from pydantic_core import PydanticCustomError

from tidegate.config.expressions import Expression
from tidegate.config.patterns import root_patterns
from tidegate.deploys.rules.locking import DURATION
from tidegate.deploys.rules.mask_pattern import pattern_problem
from tidegate.roots.rules.query_words import InvalidTagQuery
from tidegate.roots.rules.root import directory, repository_name, root_name, workspace_name
from tidegate.roots.rules.root_query import TagQuery, parse_tag_query
from tidegate.roots.rules.terms import RESERVED
from tidegate.rules.access import grantee
from tidegate.rules.errors import InvalidName, quoted

_STACK_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_LONGEST_PATTERN = 200
#: Patterns that need no closer look, as most are.
_SEGMENT = r"(?!\.{1,2}(?:/|$))(?:\*\*(?=/|$)|[\w.-]+(?:\*[\w.-]*)?|\*[\w.-]*)"
_SIMPLE = re.compile(rf"!?{_SEGMENT}(?:/{_SEGMENT})*")
#: Characters of a text that are repeated as the list that was probably meant.
_SHOWN_WORDS = 100
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_VERSION = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,4}(-[0-9A-Za-z.]{1,30})?")


def refused(problem: str, allowed: str) -> PydanticCustomError:
    """Return a refusal that says what is wrong and what is allowed instead."""
    return PydanticCustomError("refused", "{problem}", {"problem": problem, "allowed": allowed})


def shown(text: str) -> str:
    """Return a text of the file as refusals show it."""
    return quoted(text)


def length(text: str) -> timedelta:
    """Return a valid duration of the file."""
    return timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


def duration(most: timedelta, limit: str) -> AfterValidator:
    """Return the validator of a duration up to ``most``, which ``limit`` says in words."""

    def validate(text: str) -> str:
        if not re.fullmatch(DURATION, text):
            raise refused(f"{shown(text)} is not a duration", "Write minutes, hours or days, such as 90m, 12h or 3d")
        if length(text) > most:
            raise refused(f"{shown(text)} is too long", f"The limit is {limit}")
        return text

    return AfterValidator(validate)


def _named(check: Callable[[str], str]) -> AfterValidator:
    """Return the validator that makes of a refused name a refusal of the file."""

    def validate(text: str) -> str:
        try:
            return check(text)
        except InvalidName as error:
            allowed = error.advice[:1].upper() + error.advice[1:]
            raise refused(f"{shown(text)} is not a valid {error.kind}", allowed) from error

    return AfterValidator(validate)


def _mask_pattern(text: str) -> str:
    """Refuse a pattern that is none, or whose search could take long."""
    if problem := pattern_problem(text):
        raise refused(
            f"{shown(text)} is not a valid pattern: {problem}", "Write a regular expression such as ghp_[A-Za-z0-9]{36}"
        )
    return text


MaskPattern = Annotated[str, AfterValidator(_mask_pattern)]


def _directory_as_written(text: str) -> str:
    """Refuse what is no directory, and keep the key as it stands: so two spellings of one are seen."""
    directory(text)
    return text


def exact_version(text: str) -> str:
    """Refuse what is not the exact version of an engine."""
    if not _VERSION.fullmatch(text):
        raise refused(f"{shown(text)} is not an exact version", "Write a version such as 1.11.4, without operators")
    return text


def _usable_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        if not _SIMPLE.fullmatch(pattern) and not _is_pattern(pattern):
            raise refused(
                f"{shown(pattern)} is not a valid pattern",
                "Write paths relative to the root's directory, with *, ** and a leading ! for exceptions",
            )
    return patterns


@lru_cache(maxsize=1024)
def _is_pattern(pattern: str) -> bool:
    """Tell whether a pattern means something. Many directories have the same ones."""
    try:
        root_patterns(".", (pattern.replace("../", ""),))
    except ValueError:
        return False
    return True


def as_list(value: Any) -> Any:
    """Refuse a text where a list is needed, with the list that was probably meant."""
    if isinstance(value, str):
        words = [_in_yaml(word) for word in re.split(r"[\s,\[\]]+", value[:_SHOWN_WORDS]) if word]
        raise refused(f"{shown(value)} is a string, but a list is needed", f"Write [{', '.join(words)}]")
    return value


def _in_yaml(word: str) -> str:
    """Return a text as an item of a list in YAML."""
    return word if re.fullmatch(r"[\w./](?:[\w./*-]|:\w)*", word) else shown(word)


def when_alone(value: Any) -> Any:
    """Take a list, the short form of ``when_modified``, as its patterns alone: a text is refused as theirs."""
    return {"file_patterns": value} if isinstance(value, list | str) else value


def query_alone(value: Any) -> Any:
    """Take a tag query, the short form of ``depends_on``, as its first key alone."""
    return {"tag_query": value} if isinstance(value, str) else value


def engine_alone(value: Any) -> Any:
    """Take ``engine: tofu``, the short form, as a name without a version."""
    return {"name": value} if isinstance(value, str) else value


def review_alone(value: Any) -> Any:
    """Take ``plan_review: manual``, the short form, as its first key alone."""
    return {"when": value} if isinstance(value, str) else value


def _flag(text: Any) -> Any:
    """Take the words for yes and no of YAML 1.2 only."""
    words = {"true": True, "false": False}
    if not isinstance(text, str) or text.lower() not in words:
        raise refused(f"{shown(str(text))} is not a boolean", "Write true or false")
    return words[text.lower()]


def _known_version(text: Any) -> Any:
    """Refuse every version but 1, in words that help."""
    if str(text) != "1":
        raise refused(f"unknown version {shown(str(text))}", "Write version: 1")
    return 1


def empty_if_absent(value: Any) -> Any:
    """Take a key without a value as an empty section."""
    return {} if value is None else value


def _own_tag(text: str) -> str:
    """Refuse a tag that would look like one of Tidegate's own, or like none."""
    if text.startswith(RESERVED):
        raise refused(
            f"{shown(text)} uses a prefix that Tidegate reserves", f"Do not start it with {', '.join(RESERVED)}"
        )
    if not text.isprintable():
        raise refused(f"{shown(text)} contains invisible characters", "Write a tag of letters, digits and punctuation")
    return text


def _tag_query(value: Any) -> TagQuery:
    if not isinstance(value, str):
        raise refused("expected a tag query", "Write a string; '' matches every root")
    return _parsed(value)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> TagQuery:
    """Return a query. Many sections have the same ones."""
    try:
        return parse_tag_query(text)
    except InvalidTagQuery as error:
        raise refused(f"column {error.column} of the tag query: {error.problem}", error.allowed) from None


def _some_query(query: TagQuery) -> TagQuery:
    """Refuse the query that matches everything: a root would depend on all others, and they on it."""
    if not query.text.strip():
        raise refused("an empty query would make all roots depend on each other", "Remove depends_on")
    return query


def _grantee(text: str) -> str:
    try:
        return grantee(text)
    except ValueError as error:
        advice = str(error)
        raise refused(f"{shown(text)} matches no person or team", advice[:1].upper() + advice[1:]) from None


def _stack_name(text: str) -> str:
    if not _STACK_NAME.fullmatch(text):
        raise refused(
            f"{shown(text)} is not a valid stack name",
            "Use at most 100 letters, digits, '.', '_' and '-', starting with a letter or digit",
        )
    return text


def _branch_pattern(value: Any) -> Expression:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_PATTERN:
        raise refused(
            "expected a branch pattern", f"Write a regular expression of at most {_LONGEST_PATTERN} characters"
        )
    if "{" in value:
        raise refused(f"{shown(value)} has a '{{'", "Write it without counted repetition: use + or *")
    if "%" in value:
        raise refused(f"{shown(value)} has a '%'", "Escape special characters with a backslash")
    try:
        return Expression(value)
    except ValueError:
        raise refused(f"{shown(value)} is not a regular expression", "Write one such as ^release/") from None


def _printable(text: str) -> str:
    if not text.isprintable():
        raise refused(f"{shown(text)} contains invisible characters", "Remove those characters")
    return text


Pattern = Annotated[str, Field(min_length=1, max_length=1024)]
Patterns = Annotated[
    tuple[Pattern, ...],
    Field(max_length=1000),
    BeforeValidator(as_list, json_schema_input_type=list[str]),
    AfterValidator(_usable_patterns),
]
TagName = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_own_tag)]
Tags = Annotated[tuple[TagName, ...], Field(max_length=50), BeforeValidator(as_list, json_schema_input_type=list[str])]
Query = Annotated[TagQuery, PlainValidator(_tag_query, json_schema_input_type=str)]
SomeQuery = Annotated[Query, AfterValidator(_some_query)]
RootName = Annotated[str, _named(root_name)]
Directory = Annotated[str, _named(directory)]
DirectoryAsWritten = Annotated[str, _named(_directory_as_written)]
Workspace = Annotated[str, _named(workspace_name)]
Repository = Annotated[str, _named(repository_name)]
Version = Annotated[str, AfterValidator(exact_version)]
Flag = Annotated[bool, BeforeValidator(_flag, json_schema_input_type=bool)]
#: People that one plan can wait for: more than any team has at one time.
Count = Annotated[int, Field(ge=1, le=20)]
FormatVersion = Annotated[int, BeforeValidator(_known_version, json_schema_input_type=Literal[1])]
StackName = Annotated[str, AfterValidator(_stack_name)]
StackNames = Annotated[
    tuple[StackName, ...], Field(max_length=1000), BeforeValidator(as_list, json_schema_input_type=list[str])
]
Grantee = Annotated[str, AfterValidator(_grantee)]
Grantees = Annotated[
    tuple[Grantee, ...], Field(max_length=100), BeforeValidator(as_list, json_schema_input_type=list[str])
]
BranchExpression = Annotated[Expression, PlainValidator(_branch_pattern, json_schema_input_type=str)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]
