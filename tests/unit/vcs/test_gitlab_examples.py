"""All webhooks that GitLab documents, whole, posted one after the other: each has a verdict, and the right one."""

from __future__ import annotations

import json
import uuid
from collections import Counter

import pytest

from tests.fakes.scenario import MemoryClock, MemoryEventQueue
from tests.fakes.stores import MemoryDeliveries
from tests.gitlab.examples import OLDER, example
from tests.gitlab_events import EVERY
from tests.unit.vcs.webhook_scenario import FakeSecrets
from tidegate.vcs.gitlab_webhooks import GITLAB
from tidegate.vcs.receive_webhook import WebhookReceiver, WebhookRequest

ZEROS = "0" * 40
COMMAND = "tidegate help"
PUSH, TAG, MERGE, NOTE = "Push Hook", "Tag Push Hook", "Merge Request Hook", "Note Hook"


def pushed(**changes):
    return example("WebhookPushEventSchema", **changes)


def merge_request(**attributes):
    return example("WebhookMergeRequestEventSchema", object_attributes=attributes)


def updated(*changes, oldrev=None):
    """Return a merge request of which ``changes`` changed, and the head if there was an older one."""
    whole = merge_request(action="update", oldrev=oldrev)
    if oldrev is None:
        del whole["object_attributes"]["oldrev"]
    return {**whole, "changes": {name: {"previous": "a", "current": "b"} for name in changes}}


def note(kind, noteable, text=COMMAND):
    return example(f"Webhook{kind}NoteEventSchema", object_attributes={"note": text, "noteable_type": noteable})


#: The kind of each event, the event, and what becomes of it.
WHOLE = [
    (PUSH, pushed(), "stored"),
    (PUSH, pushed(ref="refs/heads/feature"), "ignored"),
    (PUSH, pushed(before=ZEROS), "stored"),
    (PUSH, pushed(after=ZEROS, checkout_sha=None), "ignored"),
    (TAG, example("WebhookTagEventSchema", ref="refs/tags/v1.0.0"), "ignored"),
    *(
        (MERGE, merge_request(action=action), "stored")
        for action in ("open", "reopen", "close", "merge", "approved", "unapproved", "approval", "unapproval")
    ),
    (MERGE, updated(), "ignored"),
    (MERGE, updated("title", "labels", "assignees", "reviewers", "description"), "ignored"),
    (MERGE, updated(oldrev=OLDER), "stored"),
    (MERGE, updated("target_branch"), "stored"),
    (MERGE, updated("draft"), "stored"),
    (NOTE, note("MergeRequest", "MergeRequest"), "stored"),
    (NOTE, note("MergeRequest", "MergeRequest", "This needs work."), "ignored"),
    (NOTE, note("Commit", "Commit"), "ignored"),
    (NOTE, note("Issue", "Issue"), "ignored"),
    (NOTE, note("Snippet", "Snippet"), "ignored"),
    ("Issue Hook", example("WebhookIssueEventSchema"), "ignored"),
    ("Confidential Issue Hook", example("WebhookIssueEventSchema"), "ignored"),
    ("Wiki Page Hook", example("WebhookWikiEventSchema"), "ignored"),
    ("Pipeline Hook", example("WebhookPipelineEventSchema", object_attributes={"status": "running"}), "ignored"),
    ("Pipeline Hook", example("WebhookPipelineEventSchema", object_attributes={"status": "failed"}), "stored"),
    ("Job Hook", example("WebhookJobEventSchema"), "ignored"),
    ("Job Hook", example("WebhookJobEventSchema", build_status="success"), "stored"),
    ("Deployment Hook", example("WebhookDeploymentEventSchema"), "ignored"),
    ("Feature Flag Hook", example("WebhookFeatureFlagEventSchema"), "ignored"),
    ("Release Hook", example("WebhookReleaseEventSchema"), "ignored"),
    ("Member Hook", example("WebhookGroupMemberEventSchema"), "ignored"),
    ("Subgroup Hook", example("WebhookSubGroupEventSchema"), "ignored"),
]
#: What system hooks tell, by ``event_name``.
_SYSTEM = """
    project_create project_destroy project_rename project_transfer project_update user_add_to_team
    user_remove_from_team user_update_for_team user_create user_destroy user_failed_login user_rename key_create
    key_destroy group_create group_destroy group_rename user_add_to_group user_remove_from_group
    user_update_for_group user_access_request_to_project user_access_request_to_group
    user_access_request_revoked_for_project user_access_request_revoked_for_group
    gitlab_subscription_member_approval gitlab_subscription_member_approvals
"""
SYSTEM = [
    *({"event_name": name, "path_with_namespace": "acme/platform/infra"} for name in _SYSTEM.split()),
    pushed(),
    example("WebhookTagEventSchema"),
    merge_request(action="open"),
    {"event_name": "repository_update", "changes": [{"before": OLDER, "after": ZEROS, "ref": "refs/heads/main"}]},
]


@pytest.fixture(scope="module")
def answers():
    """Post all to one installation; return (kind, event, what it should come to, answer) of each, and what was sent."""
    queue = MemoryEventQueue()
    receiver = WebhookReceiver(FakeSecrets(), MemoryDeliveries(), queue, MemoryClock(), dialect=GITLAB)
    told = []
    for kind, event, wanted in [*WHOLE, *EVERY, *(("System Hook", event, "ignored") for event in SYSTEM)]:
        request = WebhookRequest(json.dumps(event).encode(), "current", kind, str(uuid.uuid4()))
        told.append((kind, event, wanted, receiver.receive(request)))
    return told, queue.sent


def test_every_event_is_answered_as_it_should_be_and_none_by_an_error(answers):
    for kind, event, wanted, answer in answers[0]:
        assert (answer.status, answer.result) == (202, wanted), (kind, event, answer)


def test_everything_that_is_stored_is_queued_once(answers):
    stored = [answer for _, _, _, answer in answers[0] if answer.result == "stored"]
    assert len(stored) == len(answers[1]) == len({delivery.id for delivery in answers[1]})
    assert Counter(delivery.event for delivery in answers[1]).keys() == {
        "push",
        "pull_request",
        "pull_request_review",
        "issue_comment",
        "checks",
    }


def test_what_is_taken_is_who_and_which_and_no_words_but_of_commands(answers):
    sent = {delivery.event: set(delivery.fields) for delivery in answers[1]}
    where = {"repository", "project", "sender"}
    assert sent["push"] == where | {"before", "after", "branch", "forced", "authors"}
    assert sent["pull_request"] == where | {"pull_request", "action"}
    assert sent["pull_request_review"] == where | {"pull_request"}
    assert sent["issue_comment"] == where | {"pull_request", "comment", "text", "written_at"}
