"""What the files of a pull request's root may not say: that its plan runs programs, or fetches code from elsewhere.

It judges text, not meaning: whatever the engine might read as such a word is one here, so that no comment, no escape
and no error in the file hides one (docs/decisions/0119). No pydantic here: the runner imports this module.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from tidegate.domain.roots.module_file import read_module_file

PROVIDERS_KEY = "pull_requests.allowed_providers"
MODULES_KEY = "pull_requests.allowed_modules"
DEFAULT_PROVIDERS = ("hashicorp/*",)
#: Providers that start programs, or call addresses, which the configuration names: only a list that has them by
#: their whole name allows them.
NEVER_BY_DEFAULT = frozenset(
    {
        "alekc/kubectl",
        "gavinbunney/kubectl",
        "hashicorp/external",
        "hashicorp/helm",
        "hashicorp/http",
        "hashicorp/kubernetes",
        "hashicorp/kubernetes-alpha",
        "scottwinkler/shell",
    }
)
#: Data sources that need their provider allowed by its own name: what each does, and its provider.
_DATA = {
    "external": ("runs the program that it names", "hashicorp/external"),
    "http": ("calls the address that it names", "hashicorp/http"),
    "local_command": ("runs the program that it names", "hashicorp/local"),
}
_BUILT_IN = "terraform.io/builtin/terraform"
_REGISTRIES = ("registry.terraform.io/", "registry.opentofu.org/")
NOTHING_ALLOWS = "Nothing allows it in a pull request."

_PROVIDER = re.compile(r"([\w.:-]+/)?[\w-]+/[\w-]+")
_SOURCE = re.compile(r'(?<![\w-])source[ \t]*=[ \t]*"([^"\n]*)"')
_LOCKED = re.compile(r'^provider "([^"\\\n]+)" \{', re.MULTILINE)
#: Of AWS, and of those that do as it does: a file in the repository could name a program that gives credentials.
_FILES_OF_CREDENTIALS = re.compile(r"shared_config_files?|shared_credentials_files?|credential_process")
_STATE_STORE = re.compile(r"(?<![\w-])state_store(?![\w-])")
#: Another state is read by a backend of the file's choice, with settings of its choice: both are to be read here.
_REMOTE_STATE = "terraform_remote_state"
_BACKEND_OF_CHOICE = re.compile(r'(?<![\w-])backend[ \t]*=(?![ \t]*"[\w-]+"[ \t]*(?:\r?\n|\Z|[}#]|//))')
_CONFIG_OF_CHOICE = re.compile(
    r"(?<![\w-])config[ \t]*(?:/\*|=(?![ \t]*\{)|=[ \t]*\{(?:\s|\#[^\n]*|//[^\n]*)*(?:/\*|for(?![\w-])))"
)
#: What may end an expression that stands as a key, before the sign that separates it from its value.
_KEY_END = re.compile(r'(?P<end>[)\]}"]|\.[\w-]+|\*/)[ \t]*(?:=(?![=>])|(?P<colon>:(?!:)))')
_NOT_IN_PLAIN_KEYS = frozenset("\\$%{}\n")
#: What stands between the beginning of a choice or a loop and its colon, which separates no key.
_NO_KEY = re.compile(r"(?:[$%]\{|[^,{*\n]|\*(?!/))*")
_COLON_WORDS = ("?", "for ")
#: Characters before a key's end that are looked at.
_LOOKED_BACK = 500
_OWN_FILE = f"Nothing allows it in a pull request. What else needs it can stand in a file without {_REMOTE_STATE}."
_CLOAKED = r'"[^"\\\n]*\\|/\*'


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is refused. ``line`` is 0 where it is not known; ``what`` and ``remedy`` are sentences."""

    line: int
    what: str
    remedy: str = NOTHING_ALLOWS


@dataclass(frozen=True)
class Allowed:
    """What a pull request's plan may use. None stands for the defaults, which ``locked`` adds to.

    ``locked`` are the addresses of providers that the base commit's lock file names.
    """

    providers: tuple[str, ...] | None = None
    modules: tuple[str, ...] | None = None
    locked: Collection[str] = ()

    def provider(self, address: str) -> bool:
        """Tell whether a provider may run, by its source or its whole address."""
        name = _short(address)
        if name == _BUILT_IN:
            return True
        if name in NEVER_BY_DEFAULT:
            return self.by_name(name)
        return any(_matches(pattern, name) for pattern in self._provider_patterns)

    def by_name(self, provider: str) -> bool:
        """Tell whether a list names a provider itself, and not by a pattern."""
        return provider in map(_short, self.providers or ())

    def module(self, source: str) -> bool:
        """Tell whether a module may be fetched. Those of the repository itself are none of these."""
        if ".." in source or "%2e" in source.lower():
            return False
        return any(fnmatchcase(form, pattern) for form in _forms(source) for pattern in self.modules or ())

    @cached_property
    def _provider_patterns(self) -> tuple[str, ...]:
        patterns = (*DEFAULT_PROVIDERS, *self.locked) if self.providers is None else self.providers
        return tuple(map(_short, patterns))

    def refused_provider(self, address: str, line: int = 0) -> Finding | None:
        """Return why a provider is refused; None when it is allowed."""
        if self.provider(address):
            return None
        name = _short(address)
        remedy = _allow_by_name(name) if name in NEVER_BY_DEFAULT else _allow(PROVIDERS_KEY)
        return Finding(line, f"the provider {name!a} may not run in pull requests.", remedy)

    def refused_module(self, source: str, line: int = 0) -> Finding | None:
        """Return why a module that is not the repository's own is refused; None when it is allowed."""
        if self.module(source):
            return None
        return Finding(line, f"the module source {source!a} is not allowed in pull requests.", _allow(MODULES_KEY))


