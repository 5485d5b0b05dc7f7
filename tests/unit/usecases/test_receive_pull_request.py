"""What becomes of events of pull requests, however late, often, and out of order they come."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import (
    NOW,
    REPOSITORY,
    any_artifact,
    any_layer,
    any_plan,
    any_pull_request,
    deployment_in,
    seen,
    sha,
)
from tests.fakes import MemoryDeployments, MemoryDeployQueues, MemoryRepositoryIndex, MemoryWebhookVerifier
from tests.fakes.overridden import With
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.usecases.pull_request_world import HEAD, MAIN, NUMBER, PullRequestWorld
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, RuleChanges, Severity
from tidegate.ports import KnownRepository, Pushed
from tidegate.pull_requests.receive_pull_request import receive_pull_request
from tidegate.pull_requests.rules.record import PullRequestState, Status, judged
from tidegate.rules.errors import Conflict, ForgeUnavailable
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pushers import pushers

NEWER = sha(4)
BEGINS = "Planning starts"


@pytest.fixture
def world():
    return PullRequestWorld()


def shown(world, *layers):
    """Let the pull request be planned and shown to its end."""
    saved = world.discovered(*layers)
    return world.records.save(judged(replace(saved, commented=saved.spec.revision), layers, NOW))


class TestOpening:
    def test_a_new_pull_request_is_recorded_planned_and_shown_at_once(self, world):
        assert world.receive() == f"{HEAD[:7]} is being planned."
        record = world.record
        assert record.spec == any_pull_request()
        assert (record.state, record.opened_at) == (PullRequestState.DISCOVERY_NEEDED, NOW)
        assert world.workflows.planned == {record.execution: ("acme/infra#5", f"{HEAD}+{MAIN}")}
        assert world.checks == [(HEAD, BEGINS)]

    def test_it_is_planned_on_the_base_branch_as_it_is_now(self, world):
        world.forge.branches["main"] = sha(9)
        world.receive()
        assert world.record.spec.base_sha == sha(9)

    def test_a_base_branch_that_is_gone_leaves_what_the_pull_request_tells(self, world):
        world.forge.branches.clear()
        world.receive()
        assert world.record.spec.base_sha == MAIN

    def test_the_same_again_starts_nothing_else(self, world):
        delivery = world.delivery()
        for _ in range(3):
            receive_pull_request(world.ports, delivery)
        world.receive()
        assert len(world.workflows.planned) == 1
        assert world.deliveries.outcome(delivery.id).text == "There is nothing else to plan."

    def test_other_words_are_recorded_and_planned_no_more(self, world):
        world.receive()
        before = world.record
        world.pull(title="Another", is_draft=True)
        world.receive()
        assert (world.record.spec.title, world.record.spec.is_draft) == ("Another", True)
        assert world.record.execution == before.execution

    def test_what_is_shown_already_is_not_begun_again(self, world):
        world.receive()
        shown(world)
        world.workflows.planned.clear()
        world.receive()
        assert world.workflows.planned == {}
        assert (world.checks, world.forge.updates) == ([(HEAD, BEGINS)], [])

    def test_while_layers_are_planned_the_execution_is_seen_to_and_nothing_is_drawn(self, world):
        world.receive()
        layer = any_layer()
        saved = world.discovered(layer)
        world.records.save(judged(saved, [layer], NOW))
        world.workflows.planned.clear()
        world.receive()
        assert list(world.workflows.planned) == [world.record.execution]
        assert (world.checks, world.forge.updates) == ([(HEAD, BEGINS)], [])

    def test_of_a_fork_of_which_nothing_is_planned_no_beginning_is_shown(self, world):
        world.pull(from_fork=True)
        world.receive()
        assert world.checks == []
        assert list(world.workflows.planned) == [world.record.execution]

    def test_a_check_run_that_cannot_be_shown_holds_up_no_plan(self, world):
        def asleep(*_):
            raise ForgeUnavailable("it sleeps")

        delivery = world.delivery()
        with pytest.raises(ForgeUnavailable):
            receive_pull_request(changed(world.ports, forge=With(world.forge, create_check_run=asleep)), delivery)
        assert list(world.workflows.planned) == [world.record.execution]
        receive_pull_request(world.ports, delivery)
        assert world.checks == [(HEAD, BEGINS)]

    def test_a_forge_that_does_not_answer_is_asked_again(self, world):
        world.forge.failures = [ForgeUnavailable("it sleeps")]
        delivery = world.delivery()
        with pytest.raises(ForgeUnavailable):
            receive_pull_request(world.ports, delivery)
        assert receive_pull_request(world.ports, delivery) == f"{HEAD[:7]} is being planned."


class TestRepositories:
    def test_a_repository_of_which_no_push_was_received_is_known_with_its_first_pull_request(self, world):
        deployments = MemoryDeployments()
        repository_index = MemoryRepositoryIndex(deployments, MemoryDeployQueues(deployments))
        world.ports = changed(world.ports, repository_index=repository_index)
        world.receive()
        known = world.repository_index.repository(REPOSITORY)
        assert (known.default_branch, known.seen) == ("main", "")
        pushed = KnownRepository(REPOSITORY, "main", MAIN, utc("2020-01-01T00:00"))
        world.repository_index.remember(pushed)
        assert world.repository_index.repository(REPOSITORY) == pushed, "any push that was received is newer"

    def test_what_is_known_of_a_repository_stays(self, world):
        known = world.repository_index.repository(REPOSITORY)
        world.receive()
        assert world.repository_index.repository(REPOSITORY) == known


class TestNewCommits:
    def test_a_newer_commit_stops_the_older_execution_cancels_its_layers_and_says_so(self, world):
        world.receive()
        older = world.record
        waits, done = any_layer("a"), any_layer("b", state=LayerState.PLANNED)
        world.discovered(waits, done)
        world.pull(head_sha=NEWER)
        world.receive(action="synchronize")
        assert world.workflows.endings == {older.execution: "ABORTED"}
        assert set(world.workflows.planned) == {older.execution, world.record.execution}
        cancelled = world.layers.get(waits.id)
        assert (cancelled.state, cancelled.reason) == (LayerState.CANCELLED, f"Superseded by {NEWER[:7]}.")
        assert world.layers.get(done.id) == done
        assert world.checks == [(HEAD, f"Superseded by {NEWER[:7]}."), (NEWER, BEGINS)]
        assert world.record.state is PullRequestState.DISCOVERY_NEEDED

    def test_what_is_shown_to_its_end_is_not_stopped(self, world):
        world.receive()
        shown(world, any_layer(state=LayerState.PLANNED))
        world.pull(head_sha=NEWER)
        world.receive()
        assert world.workflows.endings == {}
        assert world.checks == [(HEAD, BEGINS), (NEWER, BEGINS)]

    def test_events_that_come_out_of_order_do_not_bring_back_an_older_commit(self, world):
        world.pull(head_sha=NEWER)
        for action in ("synchronize", "opened"):
            world.receive(action=action)
        assert world.record.spec.head_sha == NEWER
        assert len(world.workflows.planned) == 1

    def test_who_moved_its_head_is_remembered_whatever_was_seen_first(self, world):
        opened = {"action": "opened", "before": "", "after": HEAD, "sender": "author"}
        newer = {"action": "synchronize", "before": HEAD, "after": NEWER, "sender": "pusher"}
        world.forge.seen[NUMBER] = seen(any_pull_request(head_sha=NEWER, pushes=()))
        world.receive(**newer)
        assert not pushers(world.record.spec.pushes, NEWER).known
        world.receive(**opened)
        world.receive(**newer)
        world.receive(action="reopened")
        assert pushers(world.record.spec.pushes, NEWER) == Authors(("pusher", "author"))

    def test_who_moved_its_head_is_whom_the_forge_names_where_webhooks_are_not_signed(self, world):
        witness = MemoryWebhookVerifier(pushes={("feature", HEAD): Pushed("developer")})
        world.ports = changed(world.ports, webhook_verifier=witness)
        world.forge.seen[NUMBER] = seen(any_pull_request(pushes=()))
        world.receive(action="opened", before="", after=HEAD, sender="somebody")
        assert pushers(world.record.spec.pushes, HEAD) == Authors(("developer",))
        world.receive(action="synchronize", before=HEAD, after=NEWER, sender="somebody")
        assert not pushers(world.record.spec.pushes, NEWER).known

    def test_twenty_pushes_leave_one_execution_that_runs(self, world):
        for number in range(10, 30):
            world.pull(head_sha=sha(number))
            world.receive(action="synchronize")
        assert world.record.spec.head_sha == sha(29)
        assert set(world.workflows.planned) - set(world.workflows.endings) == {world.record.execution}

    def test_a_head_that_comes_back_by_a_forced_push_is_planned_again(self, world):
        world.receive()
        first = world.record.execution
        for head in (NEWER, HEAD):
            world.pull(head_sha=head)
            world.receive()
        assert world.record.execution != first
        assert world.record.execution not in world.workflows.endings

    def test_another_base_branch_is_another_revision(self, world):
        world.receive()
        world.forge.branches["release"] = sha(8)
        world.pull(base="release", base_sha=sha(8))
        world.receive(action="edited")
        assert (world.record.spec.base, world.record.spec.base_sha) == ("release", sha(8))
        assert len(world.workflows.planned) == 2

    def test_a_base_branch_that_moves_on_plans_nothing_again_by_itself(self, world):
        world.receive()
        world.forge.branches["main"] = sha(9)
        world.receive()
        assert world.record.spec.base_sha == MAIN
        assert len(world.workflows.planned) == 1

    def test_somebody_may_have_it_planned_again_on_the_base_branch_as_it_is_now(self, world):
        world.receive()
        shown(world)
        for base in (MAIN, sha(9)):
            world.forge.branches["main"] = base
            world.follow(again=True)
            assert world.record.spec.base_sha == base
            assert world.record.state is PullRequestState.DISCOVERY_NEEDED
        assert len(world.workflows.planned) == 3

    def test_somebody_who_writes_at_the_same_time_is_not_written_over(self, world):
        world.receive()
        world.pull(head_sha=NEWER)
        save, once = world.records.save, [True]

        def crossed(record):
            if once:
                once.clear()
                save(replace(world.record, notice="theirs"))
            return save(record)

        world.records.save = crossed
        world.receive()
        assert world.record.spec.head_sha == NEWER

    def test_a_layer_that_ends_at_the_same_time_is_looked_at_again(self, world):
        world.receive()
        world.discovered(any_layer())
        world.pull(head_sha=NEWER)
        save = world.layers.save

        def crossed(layer):
            world.layers.save = save
            save(replace(layer, state=LayerState.PLANNED, reason=""))
            raise Conflict("The layer")

        world.layers.save = crossed
        world.receive()
        assert world.layers.get(any_layer().id).state is LayerState.PLANNED
        assert world.record.spec.head_sha == NEWER


class TestDrafts:
    def test_a_draft_that_was_not_planned_is_planned_when_it_is_ready(self, world):
        world.pull(is_draft=True)
        world.receive()
        world.discovered(skipped=True, notice="A draft.")
        world.pull(is_draft=False)
        world.receive(action="ready_for_review")
        assert (world.record.skipped, world.record.notice) == (False, "")
        assert world.record.state is PullRequestState.DISCOVERY_NEEDED
        assert len(world.workflows.planned) == 2

    def test_a_draft_that_was_planned_is_not_planned_again(self, world):
        world.pull(is_draft=True)
        world.receive()
        shown(world)
        world.pull(is_draft=False)
        world.receive(action="ready_for_review")
        assert len(world.workflows.planned) == 1


class TestClosing:
    @pytest.mark.parametrize("merged", [False, True])
    def test_layers_plans_and_executions_go_when_it_closes(self, world, merged):
        world.receive()
        plan = any_plan(json=None, file=any_artifact(key="plans/a/plan.tfplan"))
        planned, waits = any_layer("a", state=LayerState.PLANNED, plan=plan), any_layer("b")
        world.discovered(planned, waits)
        kept = "plans/other/plan.tfplan"
        world.artifacts.objects = dict.fromkeys([plan.file.key, plan.text.key, plan.lock_file.key, kept], b"")
        world.pull(is_open=False, merged=merged)
        assert world.receive(action="closed") == "It is closed. Its speculative plans were removed."
        record = world.record
        assert not record.is_open
        assert (record.merged, record.layers) == (merged, ())
        assert list(world.layers.many([planned.id, waits.id])) == []
        assert list(world.artifacts.objects) == [kept]
        assert world.workflows.endings == {record.execution: "ABORTED"}
        assert world.checks == [(HEAD, f"#5 was {'merged' if merged else 'closed'}.")]
        assert list(world.records.opened()) == []

    def test_the_commit_that_a_merge_made_is_kept_until_it_is_open_again(self, world):
        world.receive()
        opened = world.forge.seen[NUMBER]
        world.forge.seen[NUMBER] = replace(opened, is_open=False, merged=True, merge_sha="e" * 40)
        world.receive()
        assert world.record.merge_sha == "e" * 40
        world.forge.seen[NUMBER] = opened
        world.receive()
        assert (world.record.is_open, world.record.merge_sha) == (True, "")

    def test_what_is_closed_already_is_left(self, world):
        world.receive()
        world.pull(is_open=False)
        world.receive()
        before = world.record
        assert world.receive() == "It is closed."
        assert world.record == before

    def test_what_was_never_seen_open_is_not_recorded(self, world):
        world.pull(is_open=False)
        assert world.receive() == "It is closed."
        assert list(world.records.opened()) == []

    def test_one_that_the_forge_does_not_have_any_more_is_closed(self, world):
        world.receive()
        world.forge.seen.clear()
        assert "There is no pull request" in world.receive()
        assert not world.record.is_open

    def test_one_that_is_reopened_is_planned_anew(self, world):
        world.receive()
        shown(world)
        first = world.record.execution
        world.pull(is_open=False)
        world.receive(action="closed")
        world.pull()
        world.receive(action="reopened")
        assert world.record.is_open
        assert world.record.state is PullRequestState.DISCOVERY_NEEDED
        assert world.record.execution != first


class TestReviews:
    def refused(self, *owners):
        """Return a layer whose plan a policy set refuses."""
        finding = PolicyFinding(Severity.DENY, "main.deny", "no")
        held = PolicySetStatus("network", owners=owners)
        verdicts = (PolicyVerdict("network", (finding,)),)
        return any_layer(state=LayerState.PLANNED, plan=any_plan(), policy_sets=(held,), verdicts=verdicts)

    def test_a_review_lets_comments_and_checks_be_looked_at_again(self, world):
        world.receive()
        shown(world, self.refused("team:sre"))
        assert world.record.state is PullRequestState.IDLE
        assert "are checked again" in world.receive("pull_request_review")
        assert world.record.state is PullRequestState.COMMENT_NEEDED
        assert [about[:2] for about in world.event_publisher.ended] == [
            (world.record.spec.id, world.record.spec.revision)
        ]

    def test_a_review_lets_deployments_that_wait_for_it_go_on_also_after_the_merge(self, world):
        world.ports.deployments.add(deployment_in(State.AWAITING_REQUIREMENTS, requires=()))
        assert "1 deployments that waited" in world.receive("pull_request_review")

    def test_a_review_that_no_policy_set_asks_for_changes_nothing(self, world):
        world.receive()
        shown(world, self.refused())
        before = world.record
        assert "No policy set asks" in world.receive("pull_request_review")
        assert (world.record, world.event_publisher.ended) == (before, [])

    def test_a_review_is_looked_at_where_owners_must_approve_other_rules(self, world):
        world.receive()
        asked = RuleChanges(("workflows",), (PolicySetStatus("network", owners=("team:sre",)),))
        shown(world, self.refused())
        world.records.save(replace(world.record, rule_changes=asked))
        assert "are checked again" in world.receive("pull_request_review")

    def test_a_review_of_what_is_overtaken_meanwhile_is_left_to_what_overtook_it(self, world):
        world.receive()
        shown(world, self.refused("team:sre"))
        many = world.layers.many

        def overtaken(names):
            world.layers.many = many
            world.pull(head_sha=sha(50))
            world.forge.changes[MAIN, sha(50)] = world.forge.changes[MAIN, HEAD]
            world.follow()
            return many(names)

        world.layers.many = overtaken
        world.receive("pull_request_review")
        assert world.event_publisher.ended == []

    def test_a_review_of_what_is_not_known_yet_is_looked_at_later(self, world):
        assert world.receive("pull_request_review") == "Nothing is known of it."
        world.receive()
        assert "is checked once they are" in world.receive("pull_request_review")
        world.pull(is_open=False)
        world.receive()
        assert world.receive("pull_request_review") == "Nothing is known of it."
        assert world.checks == [(HEAD, "#5 was closed.")]


class TestMergeQueues:
    QUEUED = sha(77)

    def test_a_queues_commit_gets_the_verdict_of_the_pull_request(self, world):
        world.receive()
        layer = any_layer(state=LayerState.PLANNED)
        shown(world, layer)
        delivery = world.delivery("merge_group", sha=self.QUEUED)
        for _ in range(2):
            assert "acme/infra#5" in receive_pull_request(world.ports, delivery)
        assert world.checks == [(HEAD, BEGINS), (self.QUEUED, "1 with changes (+0 ~0 -0 ±0)")]
        assert world.record.queued == self.QUEUED

    def test_a_pull_request_that_nobody_told_of_is_planned_then(self, world):
        world.receive("merge_group", sha=self.QUEUED)
        assert list(world.workflows.planned) == [world.record.execution]
        assert world.record.queued == self.QUEUED
        assert world.checks == [(HEAD, BEGINS), (self.QUEUED, BEGINS)]

    def test_a_queues_commit_hears_nothing_of_what_is_pushed_later(self, world):
        world.receive("merge_group", sha=self.QUEUED)
        world.receive("pull_request", action="edited")
        assert world.record.queued == self.QUEUED
        world.pull(head_sha=sha(78))
        world.receive()
        assert world.record.queued == ""

    def test_a_commit_of_no_pull_request_gets_none(self, world):
        world.forge.seen.clear()
        assert world.receive("merge_group", sha=self.QUEUED) == "It does not exist, so there is no verdict."


def test_conditions_are_told_with_the_record(world):
    world.receive()
    assert [each.status for each in world.record.conditions] == [Status.FALSE, Status.UNKNOWN, Status.UNKNOWN]
