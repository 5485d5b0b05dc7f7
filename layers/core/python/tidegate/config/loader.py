"""From the file's bytes to roots, or to one refusal that says where, what, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tidegate.config.document import KEY, Document, Path, read_document
from tidegate.config.loaded import DeclaredRoot, LoadedConfiguration, Misleading, RequirementCheck, without_file
from tidegate.config.model import (
    FILE,
    Configuration,
    DirectorySection,
    EngineSection,
    ReviewSection,
    keys_at,
)
from tidegate.config.patterns import check_patterns
from tidegate.domain.errors import InvalidConfiguration, InvalidName, quoted
from tidegate.domain.review_rule import PlanReview, ReviewRule
from tidegate.domain.root import Root, directory, root_name
from tidegate.domain.root_discovery import default_root_name

__all__ = [
    "DeclaredRoot",
    "LoadedConfiguration",
    "Misleading",
    "RequirementCheck",
    "examine_configuration",
    "load_configuration",
    "without_file",
]


def load_configuration(
    raw: bytes, repository: str, review: PlanReview = PlanReview.ALWAYS, file: str = FILE
) -> LoadedConfiguration:
    """Return what the file says about ``repository`` (``owner/name``). Raise InvalidConfiguration.

    ``review`` tells which plans wait for people where the file does not. Of several mistakes the first is told.
    """
    loaded = examine_configuration(raw, repository, review, file)
    if isinstance(loaded, LoadedConfiguration):
        return loaded
    raise loaded[0]


def examine_configuration(
    raw: bytes, repository: str, review: PlanReview = PlanReview.ALWAYS, file: str = FILE
) -> LoadedConfiguration | list[InvalidConfiguration]:
    """Return what the file says, or everything that is wrong with it, in the order of its lines."""
    try:
        document = read_document(file, raw)
        return _loaded(document, _validated(document), repository, review)
    except InvalidConfiguration as error:
        return [error]
    except ExceptionGroup as group:
        refusals = [each for each in group.exceptions if isinstance(each, InvalidConfiguration)]
        return sorted(refusals, key=lambda refusal: (refusal.line, refusal.column or 0))


def _validated(document: Document) -> Configuration:
    if document.content is None:
        raise document.refusal((), "the file is empty, or larger than 1 MiB", "Write at least: version: 1")
    if not isinstance(document.content, dict):
        raise document.refusal((), "the file is not a mapping", f"Allowed here: {', '.join(keys_at(()))}")
    try:
        return Configuration.model_validate(document.content)
    except ValidationError as error:
        raise ExceptionGroup("mistakes", [_refusal(document, each) for each in error.errors()]) from None


def _loaded(
    document: Document, configuration: Configuration, repository: str, review: PlanReview
) -> LoadedConfiguration:
    rule = configuration.plan_review.rule(ReviewRule(review))
    roots = _declared(document, configuration, repository, rule) if configuration.declares_roots else None
    wanted = configuration.apply_requirements
    checks = None
    if wanted.checks is not None:
        checks = tuple(RequirementCheck(check.tag_query, check.requirements) for check in wanted.checks)
    return LoadedConfiguration(
        configuration.engine.engine,
        configuration.when_modified,
        roots,
        rule,
        wanted.requirements,
        checks,
        tuple(_misleading(document, checks or ())),
    )


def _misleading(document: Document, checks: Sequence[RequirementCheck]) -> Iterator[Misleading]:
    for number, check in enumerate(checks):
        line, column = document.place(("apply_requirements", "checks", number, "tag_query"))
        for at, sentence in check.query.warnings:
            yield Misleading(line, column, f"column {at} of the tag query: {sentence}.")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A root as the file declares it, in either form: what it leaves open is None."""

    path: Path
    name: str | None
    dir: str
    workspace: str
    engine: EngineSection | None
    when_modified: tuple[str, ...] | None
    plan_review: tuple[ReviewSection, ...]
    tags: tuple[str, ...]


def _reviews(*sections: ReviewSection | None) -> tuple[ReviewSection, ...]:
    """Return the sections that are given, the outer first."""
    return tuple(section for section in sections if section is not None)


def _entries(configuration: Configuration) -> Iterator[_Entry]:
    for number, root in enumerate(configuration.roots or ()):
        reviews = _reviews(root.plan_review)
        yield _Entry(
            ("roots", number), root.name, root.dir, root.workspace, root.engine, root.when_modified, reviews, root.tags
        )
    for written, section in (configuration.dirs or {}).items():
        yield from _directory_entries(written, section)


