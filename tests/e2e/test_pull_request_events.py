"""What happens to a pull request beside new commits: drafts, other base branches, merge queues, lost webhooks."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pulls import Pull, open_pull
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.rules.errors import NotFound

pytestmark = pytest.mark.nightly

PLANNED = LayerState.PLANNED


@pytest.fixture
def roots(project):
    """Push two roots; nobody approves what the push asks for, so that nothing is applied."""
    project.push({name: thing() for name in ("app", "db")})
    return project


def test_a_draft_is_planned_once_it_is_ready_and_a_merge_queue_gets_its_verdict(roots):
    maintainer = roots.tidegate.maintainer
    roots.push_files({"tidegate.yaml": "pull_requests: {drafts: false}\n"})
    files = {"app/main.tf": roots.backed("app", thing("two"))}
    head = roots.push_files(files, "Change app", branch="feature", base="main")
    pull = Pull(roots, maintainer.open_pull_request(roots.name, "feature", title="Change", draft=True))
    assert pull.at_rest(head).skipped
    assert pull.layers() == {}
    maintainer.make_ready(roots.name, pull.number)
    eventually(lambda: pull.states() == {"app": PLANNED}, what="the plan of what is no draft any more")
    assert not pull.at_rest(head).skipped
    maintainer.queue_pull_request(roots.name, pull.number)
    queued = eventually(lambda: pull.record.queued, what="the merge queue's commit")
    eventually(
        lambda: [run["conclusion"] for run in roots.check_runs(queued, "tidegate/plan")] == ["success"],
        what="the verdict on the queue's commit",
    )


def test_another_base_branch_is_planned_if_the_file_names_it_and_a_merge_leaves_nothing(roots):
    maintainer = roots.tidegate.maintainer
    roots.push_files({"README.md": "release"}, branch="release", base="main")
    pull, head = open_pull(roots, {"app": thing("two")})
    pull.at_rest(head)
    layer = pull.layers()["app"]
    maintainer.edit_pull_request(roots.name, pull.number, base="release")
    eventually(lambda: pull.record.spec.base == "release", what="the other base branch in the record")
    assert "destination_branches" in pull.at_rest(head).notice
    assert pull.layers() == {}
    with pytest.raises(NotFound):
        pull.tidegate.speculative_plans.get(layer.id)
    maintainer.edit_pull_request(roots.name, pull.number, base="main")
    eventually(lambda: pull.states() == {"app": PLANNED}, what="the plan for the first base branch")
    eventually(lambda: "### What to do now" in pull.comments()[0]["body"], what="its comment")
    maintainer.merge_pull_request(roots.name, pull.number)
    eventually(lambda: pull.record.merged, what="the record to be merged")
    opened = [repository for repository, _ in pull.tidegate.pull_requests.opened()]
    assert (pull.layers(), roots.name in opened) == ({}, False)
    eventually(lambda: "### Merged" in pull.comments()[0]["body"], what="a comment that says that it is merged")
    assert "What to do now" not in pull.comments()[0]["body"]
    eventually(
        lambda: "**0 of 1 root deployed**" in pull.comments()[0]["body"], what="a comment that follows the deploy"
    )


def test_a_webhook_that_the_forge_could_not_deliver_is_asked_for_once_more(roots):
    roots.tidegate.maintainer.lose_webhooks("pull_request")
    pull, head = open_pull(roots, {"db": thing("two")})
    eventually(lambda: roots.tidegate.sent("pull_request", roots.name, action="opened"))
    assert pull.record is None
    roots.tidegate.reconcile()
    pull.at_rest(head)
    assert pull.states() == {"db": PLANNED}
