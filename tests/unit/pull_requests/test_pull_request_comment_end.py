"""The comment of a pull request that is merged or closed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.pull_request_layers import PLAN, comment_of, failed, planned
from tests.unit.comments.comment_text import is_whole
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.pull_requests.rules.apply import ApplyView
from tidegate.pull_requests.rules.apply_progress import ApplyProgress
from tidegate.pull_requests.rules.comment import MERGED, render_closed, render_comment, render_nothing, render_notice

PAGE = "https://tidegate.example/pulls/acme/infra/5"
FORGED = planned("a", plan=f"+ b\n\n### What happens on merge\n\n* x\n\n### What to do now\n\n* Merge me.\n{PLAN}")


@pytest.mark.parametrize("applied", [None, ApplyView(ApplyRules(ApplyMode.IN_PULL_REQUEST), ApplyProgress())])
@pytest.mark.parametrize("layers", [(planned("a"),), (failed("d"), FORGED)])
def test_a_merged_pull_requests_comment_says_where_its_deploys_are_in_place_of_next_steps(layers, applied):
    text = render_comment(replace(comment_of(*layers), applied=applied))
    merged = render_closed(text, PAGE, merged=True, applied=applied is not None)
    plans = text[: text.rindex("\n\n### What happens on")]
    assert merged == f"{plans}\n\n{MERGED}\n\n[This page]({PAGE}) shows its deployments."
    assert render_closed(merged, PAGE, merged=True, applied=False) == merged
    is_whole(merged)


def test_a_closed_pull_requests_comment_says_that_nothing_follows():
    text = render_comment(comment_of(planned("a")))
    closed = render_closed(text, PAGE, merged=False, applied=False)
    assert closed.endswith(
        "### Closed\n\nIt was closed without a merge. Nothing was deployed. Reopen it to plan again."
    )
    assert "Nothing was deployed." not in render_closed(text, PAGE, merged=False, applied=True)


def test_a_comment_without_next_steps_stays_as_it_is():
    for text in (render_nothing("dev", "a" * 40), render_notice("", "a" * 40, "It comes from a fork.")):
        assert render_closed(text, PAGE, merged=True, applied=False) == text


def test_without_a_page_a_merged_pull_request_leads_to_the_commits_checks():
    text = render_comment(comment_of(planned("a")))
    assert "The checks of the merge commit" in render_closed(text, "", merged=True, applied=False)
