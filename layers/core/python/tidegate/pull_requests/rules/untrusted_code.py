"""Check a pull request's root files: its plan must not run programs or fetch code from elsewhere.

This reads the tokens of a file as the engine does, and most of them count wherever they are: after an error, the engine
guesses where the next block begins. An unreadable file is refused (docs/decisions/0179, 0119). No pydantic here: the
runner imports this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.pull_requests.rules.allowed_code import Allowed, Finding, allow_by_name
from tidegate.roots.rules.hcl import Argument, Block, Body, HclFile
from tidegate.roots.rules.hcl_tokens import Kind, Token, decoded

#: Data sources that need their provider allowed by its own name: the effect of each, and its provider.
_DATA = {
    "external": ("runs a program", "hashicorp/external"),
    "http": ("calls a URL", "hashicorp/http"),
    "local_command": ("runs a program", "hashicorp/local"),
}

#: AWS and similar providers: a file in the repository could name a program that gives credentials.
_FILES_OF_CREDENTIALS = re.compile(r"shared_config_files?|shared_credentials_files?|credential_process")
#: Another state is read by a backend with settings of the file's choice: both must be literal here.
_REMOTE_STATE = "terraform_remote_state"
_OWN_TEXT = "No setting can allow it before the merge. Write the literal value."


@dataclass(frozen=True, slots=True)
class Examined:
    """The result for a file: refusals, directories of local modules, and whether it uses modules."""

    findings: tuple[Finding, ...] = ()
    local_modules: frozenset[str] = frozenset()
    uses_modules: bool = False


def examine(name: str, content: bytes, allowed: Allowed) -> Examined:
    """Examine one file of a module, or one with backend settings, in either syntax of the language."""
    if name.endswith(".json"):
        return _examine_json(content.decode("utf-8", "replace"), allowed)
    file = HclFile(content)
    if file.problem:
        return Examined((Finding(file.problem.line, f"this cannot be parsed: {file.problem.what}.", _CORRECT),))
    blocks = list(_all_blocks(file.body))
    modules = [block for block in blocks if block.kind == "module"]
    found = {
        *_unsafe_words(file, allowed),
        *(finding for block in blocks for finding in _unsafe_block(file, block, allowed)),
    }
    sources = (each.text for block in modules for each in block.body.arguments if each.name == "source")
    return Examined(_sorted(found), frozenset(each for each in sources if each and is_local(each)), bool(modules))


def _all_blocks(top: Body) -> Iterator[Block]:
    """Yield the blocks in a body, and those in them."""
    waiting = [top]
    while waiting:
        for block in waiting.pop().blocks:
            yield block
            waiting.append(block.body)


def _sorted(findings: Collection[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda each: (each.line, each.what)))


def is_local(source: str) -> bool:
    """Tell whether a module's source is a directory of the same repository."""
    return source.startswith(("./", "../")) or source in {".", ".."}


def locked_providers(lock_file: str) -> frozenset[str]:
    """Return the addresses of the providers in a dependency lock file; none if it is unreadable."""
    file = HclFile(lock_file.encode())
    return frozenset() if file.problem else frozenset(block.labels[0] for block in file.body.all_of("provider"))


#: Labels that are refused behind a keyword, and their meaning.
_LABELLED = {
    ("backend", "kubernetes"): "the backend 'kubernetes' runs a program that its settings name.",
    ("key_provider", "external"): "the key provider 'external' runs a program.",
    ("method", "external"): "the encryption method 'external' runs a program.",
}


def _unsafe_words(file: HclFile, allowed: Allowed) -> Iterator[Finding]:
    """Yield tokens that are refused anywhere."""
    for number, (kind, text, at) in enumerate(file.tokens):
        if kind is Kind.NAME:
            if named := _FILES_OF_CREDENTIALS.search(text):
                yield Finding(file.line(at), _credentials(named[0]))
            elif text == "state_store":
                yield Finding(file.line(at), _STATE_STORES)
            elif text in _KEYWORDS and (label := _label(text, file.tokens[number + 1 : number + 3])):
                yield from _judged_label(text, label, file.line(at), allowed)
        elif kind in {Kind.STRING, Kind.LITERAL}:
            for match in _FILES_OF_CREDENTIALS.finditer(decoded(text) or text):
                yield Finding(file.line(at), _credentials(match[0]))


