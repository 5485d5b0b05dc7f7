"""Payloads of webhooks, one of each kind that is read."""

from __future__ import annotations

import copy

BEFORE, AFTER = "a" * 40, "b" * 40
PUSH = {
    "ref": "refs/heads/main",
    "before": BEFORE,
    "after": AFTER,
    "created": False,
    "deleted": False,
    "forced": False,
    "repository": {"full_name": "acme/infra", "default_branch": "main", "clone_url": "https://elsewhere.example/x"},
    "sender": {"login": "octocat"},
    "installation": {"id": 42},
    "commits": [{"id": AFTER, "message": "not used", "author": {"name": "Octo", "username": "octocat"}}],
}
PRESS = {
    "action": "requested_action",
    "requested_action": {"identifier": "Approve"},
    "check_run": {
        "id": 128620228,
        "external_id": "network-bbbbbbb-0123456789ab",
        "name": "tidegate/deploy: network",
        "head_sha": AFTER,
    },
    "repository": {"full_name": "acme/infra"},
    "sender": {"login": "octocat"},
    "installation": {"id": 42},
}
SUITE = {
    "action": "rerequested",
    "check_suite": {"id": 5, "head_sha": AFTER, "head_branch": "main"},
    "repository": {"full_name": "acme/infra"},
    "sender": {"login": "octocat"},
    "installation": {"id": 42},
}
COMMENT = {
    "action": "created",
    "issue": {"number": 5, "pull_request": {"url": "https://api.example/pulls/5"}},
    "comment": {"id": 77, "body": "tidegate deploy -p network", "created_at": "2026-03-02T08:00:00Z"},
    "repository": {"full_name": "acme/infra"},
    "sender": {"login": "octocat", "type": "User"},
    "installation": {"id": 42},
}
WHERE = {"repository": {"full_name": "acme/infra"}, "sender": {"login": "octocat"}, "installation": {"id": 42}}
PULL = {"action": "opened", "pull_request": {"number": 5, "title": "not used", "head": {"sha": AFTER}}, **WHERE}
REVIEW = {"action": "submitted", "review": {"id": 9}, "pull_request": {"number": 5}, **WHERE}
QUEUED = "refs/heads/gh-readonly-queue/main/pr-5-" + BEFORE
GROUP = {"action": "checks_requested", "merge_group": {"head_sha": AFTER, "head_ref": QUEUED}, **WHERE}
RESULT = {
    "action": "completed",
    "check_run": {"name": "build", "head_sha": AFTER, "conclusion": "failure", "app": {"slug": "github-actions"}},
    **WHERE,
}
STATUS = {"sha": AFTER, "state": "success", "context": "build", "branches": [], **WHERE}
ENDED = {
    "action": "completed",
    "check_suite": {"head_sha": AFTER, "conclusion": "success", "app": {"slug": "github-actions"}},
    **WHERE,
}
EVENTS = {
    "status": STATUS,
    "push": PUSH,
    "check_run": PRESS,
    "check_suite": SUITE,
    "issue_comment": COMMENT,
    "pull_request": PULL,
    "pull_request_review": REVIEW,
    "merge_group": GROUP,
}


def changed(event: dict, path: str, value: object) -> dict:
    """Return the event with the value at a dotted path replaced; ``...`` removes it."""
    result = copy.deepcopy(event)
    *outer, last = path.split(".")
    place = result
    for key in outer:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return result
