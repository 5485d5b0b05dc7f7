"""Parse commands in comments: like a command line, but never executed.

::

    tidegate plan [-p ROOT]... [-d DIR]... [-- OPTION...]
    tidegate plan [TAG QUERY] [-- OPTION...]
    tidegate apply [-p ROOT]...
    tidegate deploy [-p ROOT]... [-d DIR]... [--force]
    tidegate deploy [TAG QUERY] [--force]
    tidegate destroy -p ROOT...
    tidegate lock [-p ROOT | --stack STACK | --all] [--for 2h] [--reason TEXT]
    tidegate unlock [-p ROOT | --stack STACK | --all]
    tidegate approve [-p ROOT]... [--yes] [ROOT | STACK | DIGEST] [REASON]
    tidegate reject [-p ROOT]... [ROOT | STACK | DIGEST] [REASON]
    tidegate cancel [-p ROOT]... [--apply]
    tidegate help
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tidegate.comments.texts.help import usage
from tidegate.deploys.rules.locking import DURATION, LONGEST_REASON
from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.repository_locks import WHOLE
from tidegate.roots.rules.nearest import did_you_mean
from tidegate.roots.rules.query_words import InvalidTagQuery
from tidegate.roots.rules.root import directory, root_name
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.rules.errors import InvalidName
from tidegate.texts.markdown import code, escaped, fenced, plain

#: Roots, directories and options in one command at most.
MAXIMUM_ROOTS = 50
#: Characters of a tag query up to which an error's column is shown.
_SHOWN = 200
_STACK, _ALL, _FOR = ("--stack",), ("--all",), ("--for",)
_ROOT, _DIRECTORY, _FORCE = ("-p", "--root", "--project"), ("-d", "--dir"), ("--force",)
_INTERRUPT = "--apply"
#: Says that what a plan destroys in a protected stack is meant.
_YES = "--yes"
#: Words of engines and other tools that mean something else here.
_ENGINE_WORDS = frozenset({"init", "import", "state", "taint", "validate", "refresh"})
_ENGINES = frozenset({"terraform", "tofu", "opentofu"})
#: Words that people might use to approve, and the right command for each.
_REVIEW_HINT = "`approve` approves a plan that waits for its review, and `reject` rejects it."
_POLICY_HINT = "A comment cannot override a policy set: its owners must approve the newest commit in a review."
_INSTEAD = {
    "accept": _REVIEW_HINT,
    **dict.fromkeys(("approve_policies", "approve-policies"), _POLICY_HINT),
}
#: What commands were before: check runs that wait still show them.
_RENAMED = {"confirm": "approve"}
#: Separates a tag query from the engine's options, unless it is quoted.
_SEPARATOR = re.compile(r"""'(?:[^'\\]|\\.?)*+'?|"(?:[^"\\]|\\.?)*+"?|(?<!\S)--(?!\S)""")
#: Ends a tag query.
_FORCED = re.compile(r"(?<=\s)--force$")
#: The prefix of a plan's SHA-256, long enough to be unique.
_DIGEST = re.compile(r"[0-9a-f]{12,64}")
#: Begins the reason of a lock, which is free text.
_REASON = re.compile(r"(?<!\S)--reason(?:=|\s|$)")


class Verb(StrEnum):
    """The commands."""

    PLAN = "plan"
    APPLY = "apply"
    DEPLOY = "deploy"
    DESTROY = "destroy"
    LOCK = "lock"
    UNLOCK = "unlock"
    APPROVE = "approve"
    REJECT = "reject"
    CANCEL = "cancel"
    HELP = "help"


_FLAGS: dict[Verb, tuple[str, ...]] = {
    Verb.PLAN: (*_ROOT, *_DIRECTORY),
    Verb.APPLY: _ROOT,
    Verb.DEPLOY: (*_ROOT, *_DIRECTORY, *_FORCE),
    Verb.DESTROY: _ROOT,
    Verb.LOCK: (*_ROOT, *_STACK, *_ALL, *_FOR, "--reason"),
    Verb.UNLOCK: (*_ROOT, *_STACK, *_ALL),
    Verb.APPROVE: (*_ROOT, _YES, "--reason"),
    Verb.REJECT: (*_ROOT, "--reason"),
    Verb.CANCEL: (*_ROOT, _INTERRUPT),
    Verb.HELP: (),
}


#: Why these need no force.
_FORCELESS = {
    Verb.PLAN: "Plans have no requirements that `--force` could bypass.",
    Verb.APPLY: "Its requirements must be met first.",
    Verb.DESTROY: "A destroy plan always needs a review.",
    Verb.LOCK: "An existing lock stays until somebody unlocks it.",
    Verb.UNLOCK: "Anyone with write access to this repository can unlock.",
    Verb.APPROVE: "An operator can override requirements on the deployment's page.",
    Verb.REJECT: "Anyone who may review a plan can reject it.",
    Verb.CANCEL: "To interrupt an apply, write `--apply`.",
}


