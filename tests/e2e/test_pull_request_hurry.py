"""Pull requests in a hurry: branches that are forced elsewhere, twenty pushes, and calls to the forge meanwhile."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pulls import edit, gated, open_pull, planning
from tidegate.deploys.rules.speculative_plan import LayerState

pytestmark = pytest.mark.nightly

PUSHES = 20
#: Calls that make or change something for people to see, in a minute: GitHub's secondary limit.
CONTENT_CALLS = 80


def test_a_branch_that_is_forced_elsewhere_takes_the_plans_of_what_it_left_with_it(project, gate):
    project.push({"app": thing(), "db": thing()}, **{"tidegate.yaml": gated(gate)})
    aside = edit(project, {"app": thing("aside")}, "aside", base="main")
    pull, left = open_pull(project, {"db": thing("two")})
    overtaken, record = planning(pull, "db"), pull.record
    project.tidegate.maintainer.force_push(project.name, "feature", aside)
    pull.at_rest(aside)
    assert pull.states() == {"app": LayerState.PLANNED}
    assert pull.ending(record) == "ABORTED"
    assert pull.ended(left)["output"]["title"] == f"Superseded by {aside[:7]}."
    eventually(lambda: not project.tidegate.runners(overtaken.job), what="the runner of what was left to stop")
    (comment,) = pull.shown(aside)
    assert ("<code>app</code>" in comment["body"], "<code>db</code>" in comment["body"]) == (True, False)


def test_twenty_pushes_in_a_row_are_one_comment_and_stay_within_the_forges_limit(project):
    project.push({"app": thing()})
    pull, head = open_pull(project, {"app": thing("0")})
    for number in range(1, PUSHES):
        head = edit(project, {"app": thing(str(number))})
    (comment,) = pull.shown(head)
    pull.at_rest(head)
    assert "1 with changes" in comment["body"]
    assert pull.ended(head)["conclusion"] == "success"
    assert busiest_minute(project) <= CONTENT_CALLS


def busiest_minute(project):
    """Return the most calls of Tidegate's in a minute that wrote something into the project's repository."""
    mine = [
        call["at"]
        for call in project.tidegate.maintainer.calls()
        if call["agent"] == "tidegate" and call["method"] != "GET" and f"/repos/{project.name}/" in call["path"]
    ]
    return max(sum(begin <= at < begin + 60 for at in mine) for begin in mine)