@dataclass(frozen=True, slots=True)
class Examined:
    """What a file has: what is refused in it, the directories of modules that it uses, and whether it uses modules."""

    findings: tuple[Finding, ...] = ()
    local_modules: frozenset[str] = frozenset()
    uses_modules: bool = False


def examine(name: str, content: bytes, allowed: Allowed) -> Examined:
    """Examine one file of a module, or one of settings for its backend, in either form of the language."""
    text = content.decode("utf-8", "replace")
    if name.endswith(".json"):
        return _examine_json(text, allowed)
    sources = read_module_file(name, content).sources
    lines = _Text(text)
    found = {
        *_unsafe_words(lines),
        *_unsafe_data(lines, allowed),
        *_unsafe_remote_states(lines),
        *_unsafe_sources(lines, sources, allowed),
    }
    return Examined(_sorted(found), frozenset(filter(is_local, sources)), "module" in text)


def _sorted(findings: Collection[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda each: (each.line, each.what)))


def is_local(source: str) -> bool:
    """Tell whether a module's source is a directory of the same repository."""
    return source.startswith(("./", "../")) or source in {".", ".."}


def locked_providers(lock_file: str) -> frozenset[str]:
    """Return the addresses of the providers in a dependency lock file."""
    return frozenset(_LOCKED.findall(lock_file))


class _Text:
    """A file's text, which tells the line of each match in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def find(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield each match and its line, counted from 1."""
        return ((bisect_left(self._breaks, match.start()) + 1, match) for match in pattern.finditer(self.text))


def _unsafe_words(text: _Text) -> Iterator[Finding]:
    for line, match in text.find(_FILES_OF_CREDENTIALS):
        yield Finding(line, _credentials(match[0]))
    for line, _ in text.find(_STATE_STORE):
        yield Finding(line, _STATE_STORES)
    for keyword, label, what in (
        ("backend", "kubernetes", _KUBERNETES),
        ("key_provider", "external", "the key provider 'external' runs the program that it names."),
        ("method", "external", "the encryption method 'external' runs the program that it names."),
    ):
        for line, match in text.find(_labelled(keyword, label)):
            yield Finding(line, _cloaked(keyword) if match["cloaked"] else what)


def _unsafe_data(text: _Text, allowed: Allowed) -> Iterator[Finding]:
    for label, (does, provider) in _DATA.items():
        for line, match in text.find(_labelled("data", label)):
            if match["cloaked"]:
                yield Finding(line, _cloaked("data"))
            elif not allowed.by_name(provider):
                yield Finding(line, f"the data source {label!a} {does}.", _allow_by_name(provider))


def _unsafe_remote_states(text: _Text) -> Iterator[Finding]:
    """Yield what leaves open which backend reads another state, and by which settings."""
    if all(match["cloaked"] for _, match in text.find(_labelled("data", _REMOTE_STATE))):
        return
    for line, _ in text.find(_BACKEND_OF_CHOICE):
        yield Finding(line, f"the backend of {_REMOTE_STATE} is to be a name in quotes, to be judged.", _OWN_FILE)
    for line, _ in text.find(_CONFIG_OF_CHOICE):
        yield Finding(line, f"the config of {_REMOTE_STATE} is to be written out in braces, to be judged.", _OWN_FILE)
    for line, match in text.find(_KEY_END):
        if _is_computed_key(text.text[max(0, match.start() - _LOOKED_BACK) : match.end("end")], match):
            yield Finding(line, f"a key is computed in a file with {_REMOTE_STATE}, so it cannot be judged.", _OWN_FILE)


def _is_computed_key(before: str, match: re.Match[str]) -> bool:
    begun = (before.rpartition(word)[2] for word in _COLON_WORDS if word in before)
    if match["colon"] and any(map(_NO_KEY.fullmatch, begun)):
        return False
    if match["end"] != '"':
        return True
    outside, quote, key = before[:-1].rpartition('"')
    return not quote or outside.endswith("\\") or not _NOT_IN_PLAIN_KEYS.isdisjoint(key)


