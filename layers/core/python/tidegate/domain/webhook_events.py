"""Which few fields of which webhook events are used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.domain.authors import MAXIMUM_AUTHORS
from tidegate.domain.errors import InvalidName, InvalidWebhook
from tidegate.domain.root import commit_sha, repository_name

#: Names of our check runs start so; buttons on others are not ours.
OUR_CHECK_RUNS = "tidegate/"
#: Words that a comment for Tidegate may begin with, unless others are configured.
COMMENT_PREFIXES = ("tidegate",)
#: Characters of a comment that may be a command.
LONGEST_COMMAND = 1000
#: GitHub lists at most this many commits in a push.
_MAXIMUM_COMMITS = 2048

_LOGIN = re.compile(r"[A-Za-z0-9_.-]{1,100}(\[bot\])?")
_DEPLOYMENT = re.compile(r"[A-Za-z0-9-]{1,64}")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_ -]{1,20}")
_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]|\.\.|@\{|//|/$|^/")
_MAXIMUM_BRANCH = 1024
_MAXIMUM_CHECK_RUN = 200
_ZEROS = re.compile(r"0+")
_BLANKS = str.maketrans({"\t": " ", "\xa0": " "})


@dataclass(frozen=True, slots=True)
class Accepted:
    """An event that is acted on: its kind, and the fields of it that are used."""

    event: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that nothing follows from, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """An event that would be acted on but for a name in it that is not accepted."""

    reason: str


Decision = Accepted | Ignored | Refused


def read_event(event: str, payload: Mapping[str, Any], prefixes: Sequence[str] = COMMENT_PREFIXES) -> Decision:
    """Choose what follows from an event. ``prefixes`` are the words that comments for Tidegate begin with.

    Raise InvalidWebhook when it lacks what its kind must have.
    """
    try:
        match event:
            case "push":
                return _read_push(payload)
            case "check_run":
                return _read_check_run(payload)
            case "check_suite":
                return _read_check_suite(payload)
            case "issue_comment":
                return _read_comment(payload, prefixes)
            case _:
                return _ignored(event, payload)
    except InvalidName as error:
        return Refused(str(error))


def _ignored(event: str, payload: Mapping[str, Any]) -> Ignored:
    if event == "repository" and payload.get("action") in {"renamed", "transferred"}:
        return Ignored("The repository has another name: under that, it is another repository.")
    return Ignored("Nothing follows from events of this kind.")


def branch_name(text: str) -> str:
    """Return ``text`` if git would take it as a branch's name; raise InvalidName otherwise."""
    if not text or len(text) > _MAXIMUM_BRANCH or _NOT_IN_BRANCHES.search(text):
        raise InvalidName("branch", text, "git does not allow such a name")
    return text


def _read_push(payload: Mapping[str, Any]) -> Accepted | Ignored:
    ref, after = _text(payload, "ref"), _text(payload, "after")
    if ref.startswith("refs/tags/"):
        return Ignored("A tag was pushed, not a branch.")
    if payload.get("deleted") is True or _ZEROS.fullmatch(after):
        return Ignored("The branch was deleted.")
    repository = _object(payload, "repository")
    branch = ref.removeprefix("refs/heads/")
    if branch == ref or branch != _text(repository, "default_branch"):
        return Ignored("The push is not to the default branch.")
    fields = {
        "repository": repository_name(_text(repository, "full_name")),
        "before": commit_sha(_text(payload, "before")),
        "after": commit_sha(after),
        "branch": branch_name(branch),
        "installation": _installation(payload),
        "sender": _sender(payload),
        "forced": payload.get("forced") is True,
        "authors": _authors(payload),
    }
    return Accepted("push", fields)


def _authors(payload: Mapping[str, Any]) -> list[str] | None:
    """Return the logins of who made the pushed commits, as far as the forge knows them, each once.

    None when the event does not tell of all commits, or there are very many authors.
    """
    commits = payload.get("commits")
    if not isinstance(commits, list) or not 0 < len(commits) < _MAXIMUM_COMMITS:
        return None
    found: dict[str, None] = {}
    for commit in commits:
        author = commit.get("author") if isinstance(commit, dict) else None
        login = author.get("username") if isinstance(author, dict) else None
        if isinstance(login, str) and _LOGIN.fullmatch(login):
            found[login] = None
    return list(found) if len(found) <= MAXIMUM_AUTHORS else None


