"""The fields of GitLab's webhooks that are used. They become the same events as GitHub's.

The rest is read from GitLab when an event is processed. A project's number distinguishes it from others that had its
path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidegate.roots.rules.root import commit_sha, repository_name
from tidegate.rules.errors import InvalidName, InvalidWebhook
from tidegate.vcs.rules.decision import Accepted, Decision, Ignored, Refused
from tidegate.vcs.rules.events import COMMENT_PREFIXES, branch_name, command_in
from tidegate.vcs.rules.fields import LOGIN, matching_in, moment_in, moved, number_in, object_in, text_in

#: GitLab's actions on a merge request, in GitHub's words.
_ACTIONS = {"open": "opened", "reopen": "reopened", "close": "closed", "merge": "closed"}
_REVIEWS = frozenset({"approved", "unapproved", "approval", "unapproval"})
#: Bot users of project and group access tokens.
_BOT = re.compile(r"(project|group)_\d+_bot(_[0-9a-z]+|\d*)", re.IGNORECASE)
_ZEROS = re.compile(r"0+")
#: States of pipelines and jobs that have ended.
_ENDED = frozenset({"success", "failed", "canceled", "skipped"})


def read_event(event: str, payload: Mapping[str, Any], prefixes: Sequence[str] = COMMENT_PREFIXES) -> Decision:
    """Decide about an event, named as in ``X-Gitlab-Event``.

    ``prefixes`` are the first words of commands in comments. Raise InvalidWebhook if a required field is missing.
    """
    try:
        if event == "Note Hook":
            return _read_note(payload, prefixes)
        read = _READERS.get(event)
        return read(payload) if read else Ignored("Event type ignored.")
    except InvalidName as error:
        return Refused(str(error))


def _read_push(payload: Mapping[str, Any]) -> Accepted | Ignored:
    _of_kind(payload, "push")
    ref, after = text_in(payload, "ref"), text_in(payload, "after")
    if _ZEROS.fullmatch(after):
        return Ignored("The branch was deleted.")
    project = object_in(payload, "project")
    branch = ref.removeprefix("refs/heads/")
    if branch == ref or branch != project.get("default_branch"):
        return Ignored("The push is not to the default branch.")
    fields = {
        **_where(payload),
        "before": commit_sha(text_in(payload, "before")),
        "after": commit_sha(after),
        "branch": branch_name(branch),
        "sender": matching_in(LOGIN, payload, "user_username"),
        # GitLab tells neither whether a push was forced nor whose the email addresses are.
        "forced": None,
        "authors": None,
    }
    return Accepted("push", fields)


def _read_merge_request(payload: Mapping[str, Any]) -> Accepted | Ignored:
    _of_kind(payload, "merge_request")
    request = object_in(payload, "object_attributes")
    action = request.get("action")
    fields = {**_where(payload), "pull_request": number_in(request, "iid"), "sender": _sender(payload)}
    if isinstance(action, str) and action in _REVIEWS:
        return Accepted("pull_request_review", fields)
    told = _update(request, payload) if action == "update" else _ACTIONS.get(str(action))
    if told is None:
        return Ignored("Tidegate ignores this change of a merge request.")
    return Accepted("pull_request", {**fields, "action": told, **_head(told, request)})


def _head(action: str, request: Mapping[str, Any]) -> dict[str, str]:
    """Return the merge request head's old and new commit: the event's user pushed."""
    if action not in {"opened", "synchronize"}:
        return {}
    head = request.get("last_commit")
    return moved(request.get("oldrev"), head.get("id")) if isinstance(head, dict) else {}


def _update(request: Mapping[str, Any], payload: Mapping[str, Any]) -> str | None:
    """Return in a word what an update changes about the merge, None if nothing."""
    changes = payload.get("changes")
    changes = changes if isinstance(changes, dict) else {}
    if isinstance(request.get("oldrev"), str):
        return "synchronize"
    if "target_branch" in changes:
        return "edited"
    if "draft" in changes or "work_in_progress" in changes:
        return "converted_to_draft" if request.get("draft") is True else "ready_for_review"
    return None


def _read_note(payload: Mapping[str, Any], prefixes: Sequence[str]) -> Accepted | Ignored:
    _of_kind(payload, "note")
    note = object_in(payload, "object_attributes")
    if note.get("noteable_type") != "MergeRequest":
        return Ignored("The comment is not on a merge request.")
    if note.get("action", "create") != "create" or note.get("system") is True:
        return Ignored("Edited and deleted comments are ignored.")
    sender = _sender(payload)
    if _BOT.fullmatch(sender):
        return Ignored("Comments by bots are ignored.")
    command = command_in(text_in(note, "note"), prefixes)
    if isinstance(command, Ignored):
        return command
    fields = {
        **_where(payload),
        "pull_request": number_in(object_in(payload, "merge_request"), "iid"),
        "comment": number_in(note, "id"),
        "text": command,
        "sender": sender,
        "written_at": moment_in(note, "created_at"),
    }
    return Accepted("issue_comment", fields)


def _read_pipeline(payload: Mapping[str, Any]) -> Accepted | Ignored:
    _of_kind(payload, "pipeline")
    pipeline = object_in(payload, "object_attributes")
    return _checked(payload, pipeline.get("status"), text_in(pipeline, "sha"))


def _read_job(payload: Mapping[str, Any]) -> Accepted | Ignored:
    _of_kind(payload, "build")
    return _checked(payload, payload.get("build_status"), text_in(payload, "sha"))


def _checked(payload: Mapping[str, Any], state: object, sha: str) -> Accepted | Ignored:
    if not isinstance(state, str) or state not in _ENDED:
        return Ignored("The pipeline or job has not ended.")
    return Accepted("checks", {"repository": _where(payload)["repository"], "sha": commit_sha(sha)})


def _of_kind(payload: Mapping[str, Any], kind: str) -> None:
    if payload.get("object_kind") != kind:
        raise InvalidWebhook(f"The event's object_kind is not {kind}, so it contradicts the X-Gitlab-Event header.")


def _where(payload: Mapping[str, Any]) -> dict[str, Any]:
    project = object_in(payload, "project")
    repository = repository_name(text_in(project, "path_with_namespace"))
    return {"repository": repository, "project": number_in(project, "id")}


def _sender(payload: Mapping[str, Any]) -> str:
    return matching_in(LOGIN, object_in(payload, "user"), "username")


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Decision]] = {
    "Push Hook": _read_push,
    "Merge Request Hook": _read_merge_request,
    "Pipeline Hook": _read_pipeline,
    "Job Hook": _read_job,
}
