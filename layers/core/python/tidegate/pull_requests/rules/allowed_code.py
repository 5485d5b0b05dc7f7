"""Which engines, providers and modules a plan of a pull request may use.

No pydantic here: the runner imports this module.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from glob import escape

from tidegate.roots.rules.root import EngineName

PROVIDERS_KEY = "pull_requests.allowed_providers"
MODULES_KEY = "pull_requests.allowed_modules"
DEFAULT_PROVIDERS = ("hashicorp/*",)
#: Providers that start programs, or call URLs, from the configuration: only a list with their whole name allows them.
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
_BUILT_IN = "terraform.io/builtin/terraform"
_REGISTRIES = ("registry.terraform.io/", "registry.opentofu.org/")
NOTHING_ALLOWS = "No setting can allow it before the merge."


#: Terraform before 0.13 starts providers that lie in the root's directory, and until 1.5.6 a configuration could have
#: ``init`` write any file (CVE-2023-4782). OpenTofu began later.
_FLOOR = (1, 5, 7)


def engine_problem(engine: EngineName, version: str) -> str | None:
    """Return why an engine plans no pull request, as sentences; None if it may."""
    numbers = tuple(map(int, version.partition("-")[0].split(".")))
    if engine is not EngineName.TERRAFORM or numbers >= _FLOOR:
        return None
    floor = ".".join(map(str, _FLOOR))
    return (
        f"terraform {version} makes no plans before the merge, because unreviewed code could run programs with it. "
        f"Choose {floor} or later."
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """Something refused. ``line`` is 0 if unknown; ``what`` and ``remedy`` are sentences."""

    line: int
    what: str
    remedy: str = NOTHING_ALLOWS


@dataclass(frozen=True)
class Allowed:
    """What a pull request's plan may use. None stands for the defaults, to which ``locked`` adds.

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
        """Tell whether a module may be fetched. Modules of the repository itself are not checked here."""
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
        remedy = allow_by_name(name) if name in NEVER_BY_DEFAULT else _allow(PROVIDERS_KEY)
        return Finding(line, f"the provider {name!a} may not run before the merge.", remedy)

    def refused_module(self, source: str, line: int = 0) -> Finding | None:
        """Return why a module that is not the repository's own is refused; None when it is allowed."""
        if self.module(source):
            return None
        return Finding(line, f"the module source {source!a} is not allowed before the merge.", _allow(MODULES_KEY))


def patterns_of(url: str) -> tuple[str, ...]:
    """Return patterns of all sources of modules that lie in the repository with this HTTPS address."""
    address = url.removesuffix(".git")
    host, _, path = address.partition("://")[2].partition("/")
    beginnings = (f"{host}/{path}", f"git::{address}", f"git@{host.partition(':')[0]}:{path}")
    return tuple(f"{escape(each)}{end}" for each in beginnings for end in ("", "//*", "[?]*"))


def _allow(key: str) -> str:
    return f"To allow it, use {key} in the default branch's configuration file."


def allow_by_name(provider: str) -> str:
    """Return what lets a provider run that no pattern allows, as a sentence."""
    return f"To allow it, add the full name {provider} to {PROVIDERS_KEY} in the default branch's configuration file."


def _short(address: str) -> str:
    """Return a provider's address in the form of rules: lowercase, without the public registries' host."""
    name = address.strip().lower()
    for registry in _REGISTRIES:
        name = name.removeprefix(registry)
    return name if "/" in name else f"hashicorp/{name}"


def _matches(pattern: str, name: str) -> bool:
    """Tell whether a pattern matches part by part; ``*`` stays within one part."""
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _forms(source: str) -> Iterable[str]:
    """Return the ways in which one source may be written: as it is, and as the engine writes it in its manifest."""
    forms = {source, re.sub(r"^git::https://(?=(github\.com|bitbucket\.org)/)", "", source)}
    forms |= {source.removeprefix(registry) for registry in _REGISTRIES}
    if ssh := re.fullmatch(r"git::ssh://([\w.-]+@[\w.-]+)/(.*)", source):
        forms.add(f"{ssh[1]}:{ssh[2]}")
    return forms | {re.sub(r"\.git(?=$|//|\?)", "", form) for form in forms}
