"""Refusals: one for each mistake in a file, with its location, the problem, and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from pydantic_core import ErrorDetails

from tidegate.changes.rules.stack import StackDefinition, StackRules
from tidegate.changes.rules.stack import unknown_stacks as unknown_among
from tidegate.config.model.file import SECTIONS
from tidegate.config.model.stacks import MOST_STACKS
from tidegate.config.section import Section, keys_at
from tidegate.documents.document import KEY, Document, Path
from tidegate.roots.rules.nearest import COMPARED, nearest
from tidegate.rules.errors import InvalidConfiguration, InvalidStacks, UnknownStack, quoted

#: What pydantic puts into a place for a key of a mapping that is itself wrong.
_OF_KEY = "[key]"


#: The limit of reported mistakes per file: a bad file must not take long.
MOST_LISTED = 100


def refusals_of(document: Document, errors: Sequence[ErrorDetails]) -> list[InvalidConfiguration]:
    """Return what is wrong where the models of the file do not take it: the first mistakes in the file's order."""
    if len(errors) > MOST_LISTED:
        errors = nsmallest(MOST_LISTED, errors, key=lambda error: document.place(_path(document, error["loc"])))
    return [refusal_of(document, error) for error in errors]


def refusal_of(
    document: Document, error: ErrorDetails, sections: Mapping[tuple[str, ...], type[Section]] = SECTIONS
) -> InvalidConfiguration:
    """Return what is wrong where the models of the file, with these sections, do not take it."""
    path = _path(document, error["loc"])
    match error["type"]:
        case "extra_forbidden":
            return _unknown_key(document, path, keys_at(sections, error["loc"][:-1]))
        case "missing" | "union_tag_not_found":
            key = error["loc"][-1] if error["type"] == "missing" else "type"
            return document.refusal(path, f"missing key {key!r}", "Add it")
        case "union_tag_invalid":
            return _unknown_kind(document, path, error["ctx"])
        case "model_type":
            return document.refusal(path, f"{_shown(error['input'])} is not valid here", "It should be a mapping")
        case "refused":
            return document.refusal(path, error["ctx"]["problem"], error["ctx"]["allowed"])
    return document.refusal(path, f"{_shown(error['input'])} is not valid here", _sentence(error["msg"]))


def refusal_of_stacks(document: Document, mistake: InvalidStacks) -> InvalidConfiguration:
    """Return what is wrong between stacks, at the key that says it."""
    here: Path = ("stacks", "names", mistake.stack)
    named = mistake.named if isinstance(mistake, UnknownStack) else None
    places = list(_stack_places(document, here, mistake.path, named))
    problem = f"stack {quoted(mistake.stack)}: {mistake.problem}"
    return document.refusal(places[0] if places else here, problem, mistake.allowed)


def unknown_stacks(document: Document, told: Sequence[InvalidConfiguration]) -> list[InvalidConfiguration]:
    """Return which stacks are named and not declared, of a file with mistakes that are told already.

    Whatever else such a file means is not known; that names are missing is, as all that are declared can be read.
    """
    names = _at(document, ("stacks", "names"))
    readable = isinstance(names, dict) and len(names) <= MOST_STACKS
    mistakes = unknown_among([_names_in(document, name) for name in names]) if readable else []
    found = (refusal_of_stacks(document, each) for each in mistakes)
    taken = {(each.line, each.column) for each in told}
    return [each for each in found if (each.line, each.column) not in taken]


def repeated_names(document: Document) -> list[InvalidConfiguration]:
    """Return which written names of roots are repeated, of a file with other mistakes: as many as are listed."""
    lines: dict[str, int] = {}
    found = []
    for path in _roots_in(document.content):
        name = _at(document, (*path, "name"))
        if not isinstance(name, str):
            continue
        if name in lines:
            problem = f"duplicate root name {quoted(name)}"
            found.append(document.refusal((*path, "name"), problem, f"It is already used on line {lines[name]}"))
        lines.setdefault(name, document.place(path)[0])
    return found[:MOST_LISTED]


def _roots_in(content: dict[str, Any]) -> Iterator[Path]:
    """Yield where roots are declared that may have a name."""
    roots, dirs = content.get("roots"), content.get("dirs")
    yield from (("roots", number) for number in range(len(roots) if isinstance(roots, list) else 0))
    yield from (("dirs", written) for written in (dirs if isinstance(dirs, dict) else ()))