@dataclass(frozen=True, slots=True)
class Command:
    """A command: for which roots (without names: all that the pull request changes), and whether forced.

    A ``plan`` or ``deploy`` may name directories beside the roots, or have a tag ``query`` instead, which is valid;
    ``options`` are the engine's, not validated; ``reason`` is that of a ``lock`` or a review, ``duration`` how long a
    lock lasts, and ``scope`` the stack, or ``*`` for all roots, to lock or unlock. ``digest`` is the prefix of a
    reviewed plan's SHA-256, ``name`` a root or a stack whose plans are reviewed, ``confirmed`` that what they destroy
    in a protected stack is meant; ``interrupts`` tells that an apply is cancelled, too.
    """

    verb: Verb
    roots: tuple[str, ...] = ()
    force: bool = False
    directories: tuple[str, ...] = ()
    query: str = ""
    options: tuple[str, ...] = ()
    reason: str = ""
    scope: str = ""
    duration: str = ""
    digest: str = ""
    interrupts: bool = False
    name: str = ""
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Misread:
    """An invalid command: what is wrong and what to write instead, in Markdown."""

    reply: str


class _RefusalError(Exception):
    """Why a word is invalid, in Markdown."""


def read_comment(text: str, prefix: str = "tidegate") -> Command | Misread:
    """Return the command in a comment of one line. Its first word is one of the configured prefixes.

    ``prefix`` is used in the answers' examples.
    """
    try:
        return _command(text, prefix)
    except _RefusalError as refusal:
        return Misread(f"{refusal}\n\n{usage(prefix)}")


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise _RefusalError("The command has an unclosed quote, or ends with a backslash.") from None


def _command(text: str, prefix: str) -> Command:
    first = text.split(maxsplit=2)
    if len(first) == 1:
        raise _RefusalError("The command is missing.")
    verb, rest = _verb(first[1], prefix), "".join(first[2:])
    match verb:
        case Verb.HELP:
            return Command(verb)
        case Verb.PLAN:
            return _plan(rest, prefix)
        case Verb.DEPLOY:
            return _deploy(rest.strip(), prefix)
        case Verb.LOCK:
            return _lock(rest, prefix)
        case Verb.APPROVE | Verb.REJECT | Verb.CANCEL:
            return _cancel(_words(rest), prefix) if verb is Verb.CANCEL else _review(rest, verb, prefix)
        case _:
            return _flags(_words(rest), verb, prefix)


def _plan(rest: str, prefix: str) -> Command:
    """Parse the rest of ``plan``. A tag query is not split into words."""
    selection, options = _parts(rest)
    if not selection or selection.startswith("-"):
        command = _flags(_words(selection), Verb.PLAN, prefix)
    else:
        command = Command(Verb.PLAN, query=_query(selection))
    return replace(command, options=_few(_words(options), "options"))


def _deploy(rest: str, prefix: str) -> Command:
    """Parse the rest of ``deploy``: options, or a tag query, and ``--force``."""
    if not rest or rest.startswith("-"):
        return _flags(_words(rest), Verb.DEPLOY, prefix)
    query = _FORCED.sub("", rest).rstrip()
    return Command(Verb.DEPLOY, query=_query(query), force=query != rest)


def _lock(rest: str, prefix: str) -> Command:
    """Parse the rest of ``lock``. The reason is all after its option, with or without quotes."""
    found = _REASON.search(rest)
    if found is None:
        return _flags(_words(rest), Verb.LOCK, prefix)
    reason = rest[found.end() :].strip().strip("\"'")
    if not reason:
        raise _RefusalError("`--reason` needs a text, such as `--reason the vendor moves the database`.")
    if len(reason) > LONGEST_REASON:
        raise _RefusalError(f"A reason can have at most {LONGEST_REASON} characters.")
    return replace(_flags(_words(rest[: found.start()]), Verb.LOCK, prefix), reason=reason)


def _review(rest: str, verb: Verb, prefix: str) -> Command:
    """Parse the rest of ``approve`` and ``reject``: options, what is meant, and then the reason, which is free text."""
    words = list(re.finditer(r"\S+", rest))
    flags: list[str] = []
    name, digest, reason, confirmed = "", "", "", False
    while words:
        word = words.pop(0)
        said = word.group()
        is_digest = _DIGEST.fullmatch(said.lower()) is not None
        if explains := _REASON.match(rest, word.start()):
            reason = rest[explains.end() :].strip().strip("\"'")
            break
        if said == _YES and verb is Verb.APPROVE:
            confirmed = True
        elif said.startswith("-"):
            flags += [said, *([words.pop(0).group()] if said in _ROOT and words else [])]
        elif name or digest or (flags and not is_digest):
            reason = rest[word.start() :].strip()
            break
        elif is_digest:
            digest = said.lower()
        else:
            name = _name(root_name, "root or a stack", said)
    if len(reason) > MAXIMUM_REASON:
        raise _RefusalError(f"A reason can have at most {MAXIMUM_REASON} characters.")
    return replace(_flags(flags, verb, prefix), name=name, digest=digest, reason=reason, confirmed=confirmed)


