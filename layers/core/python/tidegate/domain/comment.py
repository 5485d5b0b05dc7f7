"""What a comment asks for: read like a command line, but never run.

::

    tidegate deploy [-p ROOT]... [--force]
    tidegate unlock [-p ROOT]...
    tidegate help
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.domain.errors import InvalidName
from tidegate.domain.markdown import code
from tidegate.domain.root import root_name

#: Roots that one command may name.
MAXIMUM_ROOTS = 50
#: Characters of a word that are compared with what is known.
_COMPARED = 200
_ROOT, _FORCE = ("-p", "--root", "--project"), ("--force",)
#: Words of the engines and of other tools, which mean something else here.
_ENGINE_WORDS = frozenset({"plan", "apply", "destroy", "init", "import", "state", "taint", "validate", "refresh"})
_ENGINES = frozenset({"terraform", "tofu", "opentofu"})


class Verb(StrEnum):
    """What may be asked for."""

    DEPLOY = "deploy"
    UNLOCK = "unlock"
    HELP = "help"


_FLAGS: dict[Verb, tuple[str, ...]] = {Verb.DEPLOY: (*_ROOT, *_FORCE), Verb.UNLOCK: _ROOT, Verb.HELP: ()}


@dataclass(frozen=True, slots=True)
class Command:
    """A command: for which roots (none named: all that the pull request changes), and whether by force."""

    verb: Verb
    roots: tuple[str, ...] = ()
    force: bool = False


@dataclass(frozen=True, slots=True)
class Misread:
    """A comment that is no command: what is wrong and what to write instead, in Markdown."""

    reply: str


class _RefusalError(Exception):
    """Why a word cannot be taken, in Markdown."""


def read_comment(text: str, prefix: str = "tidegate") -> Command | Misread:
    """Return what a comment of one line asks for. Its first word is one of the configured prefixes.

    ``prefix`` is how the answers' examples begin.
    """
    try:
        return _command(_words(text)[1:], prefix)
    except _RefusalError as refusal:
        return Misread(f"{refusal}\n\n{usage(prefix)}")


def usage(prefix: str = "tidegate") -> str:
    """Return the commands in short, in Markdown."""
    return (
        f"```\n{prefix} deploy [-p ROOT]... [--force]\n{prefix} unlock [-p ROOT]...\n{prefix} help\n```\n"
        f"`{prefix} help` explains them."
    )


def help_text(prefix: str = "tidegate") -> str:
    """Return what the commands do, in Markdown."""
    return f"""### What you can ask Tidegate for

| Comment | What it does |
|---|---|
| `{prefix} deploy` | Deploys the head of this pull request to every root that it changes, before it is merged. |
| `{prefix} deploy -p ROOT` | Deploys it to this root only. Name several with several `-p`. |
| `{prefix} deploy --force` | Passes over missing approvals, conflicts and failing checks. Recorded in the audit log. |
| `{prefix} unlock` | Unlocks the queues of the roots that this pull request changes: merges deploy again. |
| `{prefix} unlock -p ROOT` | Unlocks the queue of this root only. |
| `{prefix} help` | Shows this. |

A deploy by hand goes before merges that wait, shows its plan as a check run on this pull request's head, \
and waits there for **Confirm** or **Reject** as any other. It locks the queues of its roots: merges wait until \
somebody unlocks them, so that none undoes unseen what was tried here.

Who may write to this repository may ask. Comments must have one line; edits are not read."""


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return a sentence in Markdown that names the nearest of ``known``, empty if none is near."""
    near = nearest(word, known)
    return f"Did you mean {code(near)}?" if near else ""


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Return the one of ``known`` that a word was probably meant to be, if one is near."""
    tried = word[:_COMPARED]
    near = difflib.get_close_matches(tried, known, n=1) or difflib.get_close_matches(tried.lower(), known, n=1)
    return near[0] if near else None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise _RefusalError("A quote is not closed, or a backslash stands at the end.") from None


def _command(words: Sequence[str], prefix: str) -> Command:
    if not words:
        raise _RefusalError("What shall I do?")
    verb = _verb(words[0], prefix)
    roots: list[str] = []
    force = False
    rest = list(words[1:])
    if verb is Verb.HELP:
        return Command(verb)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if flag in _ROOT:
            roots.append(_root(value if equals else _next(rest, flag)))
        elif word in _FORCE and verb is Verb.DEPLOY:
            force = True
        else:
            raise _unknown(word, verb, prefix)
    if len(set(roots)) > MAXIMUM_ROOTS:
        raise _RefusalError(f"One comment may name {MAXIMUM_ROOTS} roots at most.")
    return Command(verb, tuple(dict.fromkeys(roots)), force)


def _verb(word: str, prefix: str) -> Verb:
    lowered = word.lower()
    if lowered in {"-h", "--help"}:
        return Verb.HELP
    if lowered in set(Verb):
        return Verb(lowered)
    if lowered in _ENGINES or lowered in _ENGINE_WORDS:
        raise _RefusalError(_engine_hint(word, prefix))
    raise _RefusalError(_sentences(f"There is no command {code(word, 60)}.", did_you_mean(word, list(Verb))))


def _engine_hint(word: str, prefix: str) -> str:
    return (
        f"{code(word, 60)} is a command of the engine. Tidegate runs the engine itself: `{prefix} deploy` plans, "
        "shows the plan for review, and applies exactly that plan once it is confirmed."
    )


def _next(rest: list[str], flag: str) -> str:
    if not rest or rest[0].startswith("-"):
        raise _RefusalError(f"{code(flag)} needs the name of a root after it.")
    return rest.pop(0)


def _root(name: str) -> str:
    try:
        return root_name(name)
    except InvalidName as error:
        raise _RefusalError(f"{code(name, 60)} cannot be the name of a root: {error.advice}.") from None


def _unknown(word: str, verb: Verb, prefix: str) -> _RefusalError:
    flags = _FLAGS[verb]
    if word in _FORCE:
        return _RefusalError(f"`{verb}` takes no {code(word)}: whoever may write to this repository may unlock.")
    if word.startswith("-"):
        near = did_you_mean(word, flags)
        return _RefusalError(_sentences(f"`{verb}` has no option {code(word, 60)}.", near))
    return _RefusalError(
        f"{code(word, 60)} does not belong here. Name a root with `-p`, such as "
        f"{code(f'{prefix} {verb} -p {word}', 100)}."
    )


def _sentences(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