def _read_check_run(payload: Mapping[str, Any]) -> Accepted | Ignored:
    action = payload.get("action")
    if action not in ("requested_action", "rerequested"):  # It may be of any type.
        return Ignored("No button of a check run was pressed.")
    check_run = _object(payload, "check_run")
    name = _text(check_run, "name")
    if not name.startswith(OUR_CHECK_RUNS):
        return Ignored("The button is not on a check run of Tidegate.")
    fields = {
        "repository": _repository(payload),
        "id": _number(check_run, "id"),
        "external_id": _matching(_DEPLOYMENT, check_run, "external_id"),
        "name": _plain(name),
        "head_sha": commit_sha(_text(check_run, "head_sha")),
        "installation": _installation(payload),
        "sender": _sender(payload),
    }
    if action == "rerequested":
        return Accepted("rerun", fields)
    identifier = _matching(_IDENTIFIER, _object(payload, "requested_action"), "identifier")
    return Accepted("check_run", {**fields, "identifier": identifier})


def _read_check_suite(payload: Mapping[str, Any]) -> Accepted | Ignored:
    if payload.get("action") != "rerequested":
        return Ignored("Nobody asked to run all checks again.")
    fields = {
        "repository": _repository(payload),
        "head_sha": commit_sha(_text(_object(payload, "check_suite"), "head_sha")),
        "installation": _installation(payload),
        "sender": _sender(payload),
    }
    return Accepted("check_suite", fields)


def _read_comment(payload: Mapping[str, Any], prefixes: Sequence[str]) -> Accepted | Ignored:
    if payload.get("action") != "created":
        return Ignored("Only new comments are read, no edits.")
    issue, comment = _object(payload, "issue"), _object(payload, "comment")
    if not isinstance(issue.get("pull_request"), dict):
        return Ignored("The comment is not on a pull request.")
    sender = _sender(payload)
    if _is_bot(_object(payload, "sender"), sender):
        return Ignored("A bot wrote the comment.")
    command = _text(comment, "body").translate(_BLANKS).strip()
    if not _begins_so(command, prefixes):
        return Ignored("The comment does not begin as commands do.")
    if len(command) > LONGEST_COMMAND or not command.isprintable():
        return Ignored("The comment has several lines, or is longer than commands are.")
    fields = {
        "repository": _repository(payload),
        "pull_request": _number(issue, "number"),
        "comment": _number(comment, "id"),
        "text": command,
        "installation": _installation(payload),
        "sender": sender,
    }
    return Accepted("issue_comment", fields)


def _is_bot(sender: Mapping[str, Any], login: str) -> bool:
    return sender.get("type") == "Bot" or login.endswith("[bot]")


def _begins_so(command: str, prefixes: Sequence[str]) -> bool:
    first, *_ = command.split(maxsplit=1) or [""]
    return first.lower() in {prefix.lower() for prefix in prefixes}


def _repository(payload: Mapping[str, Any]) -> str:
    return repository_name(_text(_object(payload, "repository"), "full_name"))


def _object(payload: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = payload.get(key)
    if not isinstance(value, dict):
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    if not isinstance(value, str):
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def _number(payload: Mapping[str, Any], key: str) -> int:
    value = payload.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 63:
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def _matching(pattern: re.Pattern[str], payload: Mapping[str, Any], key: str) -> str:
    text = _text(payload, key)
    if not pattern.fullmatch(text):
        raise InvalidName(key, text, "Tidegate never makes such a one")
    return text


def _plain(name: str) -> str:
    if not name.isprintable() or len(name) > _MAXIMUM_CHECK_RUN:
        raise InvalidName("check run", name, "Tidegate never makes such a one")
    return name


def _installation(payload: Mapping[str, Any]) -> int:
    """Return the installation's id: without a GitHub App, Tidegate can neither read nor report."""
    if not isinstance(payload.get("installation"), dict):
        raise InvalidWebhook("The event has no installation. Send webhooks from the GitHub App, not from a repository.")
    return _number(payload["installation"], "id")


def _sender(payload: Mapping[str, Any]) -> str:
    return _matching(_LOGIN, _object(payload, "sender"), "login")
