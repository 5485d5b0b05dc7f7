"""Replies about chosen roots that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from tidegate.changes.rules.change_set import Candidate
from tidegate.roots.rules.nearest import did_you_mean, meant_tag
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.texts.lists import bullets, code_names, joined
from tidegate.texts.markdown import code, prose

#: Unknown roots for which a similar name is searched: among 10,000 roots that takes a third of a second for each.
_GUESSED = 5


#: Directories and tags that nothing has, of each so many.
_UNKNOWN = 5


def nothing_meant(request: PlanRequest, affected: Sequence[Candidate], done: str = "planned again") -> str:
    """Return that a directory or a tag query matches no changed root, and what there is.

    ``done`` is what would be done.
    """
    why = " ".join(("None of the changed roots matches.", *_unknown_parts(request, affected)))
    there = f"It changes:\n\n{bullets(_by_stack(affected))}" if affected else "It does not change any root."
    otherwise = f"To have a root {done.split(maxsplit=1)[0]} anyway, name it with `-p ROOT`."
    return f"**Nothing is {done}.** {why}\n\n{there}\n\n{otherwise}"


def _unknown_parts(request: PlanRequest, affected: Sequence[Candidate]) -> Iterator[str]:
    """Yield unknown directories and tags of a request, with similar ones."""
    directories = {place for each in affected for place in _around(each.root.dir)}
    for name in request.directories[:_UNKNOWN]:
        yield f"No root is in {code(name)}. {did_you_mean(name, sorted(directories))}".rstrip()
    known = {tag for each in affected for tag in each.tagged.tags}
    for tag in [each for each in parse_tag_query(request.query).tags if each not in known][:_UNKNOWN]:
        yield f"No root has the tag {code(tag)}. {meant_tag(tag, sorted(known))}".rstrip()


def _around(directory: str) -> Iterator[str]:
    """Yield a directory and those that it lies in."""
    parts = directory.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _by_stack(affected: Sequence[Candidate]) -> Iterator[str]:
    """Yield the names of the roots of each stack, with the directories of those that are named otherwise."""
    for stack in dict.fromkeys(each.stack for each in affected):
        roots = [each.root for each in affected if each.stack == stack]
        named = [f"{code(one.name)}{'' if one.name == one.dir else f' (in {code(one.dir)})'}" for one in roots]
        yield f"of stack {code(stack)}: {joined(named)}"


def nothing_changed(notes: Iterable[str]) -> str:
    """Return that there is nothing to deploy or unlock; ``notes`` are further remarks."""
    told = bullets([prose(note) for note in notes])
    base = "**This changes no root**, so there is nothing to do. Name one with `-p ROOT` to choose it."
    return f"{base}\n\n{told}" if told else base


def unknown_roots(unknown: Sequence[str], known: Iterable[str]) -> str:
    """Return which roots do not exist, with similar names. Nothing was done."""
    names = sorted(known)
    meant = [did_you_mean(name, names) for name in unknown[:_GUESSED]]
    lines = [
        f"There is no root {code(name)}. {near}".rstrip() for name, near in zip_longest(unknown, meant, fillvalue="")
    ]
    there = f"The roots are {code_names(names)}." if names else "This repository has no roots yet."
    return f"**Nothing was done.**\n\n{bullets(lines)}\n\n{there}"


def roots_refused(problems: Sequence[str]) -> str:
    """Return why roots cannot be deployed; ``problems`` are sentences. Nothing was done."""
    return f"**Nothing was done.**\n\n{bullets(prose(problem) for problem in problems)}"
