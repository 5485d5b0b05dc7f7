"""The fields of webhook events that are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidegate.roots.rules.root import commit_sha, repository_name
from tidegate.rules.errors import InvalidName
from tidegate.vcs.rules.authors import MAXIMUM_AUTHORS, co_authors
from tidegate.vcs.rules.decision import Accepted, Decision, Ignored, Refused
from tidegate.vcs.rules.drift_check_names import is_of_drift, schedule_of
from tidegate.vcs.rules.fields import (
    LOGIN,
    check_sent_by_app,
    matching_in,
    moment_in,
    number_in,
    object_in,
    repository_in,
    sender_in,
    text_in,
)
from tidegate.vcs.rules.pull_request_check_names import is_of_pull_request
from tidegate.vcs.rules.pull_requests import read_merge_group, read_pull_request, read_review

#: Prefix of our check runs' names; buttons on others are not ours.
OUR_CHECK_RUNS = "tidegate/"
#: Default first words of commands in comments.
COMMENT_PREFIXES = ("tidegate",)
#: Characters of a possible command at most.
LONGEST_COMMAND = 1000
#: GitHub lists at most this many commits in a push.
_MAXIMUM_COMMITS = 2048

_DEPLOYMENT = re.compile(r"[A-Za-z0-9-]{1,64}")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_ -]{1,20}")
_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]|\.\.|@\{|//|/$|^/")
_MAXIMUM_BRANCH = 1024
_MAXIMUM_CHECK_RUN = 200
#: Pull requests of one head that are planned again at once.
_MOST_PULL_REQUESTS = 10
_ZEROS = re.compile(r"0+")
_BLANKS = str.maketrans({"\t": " ", "\xa0": " "})


def read_event(event: str, payload: Mapping[str, Any], prefixes: Sequence[str] = COMMENT_PREFIXES) -> Decision:
    """Decide about an event. ``prefixes`` are the first words of commands in comments.

    Raise InvalidWebhook if a required field is missing.
    """
    try:
        if event == "issue_comment":
            decision: Decision = _read_comment(payload, prefixes)
        else:
            read = _READERS.get(event)
            decision = read(payload) if read else _ignored(event, payload)
    except InvalidName as error:
        return Refused(str(error))
    if isinstance(decision, Accepted):
        check_sent_by_app(payload)
    return decision


def _ignored(event: str, payload: Mapping[str, Any]) -> Ignored:
    if event == "repository" and payload.get("action") in {"renamed", "transferred"}:
        return Ignored("The repository was renamed. Tidegate treats it as another repository under the new name.")
    return Ignored("Event type ignored.")


def branch_name(text: str) -> str:
    """Return ``text`` if it is a valid branch name for git; raise InvalidName otherwise."""
    if not text or len(text) > _MAXIMUM_BRANCH or _NOT_IN_BRANCHES.search(text):
        raise InvalidName("branch", text, "not a valid git branch name")
    return text


def _read_push(payload: Mapping[str, Any]) -> Accepted | Ignored:
    ref, after = text_in(payload, "ref"), text_in(payload, "after")
    if ref.startswith("refs/tags/"):
        return Ignored("A tag was pushed, not a branch.")
    if payload.get("deleted") is True or _ZEROS.fullmatch(after):
        return Ignored("The branch was deleted.")
    repository = object_in(payload, "repository")
    branch = ref.removeprefix("refs/heads/")
    if branch == ref or branch != text_in(repository, "default_branch"):
        return Ignored("The push is not to the default branch.")
    fields = {
        "repository": repository_name(text_in(repository, "full_name")),
        "before": commit_sha(text_in(payload, "before")),
        "after": commit_sha(after),
        "branch": branch_name(branch),
        "sender": sender_in(payload),
        "forced": payload.get("forced") is True,
        "authors": _authors(payload),
    }
    return Accepted("push", fields)


def _authors(payload: Mapping[str, Any]) -> list[str] | None:
    """Return the logins of the pushed commits' authors, each once.

    None if the event does not name them all, or there are very many: then the VCS provider is asked.
    """
    commits = payload.get("commits")
    if not isinstance(commits, list) or not 0 < len(commits) < _MAXIMUM_COMMITS:
        return None
    found: dict[str, None] = {}
    for commit in commits:
        author = commit.get("author") if isinstance(commit, dict) else None
        login = author.get("username") if isinstance(author, dict) else None
        if not isinstance(login, str) or not LOGIN.fullmatch(login) or co_authors(str(commit.get("message"))):
            return None
        found[login] = None
    return list(found) if len(found) <= MAXIMUM_AUTHORS else None


def _read_check_run(payload: Mapping[str, Any]) -> Accepted | Ignored:
    if payload.get("action") in ("created", "completed"):  # It may be of any type.
        return _read_result(payload, object_in(payload, "check_run"))
    return _read_button(payload)


def _read_button(payload: Mapping[str, Any]) -> Accepted | Ignored:
    action = payload.get("action")
    if action not in ("requested_action", "rerequested"):
        return Ignored("No button of a check run was clicked.")
    check_run = object_in(payload, "check_run")
    name = text_in(check_run, "name")
    if not name.startswith(OUR_CHECK_RUNS):
        return Ignored("The button is not on a check run of Tidegate.")
    if action == "rerequested" and is_of_pull_request(name):
        return Accepted("replan", _commit_demand(payload, check_run))
    if action == "rerequested" and is_of_drift(name):
        asked = _commit_demand(payload, check_run)
        return Accepted("detect_drift", {**asked, "schedule": schedule_of(name)})
    fields = {
        "repository": repository_in(payload),
        "id": number_in(check_run, "id"),
        "external_id": matching_in(_DEPLOYMENT, check_run, "external_id"),
        "name": _plain(name),
        "head_sha": commit_sha(text_in(check_run, "head_sha")),
        "sender": sender_in(payload),
    }
    if action == "rerequested":
        return Accepted("rerun", fields)
    identifier = matching_in(_IDENTIFIER, object_in(payload, "requested_action"), "identifier")
    return Accepted("check_run", {**fields, "identifier": identifier})


def _read_result(payload: Mapping[str, Any], check_run: Mapping[str, Any]) -> Accepted | Ignored:
    """Decide about a check run that was made or has ended: config updates wait for those of others."""
    if text_in(check_run, "name").startswith(OUR_CHECK_RUNS):
        return Ignored("The check run is Tidegate's own.")
    if check_run.get("conclusion") is None:
        return Ignored("The check run has not ended.")
    return _checked(payload, text_in(check_run, "head_sha"))


def _checked(payload: Mapping[str, Any], sha: str) -> Accepted:
    return Accepted("checks", {"repository": repository_in(payload), "sha": commit_sha(sha)})


def _read_status(payload: Mapping[str, Any]) -> Accepted | Ignored:
    """Decide about a commit status. Its ``branches`` are ten at most, so they do not tell where the commit is."""
    if payload.get("state") == "pending":
        return Ignored("The commit status is pending.")
    return _checked(payload, text_in(payload, "sha"))


def _read_check_suite(payload: Mapping[str, Any]) -> Accepted | Ignored:
    if payload.get("action") == "completed":
        return _read_suite(payload, object_in(payload, "check_suite"))
    if payload.get("action") != "rerequested":
        return Ignored("Not a request to re-run all checks.")
    return Accepted("check_suite", _commit_demand(payload, object_in(payload, "check_suite")))


def _read_suite(payload: Mapping[str, Any], suite: Mapping[str, Any]) -> Accepted | Ignored:
    """Decide about a suite that has ended.

    If its App itself ended it, a check run has told so before. That is so of Tidegate's own.
    """
    app = suite.get("app")
    slug = app.get("slug") if isinstance(app, dict) else None
    if object_in(payload, "sender").get("login") == f"{slug}[bot]":
        return Ignored("The App has told of its check runs.")
    return _checked(payload, text_in(suite, "head_sha"))


def _commit_demand(payload: Mapping[str, Any], checks: Mapping[str, Any]) -> dict[str, Any]:
    """Return what somebody requests for a commit, and the open pull requests of which that is the head."""
    listed, home = checks.get("pull_requests"), object_in(payload, "repository").get("id")
    pulls = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    pulls = [each for each in pulls if _goes_to(each) in (None, home)]
    return {
        "repository": repository_in(payload),
        "head_sha": commit_sha(text_in(checks, "head_sha")),
        "sender": sender_in(payload),
        "pull_requests": [number_in(each, "number") for each in pulls[:_MOST_PULL_REQUESTS]],
    }


def _goes_to(pull_request: Mapping[str, Any]) -> object:
    """Return the id of a pull request's base repository, if present: a fork's head is in another."""
    base = pull_request.get("base")
    repository = base.get("repo") if isinstance(base, dict) else None
    number = repository.get("id") if isinstance(repository, dict) else None
    return number if isinstance(number, int) else None


def _read_comment(payload: Mapping[str, Any], prefixes: Sequence[str]) -> Accepted | Ignored:
    if payload.get("action") != "created":
        return Ignored("Edited and deleted comments are ignored.")
    issue, comment = object_in(payload, "issue"), object_in(payload, "comment")
    if not isinstance(issue.get("pull_request"), dict):
        return Ignored("The comment is not on a pull request.")
    sender = sender_in(payload)
    if _is_bot(object_in(payload, "sender"), sender):
        return Ignored("Comments by bots are ignored.")
    command = command_in(text_in(comment, "body"), prefixes)
    if isinstance(command, Ignored):
        return command
    fields = {
        "repository": repository_in(payload),
        "pull_request": number_in(issue, "number"),
        "comment": number_in(comment, "id"),
        "text": command,
        "sender": sender,
        "written_at": moment_in(comment, "created_at"),
    }
    return Accepted("issue_comment", fields)


def command_in(text: str, prefixes: Sequence[str]) -> str | Ignored:
    """Return the command in a comment, or why there is none. ``prefixes`` are the first words of commands."""
    command = text.translate(_BLANKS).strip()
    if not _begins_so(command, prefixes):
        return Ignored("The comment is not a command.")
    if len(command) > LONGEST_COMMAND or not command.isprintable():
        return Ignored("The comment has several lines or is too long to be a command.")
    return command


def _is_bot(sender: Mapping[str, Any], login: str) -> bool:
    return sender.get("type") == "Bot" or login.endswith("[bot]")


def _begins_so(command: str, prefixes: Sequence[str]) -> bool:
    first, *_ = command.split(maxsplit=1) or [""]
    return first.lower() in {prefix.lower() for prefix in prefixes}


def _plain(name: str) -> str:
    if not name.isprintable() or len(name) > _MAXIMUM_CHECK_RUN:
        raise InvalidName("check run", name, "Tidegate creates no such id")
    return name


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Decision]] = {
    "push": _read_push,
    "check_run": _read_check_run,
    "check_suite": _read_check_suite,
    "pull_request": read_pull_request,
    "pull_request_review": read_review,
    "merge_group": read_merge_group,
    "status": _read_status,
}
