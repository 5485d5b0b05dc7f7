"""Valid but easily misunderstood parts of a configuration."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.config.assignment import late_tags
from tidegate.config.loaded import LoadedConfiguration, Misleading
from tidegate.config.refusals import MOST_LISTED
from tidegate.config.rules.config_updates import placeholders
from tidegate.config.substitution import PREFIX
from tidegate.documents.document import Document, Path
from tidegate.roots.rules.nearest import nearest
from tidegate.roots.rules.root_query import TagQuery, parse_tag_query
from tidegate.rules.access import Person, matches
from tidegate.rules.errors import quoted
from tidegate.rules.permission import Permission

_REFERENCE = re.compile(rf"\$\{{{PREFIX}([A-Z0-9_]+)\}}")
_STACK, _BRANCHES = "stack_name:", ("branch:", "dest_branch:")


def misleading(document: Document, loaded: LoadedConfiguration) -> tuple[Misleading, ...]:
    """Return the warnings, in the order of lines, up to the limit."""
    found = [*islice(_of_queries(document, loaded), MOST_LISTED), *islice(_unset(loaded), MOST_LISTED)]
    found += [*_idle(document, loaded), *_alike(document, loaded), *_unlockable(document, loaded)]
    return tuple(sorted(found, key=lambda each: (each.line, each.column)))


def undeclared(query: TagQuery, loaded: LoadedConfiguration) -> bool:
    """Tell whether a query has a stack or branch tag that no root ever has: ``misleading`` reports that."""
    return any(_undeclared(query, _known(loaded)))


def _idle(document: Document, loaded: LoadedConfiguration) -> Iterator[Misleading]:
    """Yield a sentence for a key without effect."""
    if loaded.applying.merge_after and not loaded.applying.in_pull_request:
        line, column = document.place(("merge_after_apply",))
        yield Misleading(line, column, "merge_after_apply has no effect without apply: in_pull_request.")


def _unlockable(document: Document, loaded: LoadedConfiguration) -> Iterator[Misleading]:
    """Yield a sentence for each policy that limits who applies or reviews, and lets everybody unlock."""
    for number, policy in enumerate(loaded.policies or ()):
        access = policy.access
        if _is_open(access.unlock) and not (_is_open(access.apply) and _is_open(access.review)):
            line, column = document.place(("access_control", "policies", number))
            words = "apply or review is limited, but everybody with write permission may unlock. Set unlock as well."
            yield Misleading(line, column, words)


def _is_open(grantees: Collection[str]) -> bool:
    """Tell whether everybody with write permission is among them."""
    anybody = Person("", Permission.WRITE)
    return any(matches(each, anybody) for each in grantees)


def _alike(document: Document, loaded: LoadedConfiguration) -> Iterator[Misleading]:
    """Yield a sentence for a command that gets the images of several sets, and not whose they are."""
    updates = loaded.config_updates
    if updates and len(updates.sets) > 1 and not {"set", "file"}.intersection(placeholders(updates.commands.introduce)):
        line, column = document.place(("config_updates", "commands", "introduce"))
        words = "There are several image sets, but commands.introduce uses neither {set} nor {file} to tell them apart."
        yield Misleading(line, column, words)


def _queries(loaded: LoadedConfiguration) -> Iterator[tuple[Path, TagQuery]]:
    """Yield all queries of the file except those of stacks."""
    for number, check in enumerate(loaded.checks or ()):
        yield ("apply_requirements", "checks", number, "tag_query"), check.query
    for number, policy in enumerate(loaded.policies or ()):
        yield ("access_control", "policies", number, "tag_query"), policy.query
    for number, workflow in enumerate(loaded.workflows):
        yield ("workflows", number, "tag_query"), workflow.query
    for held in loaded.policy_sets:
        yield ("policy_sets", held.name, "tag_query"), held.query
    for number, freeze in enumerate(loaded.freezes):
        yield ("freeze", number, "tag_query"), parse_tag_query(freeze.query)
    for number, told in enumerate(loaded.notifications):
        yield ("notifications", number, "tag_query"), parse_tag_query(told.query)
    for schedule in loaded.drift.schedules:
        yield ("drift", "schedules", schedule.name, "tag_query"), schedule.query
    if loaded.defaults.depends_on:
        yield ("when_modified", "depends_on"), loaded.defaults.depends_on


def _of_queries(document: Document, loaded: LoadedConfiguration) -> Iterator[Misleading]:
    known = _known(loaded)
    for path, query in _queries(loaded):
        line, column = document.place(path)
        yield from (Misleading(line, column, text) for text in (*_warnings(query), *_unknown(query, known)))
    for stack in loaded.stacks:
        line, column = document.place(("stacks", "names", stack.definition.name, "tag_query"))
        if stack.query:
            late = late_tags(stack.query)
            yield from (Misleading(line, column, text) for text in (*_warnings(stack.query), *([late] if late else [])))
    yield from dict.fromkeys(_of_declarations(loaded, known))


def _of_declarations(loaded: LoadedConfiguration, known: Collection[str]) -> Iterator[Misleading]:
    for declaration in (*loaded.declarations.values(), *(each.declaration for each in loaded.globs)):
        if declaration.depends_on and declaration.depends_on is not loaded.defaults.depends_on:
            for text in (*_warnings(declaration.depends_on), *_unknown(declaration.depends_on, known)):
                yield Misleading(declaration.line, 1, f"depends_on: {text}")


def _warnings(query: TagQuery) -> Iterator[str]:
    return (f"column {at} of the tag query: {sentence}." for at, sentence in query.warnings)


def _known(loaded: LoadedConfiguration) -> Collection[str]:
    """Return the tags of stacks and branches that roots may get."""
    stacks = {DEFAULT_STACK, *(each.definition.name for each in loaded.stacks)}
    branches = {f"branch:{name}" for name, _ in loaded.branch_tags}
    destinations = {f"dest_branch:{name}" for name, _ in loaded.dest_branch_tags}
    return {*(f"{_STACK}{name}" for name in stacks), *branches, *destinations}


def _unknown(query: TagQuery, known: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each tag of a stack or of a branch that no root ever has."""
    for tag in _undeclared(query, known):
        kind, _, name = tag.partition(":")
        names = [each.partition(":")[2] for each in known if each.startswith(f"{kind}:")]
        near = nearest(name, names)
        where = "stacks.names" if tag.startswith(_STACK) else "the key 'tags'"
        advice = f"Did you mean {quoted(f'{kind}:{near}')}?" if near else f"Declare it under {where}."
        yield f"no root can have the tag {quoted(tag)}. {advice}"


def _undeclared(query: TagQuery, known: Collection[str]) -> Iterator[str]:
    return (tag for tag in query.tags if tag.startswith((_STACK, *_BRANCHES)) and tag not in known)


def _unset(loaded: LoadedConfiguration) -> Iterator[Misleading]:
    """Yield a sentence for each variable that no stack sets: roots that use it cannot be deployed."""
    known = {name for stack in loaded.stacks for name, _ in stack.definition.variables}
    for lines in (*(each.lines for each in loaded.workflows), loaded.hooks.lines):
        for text, line in lines.items():
            for name in dict.fromkeys(_REFERENCE.findall(text)):
                if name not in known:
                    near = nearest(name, known)
                    advice = f" Did you mean {PREFIX}{near}?" if near else ""
                    yield Misleading(line, 1, f"no stack sets the variable {PREFIX}{name}.{advice}")