def _directory_entries(written: str, section: DirectorySection) -> Iterator[_Entry]:
    place: Path = ("dirs", written)
    if not section.workspaces:
        reviews = _reviews(section.plan_review)
        yield _Entry(
            place,
            section.name,
            directory(written),
            "default",
            section.engine,
            section.when_modified,
            reviews,
            section.tags,
        )
    for title, inner in section.workspaces.items():
        yield _Entry(
            (*place, "workspaces", title),
            inner.name or (section.name if len(section.workspaces) == 1 else None),
            directory(written),
            title,
            inner.engine or section.engine,
            section.when_modified if inner.when_modified is None else inner.when_modified,
            _reviews(section.plan_review, inner.plan_review),
            (*section.tags, *inner.tags),
        )


def _declared(
    document: Document, configuration: Configuration, repository: str, around: ReviewRule
) -> tuple[DeclaredRoot, ...]:
    """Return the declared roots. Refuse two with one name, and two that would share a state."""
    lines: dict[tuple[str, ...], int] = {}
    found, refusals = [], []
    for entry in _entries(configuration):
        try:
            found.append(_declared_root(document, configuration, entry, lines, repository, around))
        except InvalidConfiguration as refusal:
            refusals.append(refusal)
    if refusals:
        raise ExceptionGroup("mistakes", refusals)
    return tuple(found)


def _declared_root(  # noqa: PLR0917
    document: Document,
    configuration: Configuration,
    entry: _Entry,
    lines: dict[tuple[str, ...], int],
    repository: str,
    around: ReviewRule,
) -> DeclaredRoot:
    name = entry.name or _default_name(document, entry, repository)
    _claim(document, entry, lines, ("name", name), f"the root name {name!r} is used a second time")
    same = f"a root has the directory {entry.dir!r} and the workspace {entry.workspace!r} already"
    _claim(document, entry, lines, ("state", entry.dir, entry.workspace), same)
    patterns = configuration.when_modified if entry.when_modified is None else entry.when_modified
    _check_patterns(document, entry, patterns)
    engine = (entry.engine or configuration.engine).engine
    rule = reduce(lambda outer, inner: inner.rule(outer), entry.plan_review, around)
    tags = tuple(dict.fromkeys(entry.tags))
    return DeclaredRoot(Root(name, entry.dir, entry.workspace, engine), patterns, rule, tags)


def _claim(
    document: Document, entry: _Entry, lines: dict[tuple[str, ...], int], claim: tuple[str, ...], problem: str
) -> None:
    if claim in lines:
        raise document.refusal((*entry.path, "name"), problem, f"The first one is in line {lines[claim]}")
    lines[claim] = document.place(entry.path)[0]


def _default_name(document: Document, entry: _Entry, repository: str) -> str:
    name = default_root_name(repository, entry.dir)
    if entry.workspace != "default":
        name = f"{name}/{entry.workspace}"
    try:
        return root_name(name)
    except InvalidName as error:
        problem = f"the directory {entry.dir!r} cannot be the root's name"
        raise document.refusal((*entry.path, "dir"), problem, f"Give it a name: {error.advice}") from None


def _check_patterns(document: Document, entry: _Entry, patterns: tuple[str, ...]) -> None:
    try:
        check_patterns(entry.dir, patterns)
    except ValueError as error:
        path = (*entry.path, "when_modified")
        raise document.refusal(path, str(error), "Patterns are relative to the root's directory") from None


def _refusal(document: Document, error: ErrorDetails) -> InvalidConfiguration:
    path = error["loc"]
    if error["type"] == "extra_forbidden":
        return _unknown_key(document, path)
    if error["type"] == "missing":
        return document.refusal(path[:-1], f"the key {path[-1]!r} is missing", "Add it")
    if error["type"] == "model_type":
        return document.refusal(path, f"{_shown(error['input'])} is not usable here", "It should be a mapping")
    if error["type"] == "refused":
        return document.refusal(path, error["ctx"]["problem"], error["ctx"]["allowed"])
    return document.refusal(path, f"{_shown(error['input'])} is not usable here", _sentence(error["msg"]))


def _unknown_key(document: Document, path: Path) -> InvalidConfiguration:
    key, allowed = str(path[-1]), keys_at(path[:-1])
    near = difflib.get_close_matches(key, allowed, n=1)
    advice = (f"Did you mean {near[0]!r}? " if near else "") + f"Allowed here: {', '.join(allowed)}"
    return document.refusal((*path, KEY), f"unknown key {_shown(key)}", advice)


def _shown(value: Any) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "nothing"
        case _:
            text = str(value)
            return quoted(text)


_WORDS = {
    "Input should": "It should",
    "a valid tuple": "a list",
    "a valid string": "text",
    "a valid integer": "a number",
}


def _sentence(message: str) -> str:
    """Return pydantic's advice in our form: "Input should be a list" becomes "It should be a list"."""
    for words, ours in _WORDS.items():
        message = message.replace(words, ours)
    return message.rstrip(".")
