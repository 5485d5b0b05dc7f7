"""A root: valid names, and the identifiers derived from it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.rules.errors import InvalidName

MAXIMUM_ROOT_NAME = 100
MAXIMUM_PATH = 1024
MAXIMUM_REPOSITORY = 255
#: Between a repository and a root in a queue's id; it occurs in neither.
QUEUE_SEPARATOR = "||"

_ROOT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
#: An owner and a name; on GitLab, groups may be nested to this depth.
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){1,20}")
_WORKSPACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,89}")
_NOT_IN_A_PATH = re.compile(r"[\x00-\x1f\x7f\\]")
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class EngineName(StrEnum):
    """The supported engines."""

    TERRAFORM = "terraform"
    TOFU = "tofu"


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine and the exact version it must have; without a version, Tidegate's default applies."""

    name: EngineName = EngineName.TERRAFORM
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Root:
    """One root module of a repository: the unit of planning, locking and deploying."""

    name: str
    dir: str
    workspace: str = "default"
    engine: Engine = field(default_factory=Engine)


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit and the branch it was taken from."""

    sha: str
    branch: str

    @property
    def short(self) -> str:
        return self.sha[:7]


def root_name(text: str) -> str:
    """Return ``text`` if it may name a root; raise InvalidName otherwise.

    Root names reach check-run names, DynamoDB keys, pages and messages, so they are plain:
    letters, digits, ``.``, ``_``, ``-`` and ``/``, at most 100 characters, no segment that
    starts with a dot or a dash.
    """
    if len(text) > MAXIMUM_ROOT_NAME or not _ROOT_NAME.fullmatch(text):
        raise InvalidName(
            "root name",
            text,
            f"use at most {MAXIMUM_ROOT_NAME} letters, digits, '.', '_', '-' and '/', "
            "with no part that starts with '.' or '-'",
        )
    return text


def repository_name(text: str) -> str:
    """Return ``text`` if it is a valid ``owner/name``, or ``group/subgroup/name``; raise InvalidName otherwise."""
    usable = len(text) <= MAXIMUM_REPOSITORY and _REPOSITORY.fullmatch(text)
    if not usable or any(part in {".", ".."} for part in text.split("/")):
        raise InvalidName("repository", text, "use the form owner/name, or on GitLab group/subgroup/name")
    return text


def workspace_name(text: str) -> str:
    """Return ``text`` if it is a valid workspace name; raise InvalidName otherwise."""
    if not _WORKSPACE.fullmatch(text):
        raise InvalidName(
            "workspace", text, "use at most 90 letters, digits, '.', '_' and '-', starting with a letter or digit"
        )
    return text


def commit_sha(text: str) -> str:
    """Return ``text`` if it is a full commit SHA in lower case; raise InvalidName otherwise."""
    if not _SHA.fullmatch(text):
        raise InvalidName("commit", text, "use the full SHA: 40 (or 64) hexadecimal digits in lower case")
    return text


def directory(text: str) -> str:
    """Return the normal form of a directory below the repository's top; raise InvalidName otherwise.

    ``.`` is the top. Any other character than control characters and backslashes may occur in a
    directory: it only ever travels as one argument of a program, never through a shell.
    """
    advice = "use a relative path inside the repository, without '..', '\\' and control characters"
    if len(text) > MAXIMUM_PATH or _NOT_IN_A_PATH.search(text):
        raise InvalidName("directory", text, advice)
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if text.startswith("/") or ".." in parts or ".git" in parts:
        raise InvalidName("directory", text, advice)
    return "/".join(parts) or "."


def queue_id(repository: str, root: str) -> str:
    """Return the id of a root's deploy queue, ``OWNER/REPO||ROOT``."""
    return f"{repository}{QUEUE_SEPARATOR}{root}"


def slug(text: str, length: int) -> str:
    """Return a readable piece of ``text`` that is legal in an execution name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:length].rstrip("-") or "root"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _readable(repository: str, root: str) -> str:
    """Return at most 43 characters for ``OWNER/REPO`` and a root: the repository's name without its owner gets 16."""
    name = slug(repository.partition("/")[2], 16)
    return f"{name}-{slug(root, 42 - len(name))}"


def deployment_id(repository: str, root: str, sha: str, request: str, stack: str = "") -> str:
    """Return the id of a deployment: the same for the same root, revision and request.

    ``request`` tells attempts at one revision apart: ``merge`` for the one that a merge makes,
    however often its webhook arrives; the id of the demand for every other. ``stack`` is given for roots that are
    in several only, so that the others keep their ids when stacks come.
    At most 64 characters of ``[A-Za-z0-9-]``, so that it is legal as an execution name. It begins with the repository
    and the root, and the commit follows: lists in the cloud's console are searched by the beginning of names.
    """
    apart = (repository, root, sha, request, *([stack] if stack else ()))
    return f"{_readable(repository, root)}-{sha[:7]}-{_digest(*apart)}"


def change_set_id(repository: str, sha: str, request: str) -> str:
    """Return the id of what one request deploys of a revision, in ``[a-z0-9-]``: the same for the same request."""
    return f"{sha[:7]}-{_digest(repository, sha, request)}"


def layer_id(pull_request: str, root: str, stack: str, revision: str, attempt: int) -> str:
    """Return the id of a speculative plan: the same for the same attempt at one revision of a pull request.

    ``pull_request`` is ``OWNER/REPO#NUMBER``. At most 64 characters of ``[A-Za-z0-9-]``, as for deployments.
    """
    of = _readable(pull_request.partition("#")[0], root)
    return f"{of}-{revision[:7]}-{_digest(pull_request, root, stack, revision, str(attempt))}"


def pull_request_execution(pull_request: str, revision: str, attempt: int) -> str:
    """Return the name of the execution that works on one attempt at a revision of ``OWNER/REPO#NUMBER``."""
    return f"{slug(pull_request, 50)}-{revision[:7]}-{_digest(pull_request, revision, str(attempt))}"


def schedule_name(repository: str, schedule: str) -> str:
    """Return the name of the cloud's schedule for one of a repository: at most 64 characters of ``[A-Za-z0-9-]``."""
    return f"{slug(repository, 50)}-{_digest(repository, schedule)}"


def drift_layer_id(repository: str, root: str, stack: str, sha: str, execution: str) -> str:
    """Return the id of a layer that looks for drift: the same for the same run. As for those of pull requests."""
    return f"{_readable(repository, root)}-{sha[:7]}-{_digest(repository, root, stack, sha, execution, 'drift')}"


def worker_name(queue: str, generation: int) -> str:
    """Return the name of the deploy execution that works on ``queue`` in ``generation``.

    Execution names allow 80 characters and neither ``/`` nor ``|``: a readable prefix, a hash
    that tells queues apart, and the generation.
    """
    return f"{slug(queue, 50)}-{_digest(queue)}-{generation}"
