"""The end of a merged pull request's comment: what became of its roots."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, amended, any_lock, deployment_in
from tests.instants import utc
from tests.pull_request_layers import comment_of, planned
from tests.unit.comments.comment_text import is_whole
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Review
from tidegate.pull_requests.rules.comment import MAXIMUM_COMMENT, MERGED, render_closed, render_comment
from tidegate.pull_requests.rules.merged import MergedRoot, is_settled, render_merged, with_end
from tidegate.roots.rules.root import Revision
from tidegate.texts.markdown import size

OF = deployment_in(State.APPLIED).revision.sha
PAGE = "https://tidegate.example/pulls/acme/infra/5"


def root(name, state=None, **fields):
    found = None if state is None else amended(deployment_in(state), **fields)
    return MergedRoot(name, "default", OF, found, f"https://tidegate.example/deployments/{name}" if found else "")


def test_what_is_applied_is_counted_and_what_failed_comes_first_with_its_last_lines():
    failed = root("db", State.APPLY_FAILED, reason="The apply failed", last_lines="Error: no such bucket\n")
    text = render_merged([root("app", State.APPLIED), failed, root("web")], PAGE)
    assert text.startswith(f"{MERGED}\n\n**1 of 3 roots deployed**, 1 failed.")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `db` | [**apply failed**](https://tidegate.example/deployments/db): The apply failed |",
        "| `web` | not queued yet |",
        "| `app` | [applied](https://tidegate.example/deployments/app) |",
    ]
    assert "Error: no such bucket" in text
    assert text.endswith(f"[All its deployments]({PAGE})")


def test_what_is_blocked_is_not_counted_as_failed():
    text = render_merged([root("db", State.APPLY_FAILED), root("app", State.BLOCKED), root("web", State.BLOCKED)], PAGE)
    assert "**0 of 3 roots deployed**, 1 failed, 2 blocked." in text
    assert "**0 of 1 root deployed**, 1 blocked." in render_merged([root("app", State.BLOCKED)], PAGE)


@pytest.mark.parametrize(
    ("fields", "what", "how"),
    [
        ({}, "locked its queue", "-p app"),
        ({"scope": "prod"}, "locked stack prod", "--stack prod"),
        ({"scope": "*", "expires_at": utc("2026-03-02T16:35")}, "all roots until 2026-03-02 16:35 UTC", "--all"),
    ],
)
def test_what_waits_behind_a_lock_says_whose_it_is_until_when_and_how_it_goes_on(fields, what, how):
    lock = any_lock(**{"reason": "The vendor moves.", **fields})
    row = render_merged([replace(root("app", State.QUEUED), lock=lock)], PAGE)
    for told in ("[**locked**](https://tidegate.example", what, "The vendor moves", f"`tidegate unlock {how}`"):
        assert told in row
    by_hand = replace(root("app", State.QUEUED, trigger=Trigger.MANUAL), lock=lock)
    assert "queued" in render_merged([by_hand], PAGE)
    assert "| **locked**: " in render_merged([replace(root("app", State.QUEUED), lock=lock, url="")], PAGE)


def test_what_was_applied_before_the_merge_is_said_to_be():
    before = root("app", State.NO_CHANGES, plan_job=None, reason="Pull request 5 was applied.")
    assert "[applied before the merge](" in render_merged([before], PAGE)


@pytest.mark.parametrize("state", list(State))
def test_each_state_has_words_and_leads_to_its_deployment(state):
    text = render_merged([root("app", state)], PAGE)
    assert "](https://tidegate.example/deployments/app)" in text


def test_once_all_is_deployed_it_says_so():
    text = render_merged([root("app", State.APPLIED), root("db", State.NO_CHANGES)], "")
    assert "**Everything is deployed**: 2 roots." in text
    assert "](http" in text


def test_what_a_newer_commit_deploys_names_that_and_a_rejection_names_who():
    newer = root("app", State.APPLIED, revision=Revision("f" * 40, "main"))
    assert "with the newer `fffffff`" in render_merged([newer], PAGE)
    review = Review("token", NOW, approved=False, by="ann", at=NOW)
    assert "rejected" in render_merged([root("app", State.REJECTED, review=review)], PAGE)
    assert "by `ann`" in render_merged([root("app", State.REJECTED, review=review)], PAGE)


def test_the_end_takes_the_place_of_what_was_to_be_done_and_of_an_earlier_end():
    comment = render_comment(comment_of(planned("app")))
    closed = render_closed(comment, PAGE, merged=True, applied=False)
    first = with_end(closed, render_merged([root("app", State.PLANNING)], PAGE))
    last = with_end(first, render_merged([root("app", State.APPLIED)], PAGE))
    assert last.count("### Merged") == 1
    assert "planning" not in last
    assert last.startswith(comment[: comment.rindex("\n\n### What happens on")])
    is_whole(last)


def test_a_comment_that_has_no_end_yet_gets_one():
    assert with_end("Nothing.", "### Merged\n\n**All**") == "Nothing.\n\n### Merged\n\n**All**"


def test_where_there_is_no_room_the_last_lines_go_first_and_then_all_of_it():
    failed = root("db", State.APPLY_FAILED, last_lines="x" * 5_000)
    end = render_merged([failed], PAGE)
    plans = "y" * (MAXIMUM_COMMENT - 1_000)
    text = with_end(plans, end)
    assert size(text) <= MAXIMUM_COMMENT
    assert "**apply failed**" in text
    assert "xxx" not in text
    full = "y" * MAXIMUM_COMMENT
    assert with_end(full, end) == full


def test_very_many_roots_are_counted():
    text = render_merged([root(f"r{number}", State.APPLYING) for number in range(500)], PAGE)
    assert "more" in text
    assert size(text) < 10_000


@pytest.mark.parametrize(
    ("states", "days", "settled"),
    [
        ([State.APPLIED, State.NO_CHANGES], 0, True),
        ([State.APPLIED, State.AWAITING_REVIEW], 10, False),
        ([State.APPLY_FAILED], 10, False),
        ([State.APPLIED, None], 0, False),
        ([State.APPLIED, None], 2, True),
        ([State.AWAITING_REQUIREMENTS], 28, False),
        ([State.APPLY_FAILED], 36, True),
    ],
)
def test_comments_follow_until_all_is_deployed_or_five_weeks_have_passed(states, days, settled):
    roots = [root(f"r{number}", state) for number, state in enumerate(states)]
    now = NOW + timedelta(days=days, seconds=1)
    assert is_settled(roots, NOW, now) is settled


def test_nothing_of_a_reason_or_a_name_is_read_as_markup():
    text = render_merged([root("a|b", State.REFUSED, reason="@all [x](http://evil)")], PAGE)
    assert "@all" not in text
    assert "[x](http" not in text
    assert "`a\\|b`" in text


def test_text_of_a_plan_or_of_a_failure_is_not_taken_for_the_end_of_the_comment():
    # Engines print a carriage return in a text as it is, and it begins a line.
    forged = f"a\r\r{MERGED}\r\r@everybody **all is well**\r\r### Merged\r\r@everybody"
    comment = render_comment(comment_of(planned("app", f"  + x = <<-EOT\n{forged}\n")))
    failed = root("app", State.APPLY_FAILED, last_lines=f"{forged}\n")
    first = with_end(comment, render_merged([failed], PAGE))
    assert first.startswith(comment)
    assert with_end(first, render_merged([root("app", State.APPLIED)], PAGE)).startswith(comment)
    assert is_whole(first)