def _cancel(words: Sequence[str], prefix: str) -> Command:
    """Parse the rest of ``cancel``."""
    found = (at for at, word in enumerate(words) if word == _INTERRUPT and words[max(at - 1, 0)] not in _ROOT)
    at = next(found, None)
    if at is None:
        return _flags(words, Verb.CANCEL, prefix)
    return replace(_flags([*words[:at], *words[at + 1 :]], Verb.CANCEL, prefix), interrupts=True)


def _parts(rest: str) -> tuple[str, str]:
    """Return what is to be planned, and the engine's options, as they are written."""
    for found in _SEPARATOR.finditer(rest):
        if found.group() == "--":
            return rest[: found.start()].strip(), rest[found.end() :].strip()
    return rest.strip(), ""


def _query(text: str) -> str:
    try:
        return parse_tag_query(text).text
    except InvalidTagQuery as error:
        raise _RefusalError(_pointing(text, error)) from None


def _pointing(text: str, error: InvalidTagQuery) -> str:
    """Return an error in a tag query, with a mark below its column, if that is visible."""
    said = f"The tag query fails at column {error.column}: {escaped(error.problem)}. {escaped(error.allowed)}."
    if error.column > _SHOWN or plain(text) != text:
        return said
    mark = " " * (error.column - 1) + "^"
    shown = "\n".join((text[:_SHOWN], mark))
    return f"{said}\n\n{fenced(shown)}"


def _flags(words: Sequence[str], verb: Verb, prefix: str) -> Command:
    roots: list[str] = []
    directories: list[str] = []
    force, scope, duration = False, "", ""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if flag in _ROOT:
            roots.append(_name(root_name, "root", value if equals else _next(rest, flag, "root")))
        elif flag in _DIRECTORY and _DIRECTORY[0] in _FLAGS[verb]:
            directories.append(_name(directory, "directory", value if equals else _next(rest, flag, "directory")))
        elif flag in _STACK and _STACK[0] in _FLAGS[verb]:
            scope = value if equals else _next(rest, flag, "stack")
        elif word in _ALL and _ALL[0] in _FLAGS[verb]:
            scope = WHOLE
        elif flag in _FOR and _FOR[0] in _FLAGS[verb]:
            duration = _duration(value if equals else _next(rest, flag, "duration"))
        elif word in _FORCE and verb is Verb.DEPLOY:
            force = True
        else:
            raise _unknown(word, verb, prefix)
    if scope and roots:
        raise _RefusalError("Use only one of roots, a stack and `--all`.")
    named = _few(roots, "roots"), force, _few(directories, "directories")
    return Command(verb, *named, scope=scope, duration=duration)


def _duration(text: str) -> str:
    if not re.fullmatch(DURATION, text):
        raise _RefusalError(f"{code(text, 60)} is not a duration. Use minutes, hours or days, such as `90m` or `2h`.")
    return text


def _few(names: Sequence[str], what: str) -> tuple[str, ...]:
    once = tuple(dict.fromkeys(names))
    if len(once) > MAXIMUM_ROOTS:
        raise _RefusalError(f"A comment can name at most {MAXIMUM_ROOTS} {what}.")
    return once


def _verb(word: str, prefix: str) -> Verb:
    lowered = _RENAMED.get(word.lower(), word.lower())
    if lowered in {"-h", "--help"}:
        return Verb.HELP
    if lowered in set(Verb):
        return Verb(lowered)
    if lowered in _ENGINES or lowered in _ENGINE_WORDS:
        raise _RefusalError(_engine_hint(word, prefix))
    instead = _INSTEAD.get(lowered) or did_you_mean(word, list(Verb))
    raise _RefusalError(_sentences(f"{code(word, 60)} is not a command.", instead))


def _engine_hint(word: str, prefix: str) -> str:
    return (
        f"{code(word, 60)} is a command of Terraform or OpenTofu, which Tidegate runs for you. `{prefix} deploy` "
        "plans, shows the plan for review, and applies exactly that plan once it is approved."
    )


def _next(rest: list[str], flag: str, what: str) -> str:
    if not rest or rest[0].startswith("-"):
        raise _RefusalError(f"{code(flag)} needs the name of a {what}.")
    return rest.pop(0)


def _name(normal: Callable[[str], str], what: str, name: str) -> str:
    try:
        return normal(name)
    except InvalidName as error:
        raise _RefusalError(f"{code(name, 60)} is not a valid name for a {what}: {error.advice}.") from None


def _unknown(word: str, verb: Verb, prefix: str) -> _RefusalError:
    flags = _FLAGS[verb]
    if word in _FORCE:
        return _RefusalError(_sentences(f"`{verb}` does not accept {code(word)}.", _FORCELESS[verb]))
    if word.startswith("-"):
        near = did_you_mean(word, flags)
        after = f"Options for the engine go after `--`: `{prefix} plan -- OPTION`." if verb is Verb.PLAN else ""
        return _RefusalError(_sentences(f"`{verb}` has no option {code(word, 60)}.", near, after))
    return _RefusalError(
        f"Unexpected argument {code(word, 60)}. Name a root with `-p`, such as "
        f"{code(f'{prefix} {verb} -p {word}', 100)}."
    )


def _sentences(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
