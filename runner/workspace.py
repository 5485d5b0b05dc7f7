"""The job's working copy: one commit of the repository, fetched without trusting the repository.

The token reaches git through its environment, scoped to the forge's address: it shows in no argument
list, no URL and no file. git reads no configuration but the settings made here, runs no hooks, and
speaks no protocol but the clone URL's own.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from runner.faults import RunnerFault
from tidegate.domain.job import Job
from tidegate.domain.root import commit_sha, directory

_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")

#: Runs a program: arguments, directory, environment; returns its exit code. Its output goes to the log.
Run = Callable[[list[str], Path, Mapping[str, str]], int]


def git_environment(environ: Mapping[str, str], home: Path, clone_url: str, token: str) -> dict[str, str]:
    """Return the environment of git. Raise RunnerFault when the address must not be used with a token."""
    parts = urlsplit(clone_url)
    if parts.scheme != "https" and not (parts.scheme == "http" and _LOOPBACK.fullmatch(parts.hostname or "")):
        raise RunnerFault(f"Repositories are cloned over HTTPS only, not from {parts.scheme}://{parts.netloc}.")
    if parts.username or parts.password:
        raise RunnerFault("The clone address must not carry credentials.")
    passed = ("PATH", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "HTTPS_PROXY", "NO_PROXY")
    return {
        **{name: environ[name] for name in passed if name in environ},
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_ALLOW_PROTOCOL": parts.scheme,
        **_settings(f"{parts.scheme}://{parts.netloc}/", token),
    }


def authorization(token: str) -> str:
    """Return what git sends as ``Authorization`` for a forge's token."""
    return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()


def _settings(host: str, token: str) -> dict[str, str]:
    settings = {
        "core.hooksPath": os.devnull,
        "core.fsmonitor": "false",
        "core.protectHFS": "true",
        "core.protectNTFS": "true",
        "credential.helper": "",
        "fetch.fsckObjects": "true",
        "gc.auto": "0",
        "http.followRedirects": "initial",
        "protocol.version": "2",
        "submodule.recurse": "false",
        "advice.detachedHead": "false",
        "init.defaultBranch": "tidegate",
    }
    if token:
        settings[f"http.{host}.extraHeader"] = f"Authorization: {authorization(token)}"
    numbered = list(enumerate(settings.items()))
    return {
        "GIT_CONFIG_COUNT": str(len(numbered)),
        **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in numbered},
        **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered},
    }


def check_out(run: Run, environ: Mapping[str, str], target: Path, job: Job) -> Path:
    """Fetch one commit into ``target`` and return the root's directory in it. Raise RunnerFault.

    The whole tree of that one commit is fetched: a root may use ``../modules`` and read any file
    (docs/decisions/0022).
    """
    commit = commit_sha(job.sha)
    git = ["git", "-C", str(target)]
    object_format = "sha1" if len(commit) == 40 else "sha256"  # noqa: PLR2004
    target.mkdir()
    fetch = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]
    for arguments in (
        ["init", "--quiet", "--template=", f"--object-format={object_format}"],
        ["fetch", *fetch, "--end-of-options", job.clone_url, commit],
        ["checkout", "--quiet", "--force", "--detach", commit],
    ):
        if run([*git, *arguments], target, environ):
            raise RunnerFault(f"git {arguments[0]} failed for commit {commit[:7]}: see the log.")
    return _inside(target, job.root.dir)


def _inside(target: Path, root_directory: str) -> Path:
    """Return the root's directory. A link in the repository must not lead out of it."""
    root = (target / directory(root_directory)).resolve()
    if not root.is_relative_to(target.resolve()):
        raise RunnerFault(f"The root's directory {root_directory!r} is a link that leads out of the repository.")
    if not root.is_dir():
        raise RunnerFault(f"The root's directory {root_directory!r} does not exist in this commit.")
    return root
