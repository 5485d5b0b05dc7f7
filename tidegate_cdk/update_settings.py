"""The context keys of config updates: what they may wait for, ask, and believe."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from tidegate_cdk.runner_settings import Context, InvalidContext

_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[\w.~/-]*)?")
#: An owner and a name; on GitLab, groups may be nested.
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){1,20}")
_AUDIENCE = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """``stack_repositories`` are those whose stacks an environment may wait for. ``status_networks`` are private
    networks in which status URLs of targets may be. ``issuer`` and ``audience`` are those of CI's tokens; empty ones
    follow from the VCS provider and the address of the pages.
    """

    stack_repositories: tuple[str, ...]
    status_networks: tuple[str, ...]
    issuer: str
    audience: str


def read_update_settings(context: Context) -> UpdateSettings:
    """Return the settings of this context. Raise InvalidContext for the first that cannot be used."""
    repositories, networks = _list(context, "update_repositories"), _list(context, "status_networks")
    for repository in repositories:
        if not _REPOSITORY.fullmatch(repository):
            raise InvalidContext("update_repositories", repository, "repositories, OWNER/NAME")
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            raise InvalidContext("status_networks", network, "networks such as 10.20.0.0/16") from None
    issuer = _text(context, "ci_issuer", _URL, "a URL")
    return UpdateSettings(repositories, networks, issuer, _text(context, "ci_audience", _AUDIENCE, "a text"))


def _text(context: Context, key: str, pattern: re.Pattern[str], allowed: str) -> str:
    value = context.try_get_context(key) or ""
    if not isinstance(value, str) or (value and not pattern.fullmatch(value)):
        raise InvalidContext(key, value, allowed)
    return value


def _list(context: Context, key: str) -> tuple[str, ...]:
    """Return a list; ``-c key=a,b`` on the command line gives a text."""
    value = context.try_get_context(key) or []
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InvalidContext(key, value, "a list")
    return tuple(each.strip() for each in given if each.strip())
