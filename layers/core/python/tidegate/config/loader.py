"""From the file's bytes to roots, or to one refusal that says where, what, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tidegate.config.document import KEY, Document, Path, read_document
from tidegate.config.model import FILE, WHEN_MODIFIED, Configuration, EngineSection, ReviewSection, keys_at
from tidegate.config.patterns import check_patterns
from tidegate.domain.errors import InvalidConfiguration, InvalidName, quoted
from tidegate.domain.requirements import Requirements
from tidegate.domain.review_rule import PlanReview, ReviewRule
from tidegate.domain.root import Engine, Root, directory, root_name
from tidegate.domain.root_discovery import default_root_name


@dataclass(frozen=True, slots=True)
class DeclaredRoot:
    """A root that the file declares, the patterns of the files that change it, and who reviews its plans."""

    root: Root
    when_modified: tuple[str, ...]
    review_rule: ReviewRule = field(default_factory=ReviewRule)


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """What a file says. ``roots`` is None when it declares none, so that they are to be discovered.

    ``review_rule`` is that of roots without one of their own, ``requirements`` those of deploys by hand.
    """

    engine: Engine
    when_modified: tuple[str, ...]
    roots: tuple[DeclaredRoot, ...] | None
    review_rule: ReviewRule = field(default_factory=ReviewRule)
    requirements: Requirements = field(default_factory=Requirements)

    def rule_of(self, root: Root) -> ReviewRule:
        """Return who reviews the plans of a root: as declared for it, or else as for every root.

        A root of another commit may have the name of one declared root and the place of another: what waits
        under the rule of either waits then, so that a new name is no way around a review.
        """
        rules = [each.review_rule for each in self.roots or () if _is_same(each.root, root)]
        return reduce(ReviewRule.and_also, rules) if rules else self.review_rule


def without_file(review: PlanReview = PlanReview.ALWAYS) -> LoadedConfiguration:
    """Return what holds without a file. ``review`` is the installation's default."""
    return LoadedConfiguration(Engine(), WHEN_MODIFIED, None, ReviewRule(review))


def _is_same(declared: Root, root: Root) -> bool:
    return declared.name == root.name or (declared.dir, declared.workspace) == (root.dir, root.workspace)


def load_configuration(
    raw: bytes, repository: str, review: PlanReview = PlanReview.ALWAYS, file: str = FILE
) -> LoadedConfiguration:
    """Return what the file says about ``repository`` (``owner/name``). Raise InvalidConfiguration.

    ``review`` tells which plans wait for people where the file does not.
    """
    document = read_document(file, raw)
    if document.content is None:
        raise document.refusal((), "the file is empty, or larger than 1 MiB", "Write at least: version: 1")
    if not isinstance(document.content, dict):
        raise document.refusal((), "the file is not a mapping", f"Allowed here: {', '.join(keys_at(()))}")
    try:
        configuration = Configuration.model_validate(document.content)
    except ValidationError as error:
        raise _first([_refusal(document, each) for each in error.errors()]) from None
    rule = configuration.plan_review.rule(ReviewRule(review))
    roots = _declared(document, configuration, repository, rule) if configuration.declares_roots else None
    return LoadedConfiguration(
        configuration.engine.engine,
        configuration.when_modified,
        roots,
        rule,
        configuration.apply_requirements.requirements,
    )


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


def _reviews(*sections: ReviewSection | None) -> tuple[ReviewSection, ...]:
    """Return the sections that are given, the outer first."""
    return tuple(section for section in sections if section is not None)


def _entries(configuration: Configuration) -> Iterator[_Entry]:
    for number, root in enumerate(configuration.roots or ()):
        where: Path = ("roots", number)
        yield _Entry(
            where, root.name, root.dir, root.workspace, root.engine, root.when_modified, _reviews(root.plan_review)
        )
    for written, section in (configuration.dirs or {}).items():
        place: Path = ("dirs", written)
        if not section.workspaces:
            yield _Entry(
                place,
                section.name,
                directory(written),
                "default",
                section.engine,
                section.when_modified,
                _reviews(section.plan_review),
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
            )


def _declared(
    document: Document, configuration: Configuration, repository: str, around: ReviewRule
) -> tuple[DeclaredRoot, ...]:
    """Return the declared roots. Refuse two with one name, and two that would share a state."""
    lines: dict[tuple[str, ...], int] = {}
    found = []
    for entry in _entries(configuration):
        name = entry.name or _default_name(document, entry, repository)
        _claim(document, entry, lines, ("name", name), f"the root name {name!r} is used a second time")
        same = f"a root has the directory {entry.dir!r} and the workspace {entry.workspace!r} already"
        _claim(document, entry, lines, ("state", entry.dir, entry.workspace), same)
        patterns = configuration.when_modified if entry.when_modified is None else entry.when_modified
        _check_patterns(document, entry, patterns)
        engine = (entry.engine or configuration.engine).engine
        rule = reduce(lambda outer, inner: inner.rule(outer), entry.plan_review, around)
        found.append(DeclaredRoot(Root(name, entry.dir, entry.workspace, engine), patterns, rule))
    return tuple(found)


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


def _first(refusals: list[InvalidConfiguration]) -> InvalidConfiguration:
    return min(refusals, key=lambda refusal: (refusal.line, refusal.column or 0))


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
