"""git's environment for untrusted repositories.

git reads only the configuration set here, runs no hooks, never prompts, and uses only the URL's protocol. The token is
in the environment, limited to its repositories' URLs: it is in no argument list, no URL and no file.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

#: Environment variables that git inherits: its path, certificates, and proxies.
PASSED_ON = (
    "PATH",
    "LD_LIBRARY_PATH",
    "GIT_EXEC_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
)

_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
_SETTINGS = MappingProxyType(
    {
        "core.hooksPath": os.devnull,
        # Without these git reads ignore and attributes of $HOME/.config/git, which programs of a job may write.
        "core.excludesFile": os.devnull,
        "core.attributesFile": os.devnull,
        "core.fsmonitor": "false",
        "core.protectHFS": "true",
        "core.protectNTFS": "true",
        "credential.helper": "",
        "gc.auto": "0",
        "http.followRedirects": "initial",
        "protocol.version": "2",
        "submodule.recurse": "false",
        "advice.detachedHead": "false",
        "init.defaultBranch": "tidegate",
    }
)


def refusal(url: str, protocols: Collection[str] = ("https",)) -> str | None:
    """Return why a token must not be sent to ``url``, as a sentence; None if it may.

    Plain HTTP is allowed on the loopback interface.
    """
    parts = urlsplit(url)
    if parts.scheme not in protocols and not (parts.scheme == "http" and _LOOPBACK.fullmatch(parts.hostname or "")):
        return (
            f"Tidegate clones repositories only over {' or '.join(sorted(protocols)).upper()}, not over "
            f"{parts.scheme!a}."
        )
    if parts.username or parts.password:
        return "The URL of a repository must not contain credentials."
    return None


def git_environment(
    environ: Mapping[str, str],
    home: Path,
    urls: Sequence[str],
    token: str,
    settings: Mapping[str, str] = MappingProxyType({}),
    *,
    helper: str = "",
) -> dict[str, str]:
    """Return the whole environment of git for the repository at the first of ``urls``.

    git sends the token to all of these, and rewrites their SSH URLs. ``settings`` are added to the fixed ones.
    ``helper`` is a credential helper for URLs without a token.
    """
    parts = urlsplit(urls[0])
    pairs = [*settings.items(), *_SETTINGS.items()]
    if token:
        header = f"Authorization: {authorization(token)}"
        pairs += ((f"http.{form}.extraHeader", header) for each in urls for form in _forms(each))
    if helper:
        pairs += (("credential.helper", helper), ("credential.useHttpPath", "true"))
    pairs += (pair for each in urls for pair in _instead_of_ssh(each))
    return {
        **{name: environ[name] for name in PASSED_ON if name in environ},
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_ALLOW_PROTOCOL": parts.scheme,
        **_numbered(pairs),
    }


def authorization(token: str) -> str:
    """Return the ``Authorization`` header for a token."""
    return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()


def _forms(url: str) -> tuple[str, str]:
    """Return both forms of a repository's URL: git compares whole path segments."""
    return url.removesuffix(".git"), f"{url.removesuffix('.git')}.git"


def _instead_of_ssh(url: str) -> Iterator[tuple[str, str]]:
    """Yield the settings that rewrite a repository's SSH URLs to this one. git compares prefixes."""
    parts, plain = urlsplit(url), url.removesuffix(".git")
    path = urlsplit(plain).path.lstrip("/")
    for ssh in (f"ssh://git@{parts.hostname}/{path}", f"git@{parts.hostname}:{path}"):
        yield f"url.{plain}.insteadOf", ssh


def _numbered(settings: Collection[tuple[str, str]]) -> dict[str, str]:
    numbered = list(enumerate(settings))
    return {
        "GIT_CONFIG_COUNT": str(len(numbered)),
        **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in numbered},
        **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered},
    }