def _unsafe_sources(text: _Text, modules: Collection[str], allowed: Allowed) -> Iterator[Finding]:
    lines: dict[str, int] = {}
    for line, match in text.find(_SOURCE):
        lines.setdefault(match[1], line)
    for source in sorted(modules):
        yield from _judged_module(source, allowed, lines.get(source, 0))
    if "required_providers" in text.text:
        for source in sorted(lines.keys() - modules):
            if _PROVIDER.fullmatch(source) and (finding := allowed.refused_provider(source, lines[source])):
                yield finding


def _judged_module(source: object, allowed: Allowed, line: int = 0) -> Iterator[Finding]:
    if not isinstance(source, str) or "\\" in source or "${" in source or "%{" in source:
        yield Finding(line, "the source of a module is not a plain string, so it cannot be judged.")
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
        return Examined((Finding(0, "this is not JSON that can be read, so it cannot be judged."),))
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
    if _FILES_OF_CREDENTIALS.fullmatch(pair.key):
        yield Finding(0, _credentials(pair.key))
    elif pair.key == "state_store":
        yield Finding(0, _STATE_STORES)
    elif pair.key == "backend" and (pair.value == "kubernetes" or "kubernetes" in inner):
        yield Finding(0, _KUBERNETES)
    elif pair.key in {"key_provider", "method"} and "external" in inner:
        yield Finding(0, f"the {pair.key} 'external' runs the program that it names.")


def _unsafe_json_data(document: Any, allowed: Allowed) -> Iterator[Finding]:
    kinds = {pair.key for pair in _pairs(tuple(_under(document, "data")))}
    for label, (does, provider) in _DATA.items():
        if label in kinds and not allowed.by_name(provider):
            yield Finding(0, f"the data source {label!a} {does}.", _allow_by_name(provider))
    for block in _under(tuple(_under(document, "data")), _REMOTE_STATE):
        for pair in _pairs(block):
            if _is_computed(pair.key) or (pair.key in {"backend", "config"} and _is_computed(pair.value)):
                yield Finding(0, f"{_REMOTE_STATE} has a {pair.key!a} that is computed, so it cannot be judged.")


def _is_computed(value: object) -> bool:
    return isinstance(value, str) and ("${" in value or "%{" in value)


def _unsafe_requirements(document: Any, allowed: Allowed) -> Iterator[Finding]:
    for block in _under(document, "required_providers"):
        for pair in _pairs(block):
            if pair.key == "source" and isinstance(pair.value, str):
                finding = allowed.refused_provider(pair.value)
                if finding:
                    yield finding


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
_KUBERNETES = "the backend 'kubernetes' runs the program that its settings name."


def _labelled(keyword: str, label: str) -> re.Pattern[str]:
    """Return what finds a keyword before this label (or as an attribute with this value), or before one in disguise."""
    bare = rf'{label}(?=[ \t]*(?:["{{]|/\*|[ \t][^\s"{{]+[ \t]*[{{/]))'
    return re.compile(rf'(?<![\w-]){keyword}[ \t]*(?:=[ \t]*)?(?:"{label}"|{bare}|(?P<cloaked>{_CLOAKED}))')


def _cloaked(keyword: str) -> str:
    return f"what follows {keyword} has an escape or a comment in it, so it cannot be judged."


def _credentials(name: str) -> str:
    return f"{name} may name a file of the pull request, and such a file can name a program to run."


def _allow(key: str) -> str:
    return f"{key} in the default branch's configuration file can allow it."


def _allow_by_name(provider: str) -> str:
    return f"{PROVIDERS_KEY} in the default branch's configuration file can allow it by the whole name, {provider}."


def _short(address: str) -> str:
    """Return a provider's address as it is written as a rule: in small letters, without the public registries' host."""
    name = address.strip().lower()
    for registry in _REGISTRIES:
        name = name.removeprefix(registry)
    return name if "/" in name else f"hashicorp/{name}"


def _matches(pattern: str, name: str) -> bool:
    """Tell whether a pattern matches part by part; ``*`` does not reach from one part to the next."""
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _forms(source: str) -> Iterable[str]:
    """Return the ways in which one source may be written: as it is, and as the engine writes it in its manifest."""
    forms = {source, re.sub(r"^git::https://(?=(github\.com|bitbucket\.org)/)", "", source)}
    forms |= {source.removeprefix(registry) for registry in _REGISTRIES}
    if ssh := re.fullmatch(r"git::ssh://([\w.-]+@[\w.-]+)/(.*)", source):
        forms.add(f"{ssh[1]}:{ssh[2]}")
    return forms | {re.sub(r"\.git(?=$|//|\?)", "", form) for form in forms}
