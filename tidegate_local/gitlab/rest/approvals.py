"""Approvals of merge requests."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import approvals, mergeability, shapes
from tidegate_local.gitlab.records import MergeRequest
from tidegate_local.gitlab.rest.merge_requests import merge_request_of
from tidegate_local.gitlab.routing import Call, Routes
from tidegate_local.gitlab.settings import REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_ONE = "/projects/:id/merge_requests/:iid"


def _show(call: Call, one: MergeRequest) -> Json:
    """Return who approves a merge request; with no approvals needed, GitLab calls it approved at once."""
    found, needed = mergeability.approvals(call.hosting, one), call.project.approvals
    who = call.user
    names = ("suggested_approvers", "approvers", "approver_groups", "approval_rules_left")
    return {
        "id": one.id,
        "iid": one.iid,
        "project_id": call.project.id,
        "title": one.title,
        "description": one.description,
        "state": one.state,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "merge_status": mergeability.of(call.hosting, call.project, one).short,
        "approved": len(found) >= needed,
        "approvals_required": needed,
        "approvals_left": max(0, needed - len(found)),
        "require_password_to_approve": False,
        "approved_by": [
            {"user": shapes.named(call.hosting, each.user), "approved_at": each.created_at} for each in found
        ],
        **{name: [] for name in names},
        "user_has_approved": approvals.has(call.hosting, one, who),
        "user_can_approve": approvals.may_approve(call.hosting, call.project, one, who),
        "has_approval_rules": needed > 0,
        "merge_request_approvers_available": True,
        "multiple_approval_rules_available": True,
        "invalid_approvers_rules": [],
    }


@ROUTES.add("GET", f"{_ONE}/approvals", REPORTER)
def get(call: Call) -> Response:
    return answer(_show(call, merge_request_of(call)))


@ROUTES.add("POST", f"{_ONE}/approve", REPORTER)
def approve(call: Call) -> Response:
    one, sha = merge_request_of(call), call.given().get("sha")
    approvals.approve(call.hosting, call.project, one, call.user, None if sha is None else str(sha))
    return answer(_show(call, merge_request_of(call)), 201)


@ROUTES.add("POST", f"{_ONE}/unapprove", REPORTER)
def unapprove(call: Call) -> Response:
    approvals.unapprove(call.hosting, call.project, merge_request_of(call), call.user)
    return answer(_show(call, merge_request_of(call)), 201)
