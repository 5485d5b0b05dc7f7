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

from tidegate.domain.module_file import read_module_file

PROVIDERS_KEY = "pull_requests.allowed_providers"
MODULES_KEY = "pull_requests.allowed_modules"
DEFAULT_PROVIDERS = ("hashicorp/*",)
#: Providers that start programs, or call addresses, which the configuration names: only a list that has them by
#: their whole name or a pattern of its own allows them.
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
#: The providers that a data source of this kind implies, unless the file says otherwise.
_DATA = {"external": "runs the program that it names", "http": "calls the address that it names"}
_BUILT_IN = "terraform.io/builtin/terraform"
_REGISTRIES = ("registry.terraform.io/", "registry.opentofu.org/")
NOTHING_ALLOWS = "Nothing allows it in a pull request."

_PROVIDER = re.compile(r"([\w.:-]+/)?[\w-]+/[\w-]+")
_SOURCE = re.compile(r'(?<![\w-])source[ \t]*=[ \t]*"([^"\n]*)"')
_LOCKED = re.compile(r'^provider "([^"\\\n]+)" \{', re.MULTILINE)
#: Of AWS, and of those that do as it does: a file in the repository could name a program that gives credentials.
_FILES_OF_CREDENTIALS = re.compile(r"shared_config_files?|shared_credentials_files?|credential_process")
_STATE_STORE = re.compile(r"(?<![\w-])state_store(?![\w-])")
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
        if self.providers is None and name in NEVER_BY_DEFAULT:
            return False
        return any(_matches(pattern, name) for pattern in self._provider_patterns)

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
        return Finding(line, f"the provider {_short(address)!a} may not run in pull requests.", _allow(PROVIDERS_KEY))

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
    found = {*_unsafe_words(lines), *_unsafe_data(lines, allowed), *_unsafe_sources(lines, sources, allowed)}
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
    for label, does in _DATA.items():
        for line, match in text.find(_labelled("data", label)):
            if match["cloaked"]:
                yield Finding(line, _cloaked("data"))
            elif not allowed.provider(f"hashicorp/{label}"):
                yield Finding(line, f"the data source {label!a} {does}.", _allow(PROVIDERS_KEY))


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
    for label, does in _DATA.items():
        if label in kinds and not allowed.provider(f"hashicorp/{label}"):
            yield Finding(0, f"the data source {label!a} {does}.", _allow(PROVIDERS_KEY))


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