def _label(keyword: str, ahead: Sequence[Token]) -> str | None:
    """Return the label behind a keyword; of ``backend`` also the text that it is set to, as of another state."""
    if keyword == "backend" and ahead and ahead[0][:2] == (Kind.OPERATOR, "="):
        ahead = [token for token in ahead[1:] if token[0] is Kind.STRING]
    return _text(ahead[0]) if ahead and ahead[0][0] in {Kind.STRING, Kind.NAME} else None


def _judged_label(keyword: str, label: str, line: int, allowed: Allowed) -> Iterator[Finding]:
    if (keyword, label) in _LABELLED:
        yield Finding(line, _LABELLED[keyword, label])
    if keyword in {"data", "ephemeral"} and label in _DATA:
        does, provider = _DATA[label]
        if not allowed.by_name(provider):
            yield Finding(line, f"the data source {label!a} {does}.", allow_by_name(provider))


def _unsafe_block(file: HclFile, block: Block, allowed: Allowed) -> Iterator[Finding]:
    """Yield refusals that depend on the type of a block."""
    for each in block.body.arguments:
        line = file.line(each.at)
        if block.kind == "module" and each.name == "source":
            yield from _judged_module(each.text, allowed, line)
        elif block.kind == "required_providers":
            yield from _judged_requirement(file, each, allowed)
        elif block.kind == "data" and block.labels[:1] == (_REMOTE_STATE,):
            yield from _judged_remote_state(each, line)


def _judged_requirement(file: HclFile, requirement: Argument, allowed: Allowed) -> Iterator[Finding]:
    """Yield why a required provider is refused. Without a source it is HashiCorp's of this name."""
    value = requirement.value
    sources = [number for number, token in enumerate(value) if _is_key(value, number) and _text(token) == "source"]
    if not sources and (finding := allowed.refused_provider(requirement.name, file.line(requirement.at))):
        yield finding
    for number in sources:
        kind, text, at = value[number + 2] if number + 2 < len(value) else (Kind.NEWLINE, "", requirement.at)
        address = decoded(text) if kind is Kind.STRING else None
        if address is None:
            yield Finding(file.line(at), "the source of a provider is not a plain string, so it cannot be checked.")
        elif finding := allowed.refused_provider(address, file.line(at)):
            yield finding


def _judged_remote_state(argument: Argument, line: int) -> Iterator[Finding]:
    """Yield why it is open which backend reads another state, or with which settings."""
    value = argument.value
    if argument.name == "backend" and argument.text is None:
        yield Finding(
            line, f"the backend of {_REMOTE_STATE} must be a literal string, so that it can be checked.", _OWN_TEXT
        )
    if argument.name != "config":
        return
    if not _is_written_out(value):
        yield Finding(
            line, f"the config of {_REMOTE_STATE} must be written out in braces, so that it can be checked.", _OWN_TEXT
        )
    elif _has_computed_key(value):
        yield Finding(line, f"a key is computed in the config of {_REMOTE_STATE}, so it cannot be checked.", _OWN_TEXT)


def _is_written_out(value: Sequence[Token]) -> bool:
    """Tell whether a value is one literal object."""
    if value[0][:2] != (Kind.OPEN, "{"):
        return False
    first = next((token for token in value[1:] if token[0] is not Kind.NEWLINE), value[0])
    depths = list(_depths(value))
    return first[:2] != (Kind.NAME, "for") and all(depths[:-1])


def _depths(value: Sequence[Token]) -> Iterator[int]:
    """Yield behind each token how many brackets are open."""
    depth = 0
    for kind, _, _ in value:
        depth += (kind is Kind.OPEN) - (kind is Kind.CLOSE)
        yield depth


def _has_computed_key(value: Sequence[Token]) -> bool:
    """Tell whether an object in a value has something else than a plain key where a key stands."""
    around: list[str] = []
    for number, (kind, text, _) in enumerate(value):
        before = value[number - 1][:2] if number else ()
        begins = before in {(Kind.OPEN, "{"), (Kind.OPERATOR, ",")} or before[:1] == (Kind.NEWLINE,)
        if begins and around[-1:] == ["{"] and kind not in {Kind.NEWLINE, Kind.CLOSE} and not _is_key(value, number):
            return True
        if kind is Kind.OPEN:
            around.append(text)
        elif kind is Kind.CLOSE:
            around.pop()
    return False


def _is_key(value: Sequence[Token], number: int) -> bool:
    """Tell whether a token is a plain key of an object."""
    follows = value[number + 1][:2] if number + 1 < len(value) else ()
    return value[number][0] in {Kind.NAME, Kind.STRING} and follows in {(Kind.OPERATOR, "="), (Kind.OPERATOR, ":")}