def _names_in(document: Document, stack: str) -> StackDefinition:
    """Return what a stack says of others, as far as it is a list of names."""
    after, plan_after, modified_by, contains = (
        tuple(name for keys in _STACK_KEYS[kind] for name in _texts(_at(document, ("stacks", "names", stack, *keys))))
        for kind in ("apply_after", "plan_after", "modified_by", "contains")
    )
    return StackDefinition(stack, contains, rules=StackRules(after, plan_after, modified_by))


def _texts(value: Any) -> list[str]:
    """Return the texts of a list that may be names, each once."""
    items = value if isinstance(value, list) else []
    return list(dict.fromkeys(each for each in items if isinstance(each, str) and len(each) <= COMPARED))


def _stack_places(document: Document, here: Path, path: Sequence[str], named: str | None) -> Iterator[Path]:
    """Yield where in a stack's section something is said that the rules call by another name."""
    content = _at(document, here)
    if path[0] == "variables":
        yield from ((*here, "variables", name, KEY) for name in content["variables"] if name.upper() == path[1])
    for keys in _STACK_KEYS.get(path[0], (path,)):
        value = _at(document, (*here, *keys))
        if isinstance(value, list) and named in value:
            yield (*here, *keys, value.index(named))
        elif value is not None and named is None:
            yield (*here, *keys)


#: Where in a stack's section stands what the rules of stacks know by one name.
_STACK_KEYS: dict[str, tuple[Sequence[str], ...]] = {
    "contains": (("stacks",),),
    "apply_after": (("rules", "apply_after"), ("on_change", "can_apply_after"), ("on_change", "apply_after")),
    "plan_after": (("rules", "plan_after"),),
    "modified_by": (("rules", "modified_by"),),
    "auto_apply": (("rules", "auto_apply"),),
    "protected": (("rules", "protected"),),
    "run_strategy": (("on_change", "run_strategy"),),
}


def _at(document: Document, path: Sequence[str | int]) -> Any:
    """Return what stands at a path, None where nothing does."""
    content = document.content
    for part in path:
        content = content[part] if part in _parts(content) else None
    return content


def _path(document: Document, loc: Sequence[str | int]) -> Path:
    """Return the place in the file of what the models know by ``loc``: they also count kinds, and long forms."""
    path: list[str | int] = []
    content = document.content
    for number, part in enumerate(loc):
        if part in _parts(content):
            content = content[part]
            path.append(part)
        elif part == _OF_KEY and number == len(loc) - 1:
            path.append(KEY)
    return tuple(path)


def _parts(content: Any) -> Container[str | int]:
    """Return by what the parts of a mapping or a list are found."""
    if isinstance(content, dict):
        return content
    return range(len(content)) if isinstance(content, list) else ()


def _unknown_key(document: Document, path: Path, allowed: Sequence[str]) -> InvalidConfiguration:
    key = str(path[-1])
    near = nearest(key, allowed)
    known = "docs/configuration.md lists all keys"
    advice = f"Did you mean {near!r}? {known}" if near else f"Allowed keys: {', '.join(allowed)}"
    return document.refusal((*path, KEY), f"unknown key {_shown(key)}", advice)


def _unknown_kind(document: Document, path: Path, context: dict[str, Any]) -> InvalidConfiguration:
    kinds = [kind.strip(" '") for kind in context["expected_tags"].split(",")]
    near = nearest(str(context["tag"]), kinds)
    advice = (f"Did you mean {near!r}? " if near else "") + f"Step types: {', '.join(kinds)}"
    return document.refusal((*path, "type"), f"unknown step type {_shown(context['tag'])}", advice)


def _shown(value: Any) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "nothing"
        case _:
            return quoted(str(value))


#: Pydantic's words, and what stands for them here.
_WORDS = (
    (r"^(Input|String|Tuple|Value|List|Dictionary) should", "It should"),
    (r"a valid (tuple|list)", "a list"),
    (r"a valid dictionary", "a mapping"),
    (r"a valid string", "text"),
    (r"a valid integer", "a number"),
    (r"after validation, not .*|, unable to parse .*|\.$", ""),
)


def _sentence(message: str) -> str:
    """Return pydantic's advice in our form: "Input should be a list" becomes "It should be a list"."""
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    return message.strip()
