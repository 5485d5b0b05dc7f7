"""The comments of a merged pull request say what became of its roots, until all of it is deployed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import REPOSITORY, amended, any_layer, any_lock, any_plan, deployment_in, sha
from tests.unit.pull_requests.pull_request_scenario import MAIN, NUMBER, PullRequestScenario
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.ports import PublishedCheckRun
from tidegate.pull_requests.rules.comment import MERGED as HEADING
from tidegate.pull_requests.rules.comment import marker
from tidegate.pull_requests.show_deploys import deploys_changed, show_deploys
from tidegate.roots.rules.root import Revision, Root, deployment_id
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, NotYet
from tidegate.vcs.rules.comparison import Comparison

MERGED, LATER = sha(4), sha(5)
TEXT = "## Tidegate\n\nPlans.\n\n### What happens on merge\n\n* It is deployed.\n\n### What to do now\n\n* Merge."


class MergedScenario(PullRequestScenario):
    """A pull request that plans ``app`` in dev and ``db`` in prod, each with a comment, and is merged."""

    deployments = property(lambda self: self.ports.deployments)
    queues = property(lambda self: self.ports.queues)

    def __post_init__(self):
        super().__post_init__()
        self.receive()
        planned = {"state": LayerState.PLANNED, "plan": any_plan()}
        self.discovered(
            any_layer("app", stack="dev", **planned),
            any_layer("db", stack="prod", **planned),
            any_layer("extra", stack="dev", is_extra=True, **planned),
            comments=(("dev", 1), ("prod", 2)),
        )
        self.forge.comments += [(NUMBER, f"{marker(stack)}\n{TEXT}") for stack in ("dev", "prod")]

    def merge(self, commit=MERGED):
        self.pull(is_open=False, merged=True)
        self.forge.seen[NUMBER] = replace(self.forge.seen[NUMBER], merge_sha=commit)
        self.receive(action="closed")

    def deploys(self, name, stack, state=State.QUEUED, commit=MERGED, tells_apart=Trigger.MERGE, shared="", **fields):
        """Let a push have asked for a deployment."""
        made = amended(
            deployment_in(state),
            id=deployment_id(REPOSITORY, name, commit, tells_apart, shared),
            root=Root(name, name, "default"),
            stack=stack,
            revision=Revision(commit, "main"),
            trigger=Trigger.MERGE,
            version=0,
            **fields,
        )
        self.deployments.add(made)
        return made

    def moves(self, deployment, state, **fields):
        """Let a deployment go on, and its check run be shown; return the comments that are asked for."""
        stored = self.deployments.get(deployment.id)
        self.deployments.save(amended(stored, state=state, **fields))
        self.event_publisher.deployed.clear()
        deploys_changed(self.ports, self.deployments.get(deployment.id))
        return self.event_publisher.deployed

    def show(self):
        show_deploys(self.ports, f"{REPOSITORY}#{NUMBER}", 0)
        return [text for _, text in self.forge.comments]


@pytest.fixture
def scenario():
    return MergedScenario()


def test_a_merge_asks_for_its_comments_and_each_says_what_became_of_its_own_roots(scenario):
    scenario.merge()
    assert scenario.event_publisher.deployed == [f"{REPOSITORY}#{NUMBER}"]
    scenario.deploys("app", "dev", State.APPLIED)
    scenario.deploys("db", "prod", State.AWAITING_REVIEW)
    dev, prod = scenario.show()
    assert "[applied](https://tidegate.example/deployments/" in dev
    assert "`db`" not in dev
    assert "`extra`" not in dev
    assert "[**waiting for a review**](https://tidegate.example/deployments/" in prod
    assert dev.startswith(f"{marker('dev')}\n## Tidegate\n\nPlans.\n\n{HEADING}\n\n**Everything is deployed**: 1 root.")


def test_a_comment_of_a_stack_that_the_merge_does_not_deploy_has_its_end_too(scenario):
    scenario.records.save(replace(scenario.record, comments=(("other", 1),)))
    scenario.merge()
    other, _ = scenario.show()
    assert other.endswith(" shows its deployments.")


def test_a_merge_deploys_what_was_planned_also_if_the_comment_is_remembered_as_it_is_closed(scenario):
    layers, remove = scenario.layers, scenario.layers.remove

    def remember(ids):
        layers.remove = remove
        remove(ids)
        scenario.records.save(replace(scenario.record, comments=(("dev", 1), ("other", 3), ("prod", 2))))

    layers.remove = remember
    scenario.merge()
    assert {each.key for each in scenario.record.deploys} == {("app", "dev"), ("db", "prod")}
    assert scenario.event_publisher.deployed == [f"{REPOSITORY}#{NUMBER}"]


def test_a_change_of_a_deployment_asks_for_the_pull_requests_that_wait_for_its_root_only(scenario):
    scenario.merge()
    app = scenario.deploys("app", "dev")
    assert scenario.moves(app, State.PLANNING) == [f"{REPOSITORY}#{NUMBER}"]
    assert scenario.moves(scenario.deploys("other", "dev"), State.PLANNING) == []
    assert scenario.moves(scenario.deploys("app", "prod", shared="prod"), State.PLANNING) == []
    assert scenario.moves(app, State.PLANNING, trigger=Trigger.DRIFT) == []
    assert scenario.moves(app, State.PLANNING, repository="acme/other") == []


@pytest.mark.parametrize(("scope", "is_told"), [("dev", True), ("*", True), ("prod", False), ("", True)])
def test_what_a_lock_holds_back_names_it(scenario, scope, is_told):
    scenario.merge()
    app = scenario.deploys("app", "dev")
    lock = any_lock(scope=scope)
    if scope:
        scenario.queues.keep_locks(scenario.queues.locks(REPOSITORY).with_lock(lock))
    else:
        head, _ = scenario.queues.read(app.queue)
        scenario.queues.commit(head, replace(head, lock=lock))
    dev, _ = scenario.show()
    assert ("**locked**" in dev) is is_told


def test_what_comments_say_already_costs_no_call(scenario):
    scenario.merge()
    app = scenario.deploys("app", "dev", State.PLANNING)
    scenario.show()
    scenario.forge.edits.clear()
    scenario.show()
    scenario.moves(app, State.PLANNING, plan=any_plan())
    scenario.forge.failures = [AssertionError("asked")]
    scenario.show()
    assert scenario.forge.edits == []


def test_only_the_comment_that_says_something_else_is_written(scenario):
    scenario.merge()
    app = scenario.deploys("app", "dev", State.PLANNING)
    scenario.show()
    scenario.forge.edits.clear()
    scenario.moves(app, State.APPLYING)
    scenario.show()
    assert scenario.forge.edits == [1]


def test_a_failure_shows_its_last_lines_and_what_runs_it_again_takes_its_place(scenario):
    scenario.merge()
    failed = scenario.deploys("app", "dev", State.APPLY_FAILED, reason="The apply failed", last_lines="Error: denied")
    dev, _ = scenario.show()
    assert "**apply failed**" in dev
    assert "Error: denied" in dev
    again = scenario.deploys("app", "dev", State.APPLIED, tells_apart="rerun 1")
    scenario.ports.check_runs.remember(PublishedCheckRun(failed.id, 7, 1, closed=True, repeated_by=again.id))
    dev, _ = scenario.show()
    assert "[applied](" in dev
    assert "denied" not in dev


def test_what_a_later_push_supersedes_is_followed_to_what_deploys_it(scenario):
    scenario.merge()
    newer = scenario.deploys("app", "dev", State.APPLYING, LATER)
    scenario.deploys("app", "dev", State.SUPERSEDED, superseded_by=newer.id)
    assert (
        f"applying](https://tidegate.example/deployments/{newer.id}), with the newer `{LATER[:7]}`"
        in scenario.show()[0]
    )
    failed = scenario.deploys("db", "prod", State.PLAN_FAILED, contained_by=newer.id)
    assert failed.id not in scenario.show()[1]


def test_a_root_in_several_stacks_is_found_by_its_stack(scenario):
    scenario.merge()
    scenario.deploys("app", "dev", State.APPLIED, shared="dev")
    assert "[applied](" in scenario.show()[0]


def in_flight(scenario):
    """Let the deployments be in flight in the queues of their roots."""
    for each in scenario.deployments.all():
        head, _ = scenario.queues.read(each.queue)
        scenario.queues.commit(head, replace(head, in_flight=each.id))


def test_the_forge_is_asked_once_whether_a_later_commit_contains_the_merge(scenario):
    scenario.merge()
    scenario.deploys("app", "dev", State.APPLYING, LATER)
    scenario.deploys("db", "prod", State.APPLYING, LATER)
    in_flight(scenario)
    scenario.forge.comparisons[MERGED, LATER] = Comparison.AHEAD
    assert all("with the newer" in text for text in scenario.show())


def test_a_merge_queue_pushes_several_at_once_and_the_push_that_contains_the_merge_counts(scenario):
    scenario.merge()
    group = scenario.deploys("app", "dev", State.APPLYING, LATER)
    scenario.deploys("db", "prod", State.APPLYING, MAIN)
    in_flight(scenario)
    scenario.forge.comparisons[MERGED, LATER] = Comparison.AHEAD
    scenario.forge.comparisons[MERGED, MAIN] = Comparison.BEHIND
    dev, prod = scenario.show()
    assert "with the newer" in dev
    assert "not queued yet" in prod
    scenario.queues.commit(
        scenario.queues.read(group.queue)[0], replace(scenario.queues.read(group.queue)[0], in_flight=None)
    )
    scenario.moves(group, State.APPLIED)
    assert "[applied](" in scenario.show()[0]


def test_once_all_is_deployed_nothing_follows(scenario):
    scenario.merge()
    app = scenario.deploys("app", "dev", State.APPLIED)
    scenario.deploys("db", "prod", State.NO_CHANGES)
    scenario.show()
    assert scenario.record.settled
    assert scenario.moves(app, State.APPLIED) == []
    scenario.forge.failures = [AssertionError("asked")]
    scenario.show()


def test_a_locked_conversation_is_asked_once_and_a_deleted_comment_stays_deleted(scenario):
    scenario.merge()
    scenario.deploys("app", "dev", State.PLANNING)
    scenario.forge.failures = [ForgeRefused(403, "The conversation is locked.")]
    scenario.show()
    scenario.forge.edits.clear()
    assert scenario.show()[0].endswith(TEXT)
    scenario.forge.deleted.add(1)
    scenario.deploys("db", "prod", State.PLANNING)
    scenario.show()
    assert scenario.forge.edits == [2]


def test_a_forge_that_does_not_answer_is_asked_again(scenario):
    scenario.merge()
    scenario.deploys("app", "dev", State.PLANNING)
    scenario.forge.failures = [ForgeUnavailable("down")]
    with pytest.raises(ForgeUnavailable):
        scenario.show()
    assert "planning" in scenario.show()[0]


def test_many_changes_are_shown_together_and_what_is_open_is_left_to_its_plans(scenario):
    with pytest.raises(NotYet):
        show_deploys(scenario.ports, f"{REPOSITORY}#{NUMBER}", 4102444800)
    before = [text for _, text in scenario.forge.comments]
    assert scenario.show() == before
    show_deploys(scenario.ports, f"{REPOSITORY}#99", 0)


def test_a_comment_of_no_stack_has_all_of_them(scenario):
    scenario.records.save(replace(scenario.record, comments=(("", 1), ("other", 2))))
    scenario.merge()
    scenario.deploys("app", "dev", State.APPLIED)
    first, other = scenario.show()
    assert "`app`" in first
    assert "`db`" in first
    assert "`app`" not in other


def test_what_is_closed_unmerged_deploys_nothing(scenario):
    scenario.pull(is_open=False, merged=False)
    scenario.receive(action="closed")
    assert scenario.event_publisher.deployed == []
    assert scenario.record.deploys == ()