def _text(token: Token) -> str | None:
    return decoded(token[1]) if token[0] is Kind.STRING else token[1]


def _judged_module(source: object, allowed: Allowed, line: int = 0) -> Iterator[Finding]:
    if not isinstance(source, str) or "\\" in source or "${" in source or "%{" in source:
        yield Finding(line, "the source of a module is not a plain string, so it cannot be checked.")
    elif not is_local(source) and (finding := allowed.refused_module(source, line)):
        yield finding


@dataclass(frozen=True, slots=True)
class _Pair:
    """A key of a JSON object with its value. Objects are tuples of these: a key may occur twice, and both count."""

    key: str
    value: Any


def _examine_json(text: str, allowed: Allowed) -> Examined:
    try:
        document = json.loads(text, object_pairs_hook=lambda pairs: tuple(_Pair(*pair) for pair in pairs))
    except (ValueError, RecursionError):
        return Examined((Finding(0, "this is not valid JSON, so it cannot be checked."),))
    pairs = list(_pairs(document))
    sources = [each.value for block in _under(document, "module") for each in _pairs(block) if each.key == "source"]
    found = [finding for source in sources for finding in _judged_module(source, allowed)]
    found += (finding for pair in pairs for finding in _unsafe_pair(pair))
    found += _unsafe_json_data(document, allowed)
    found += _unsafe_requirements(document, allowed)
    local = frozenset(source for source in sources if isinstance(source, str) and is_local(source))
    return Examined(_sorted(set(found)), local, any(pair.key == "module" for pair in pairs))


def _unsafe_pair(pair: _Pair) -> Iterator[Finding]:
    inner = {each.key for each in _pairs(pair.value)}
    if named := _FILES_OF_CREDENTIALS.search(pair.key):
        yield Finding(0, _credentials(named[0]))
    elif pair.key == "state_store":
        yield Finding(0, _STATE_STORES)
    elif pair.key == "backend" and (pair.value == "kubernetes" or "kubernetes" in inner):
        yield Finding(0, _KUBERNETES)
    elif pair.key in {"key_provider", "method"} and "external" in inner:
        yield Finding(0, f"the {pair.key} 'external' runs a program.")


def _unsafe_json_data(document: Any, allowed: Allowed) -> Iterator[Finding]:
    kinds = {pair.key for pair in _pairs(tuple(_under(document, "data")))}
    for label, (does, provider) in _DATA.items():
        if label in kinds and not allowed.by_name(provider):
            yield Finding(0, f"the data source {label!a} {does}.", allow_by_name(provider))
    for block in _under(tuple(_under(document, "data")), _REMOTE_STATE):
        for pair in _pairs(block):
            if _is_computed(pair.key) or (pair.key in {"backend", "config"} and _is_computed(pair.value)):
                yield Finding(0, f"{_REMOTE_STATE} has a {pair.key!a} that is computed, so it cannot be checked.")


def _is_computed(value: object) -> bool:
    return isinstance(value, str) and ("${" in value or "%{" in value)


def _unsafe_requirements(document: Any, allowed: Allowed) -> Iterator[Finding]:
    """Yield why required providers are refused. Without a source one is HashiCorp's of this name."""
    for block in _under(document, "required_providers"):
        for required in _entries(block):
            sources = [each.value for each in _pairs(required.value) if each.key == "source"]
            for source in sources or [required.key]:
                if isinstance(source, str) and (finding := allowed.refused_provider(source)):
                    yield finding


def _entries(value: Any) -> Iterator[_Pair]:
    """Yield the keys of a block, or of the blocks in a list, with their values."""
    blocks = value if isinstance(value, list) else [value]
    return (pair for each in blocks if isinstance(each, tuple) for pair in each)


def _under(document: Any, key: str) -> Iterator[Any]:
    return (pair.value for pair in _pairs(document) if pair.key == key)


def _pairs(document: Any) -> Iterator[_Pair]:
    """Yield every key of a document with its value, at any depth."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, _Pair):
            yield value
            waiting.append(value.value)
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)


_STATE_STORES = "state_store starts a provider before anything is planned."
_KUBERNETES = _LABELLED["backend", "kubernetes"]
_KEYWORDS = frozenset({"data", "ephemeral", *(keyword for keyword, _ in _LABELLED)})
_CORRECT = "Tidegate cannot check what it cannot parse. Correct it."


def _credentials(name: str) -> str:
    return f"{name} may name a file of the branch, and such a file can name a program to run."
