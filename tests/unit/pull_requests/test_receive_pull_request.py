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
from tests.unit.pull_requests.pull_request_scenario import HEAD, MAIN, NUMBER, PullRequestScenario
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
def scenario():
    return PullRequestScenario()


def shown(scenario, *layers):
    """Let the pull request be planned and shown to its end."""
    saved = scenario.discovered(*layers)
    return scenario.records.save(judged(replace(saved, commented=saved.spec.revision), layers, NOW))


class TestOpening:
    def test_a_new_pull_request_is_recorded_planned_and_shown_at_once(self, scenario):
        assert scenario.receive() == f"{HEAD[:7]} is being planned."
        record = scenario.record
        assert record.spec == any_pull_request()
        assert (record.state, record.opened_at) == (PullRequestState.DISCOVERY_NEEDED, NOW)
        assert scenario.workflows.planned == {record.execution: ("acme/infra#5", f"{HEAD}+{MAIN}")}
        assert scenario.checks == [(HEAD, BEGINS)]

    def test_it_is_planned_on_the_base_branch_as_it_is_now(self, scenario):
        scenario.forge.branches["main"] = sha(9)
        scenario.receive()
        assert scenario.record.spec.base_sha == sha(9)

    def test_a_base_branch_that_is_gone_leaves_what_the_pull_request_tells(self, scenario):
        scenario.forge.branches.clear()
        scenario.receive()
        assert scenario.record.spec.base_sha == MAIN

    def test_the_same_again_starts_nothing_else(self, scenario):
        delivery = scenario.delivery()
        for _ in range(3):
            receive_pull_request(scenario.ports, delivery)
        scenario.receive()
        assert len(scenario.workflows.planned) == 1
        assert scenario.deliveries.outcome(delivery.id).text == "There is nothing else to plan."

    def test_other_words_are_recorded_and_planned_no_more(self, scenario):
        scenario.receive()
        before = scenario.record
        scenario.pull(title="Another", is_draft=True)
        scenario.receive()
        assert (scenario.record.spec.title, scenario.record.spec.is_draft) == ("Another", True)
        assert scenario.record.execution == before.execution

    def test_what_is_shown_already_is_not_begun_again(self, scenario):
        scenario.receive()
        shown(scenario)
        scenario.workflows.planned.clear()
        scenario.receive()
        assert scenario.workflows.planned == {}
        assert (scenario.checks, scenario.forge.updates) == ([(HEAD, BEGINS)], [])

    def test_while_layers_are_planned_the_execution_is_seen_to_and_nothing_is_drawn(self, scenario):
        scenario.receive()
        layer = any_layer()
        saved = scenario.discovered(layer)
        scenario.records.save(judged(saved, [layer], NOW))
        scenario.workflows.planned.clear()
        scenario.receive()
        assert list(scenario.workflows.planned) == [scenario.record.execution]
        assert (scenario.checks, scenario.forge.updates) == ([(HEAD, BEGINS)], [])

    def test_of_a_fork_of_which_nothing_is_planned_no_beginning_is_shown(self, scenario):
        scenario.pull(from_fork=True)
        scenario.receive()
        assert scenario.checks == []
        assert list(scenario.workflows.planned) == [scenario.record.execution]

    def test_a_check_run_that_cannot_be_shown_holds_up_no_plan(self, scenario):
        def asleep(*_):
            raise ForgeUnavailable("it sleeps")

        delivery = scenario.delivery()
        with pytest.raises(ForgeUnavailable):
            receive_pull_request(changed(scenario.ports, forge=With(scenario.forge, create_check_run=asleep)), delivery)
        assert list(scenario.workflows.planned) == [scenario.record.execution]
        receive_pull_request(scenario.ports, delivery)
        assert scenario.checks == [(HEAD, BEGINS)]

    def test_a_forge_that_does_not_answer_is_asked_again(self, scenario):
        scenario.forge.failures = [ForgeUnavailable("it sleeps")]
        delivery = scenario.delivery()
        with pytest.raises(ForgeUnavailable):
            receive_pull_request(scenario.ports, delivery)
        assert receive_pull_request(scenario.ports, delivery) == f"{HEAD[:7]} is being planned."


class TestRepositories:
    def test_a_repository_of_which_no_push_was_received_is_known_with_its_first_pull_request(self, scenario):
        deployments = MemoryDeployments()
        repository_index = MemoryRepositoryIndex(deployments, MemoryDeployQueues(deployments))
        scenario.ports = changed(scenario.ports, repository_index=repository_index)
        scenario.receive()
        known = scenario.repository_index.repository(REPOSITORY)
        assert (known.default_branch, known.seen) == ("main", "")
        pushed = KnownRepository(REPOSITORY, "main", MAIN, utc("2020-01-01T00:00"))
        scenario.repository_index.remember(pushed)
        assert scenario.repository_index.repository(REPOSITORY) == pushed, "any push that was received is newer"

    def test_what_is_known_of_a_repository_stays(self, scenario):
        known = scenario.repository_index.repository(REPOSITORY)
        scenario.receive()
        assert scenario.repository_index.repository(REPOSITORY) == known


class TestNewCommits:
    def test_a_newer_commit_stops_the_older_execution_cancels_its_layers_and_says_so(self, scenario):
        scenario.receive()
        older = scenario.record
        waits, done = any_layer("a"), any_layer("b", state=LayerState.PLANNED)
        scenario.discovered(waits, done)
        scenario.pull(head_sha=NEWER)
        scenario.receive(action="synchronize")
        assert scenario.workflows.endings == {older.execution: "ABORTED"}
        assert set(scenario.workflows.planned) == {older.execution, scenario.record.execution}
        cancelled = scenario.layers.get(waits.id)
        assert (cancelled.state, cancelled.reason) == (LayerState.CANCELLED, f"Superseded by {NEWER[:7]}.")
        assert scenario.layers.get(done.id) == done
        assert scenario.checks == [(HEAD, f"Superseded by {NEWER[:7]}."), (NEWER, BEGINS)]
        assert scenario.record.state is PullRequestState.DISCOVERY_NEEDED

    def test_what_is_shown_to_its_end_is_not_stopped(self, scenario):
        scenario.receive()
        shown(scenario, any_layer(state=LayerState.PLANNED))
        scenario.pull(head_sha=NEWER)
        scenario.receive()
        assert scenario.workflows.endings == {}
        assert scenario.checks == [(HEAD, BEGINS), (NEWER, BEGINS)]

    def test_events_that_come_out_of_order_do_not_bring_back_an_older_commit(self, scenario):
        scenario.pull(head_sha=NEWER)
        for action in ("synchronize", "opened"):
            scenario.receive(action=action)
        assert scenario.record.spec.head_sha == NEWER
        assert len(scenario.workflows.planned) == 1

    def test_who_moved_its_head_is_remembered_whatever_was_seen_first(self, scenario):
        opened = {"action": "opened", "before": "", "after": HEAD, "sender": "author"}
        newer = {"action": "synchronize", "before": HEAD, "after": NEWER, "sender": "pusher"}
        scenario.forge.seen[NUMBER] = seen(any_pull_request(head_sha=NEWER, pushes=()))
        scenario.receive(**newer)
        assert not pushers(scenario.record.spec.pushes, NEWER).known
        scenario.receive(**opened)
        scenario.receive(**newer)
        scenario.receive(action="reopened")
        assert pushers(scenario.record.spec.pushes, NEWER) == Authors(("pusher", "author"))

    def test_who_moved_its_head_is_whom_the_forge_names_where_webhooks_are_not_signed(self, scenario):
        verifier = MemoryWebhookVerifier(pushes={("feature", HEAD): Pushed("developer")})
        scenario.ports = changed(scenario.ports, webhook_verifier=verifier)
        scenario.forge.seen[NUMBER] = seen(any_pull_request(pushes=()))
        scenario.receive(action="opened", before="", after=HEAD, sender="somebody")
        assert pushers(scenario.record.spec.pushes, HEAD) == Authors(("developer",))
        scenario.receive(action="synchronize", before=HEAD, after=NEWER, sender="somebody")
        assert not pushers(scenario.record.spec.pushes, NEWER).known

    def test_twenty_pushes_leave_one_execution_that_runs(self, scenario):
        for number in range(10, 30):
            scenario.pull(head_sha=sha(number))
            scenario.receive(action="synchronize")
        assert scenario.record.spec.head_sha == sha(29)
        assert set(scenario.workflows.planned) - set(scenario.workflows.endings) == {scenario.record.execution}

    def test_a_head_that_comes_back_by_a_forced_push_is_planned_again(self, scenario):
        scenario.receive()
        first = scenario.record.execution
        for head in (NEWER, HEAD):
            scenario.pull(head_sha=head)
            scenario.receive()
        assert scenario.record.execution != first
        assert scenario.record.execution not in scenario.workflows.endings

    def test_another_base_branch_is_another_revision(self, scenario):
        scenario.receive()
        scenario.forge.branches["release"] = sha(8)
        scenario.pull(base="release", base_sha=sha(8))
        scenario.receive(action="edited")
        assert (scenario.record.spec.base, scenario.record.spec.base_sha) == ("release", sha(8))
        assert len(scenario.workflows.planned) == 2

    def test_a_base_branch_that_moves_on_plans_nothing_again_by_itself(self, scenario):
        scenario.receive()
        scenario.forge.branches["main"] = sha(9)
        scenario.receive()
        assert scenario.record.spec.base_sha == MAIN
        assert len(scenario.workflows.planned) == 1

    def test_somebody_may_have_it_planned_again_on_the_base_branch_as_it_is_now(self, scenario):
        scenario.receive()
        shown(scenario)
        for base in (MAIN, sha(9)):
            scenario.forge.branches["main"] = base
            scenario.follow(again=True)
            assert scenario.record.spec.base_sha == base
            assert scenario.record.state is PullRequestState.DISCOVERY_NEEDED
        assert len(scenario.workflows.planned) == 3

    def test_somebody_who_writes_at_the_same_time_is_not_written_over(self, scenario):
        scenario.receive()
        scenario.pull(head_sha=NEWER)
        save, once = scenario.records.save, [True]

        def crossed(record):
            if once:
                once.clear()
                save(replace(scenario.record, notice="theirs"))
            return save(record)

        scenario.records.save = crossed
        scenario.receive()
        assert scenario.record.spec.head_sha == NEWER

    def test_a_layer_that_ends_at_the_same_time_is_looked_at_again(self, scenario):
        scenario.receive()
        scenario.discovered(any_layer())
        scenario.pull(head_sha=NEWER)
        save = scenario.layers.save

        def crossed(layer):
            scenario.layers.save = save
            save(replace(layer, state=LayerState.PLANNED, reason=""))
            raise Conflict("The layer")

        scenario.layers.save = crossed
        scenario.receive()
        assert scenario.layers.get(any_layer().id).state is LayerState.PLANNED
        assert scenario.record.spec.head_sha == NEWER


class TestDrafts:
    def test_a_draft_that_was_not_planned_is_planned_when_it_is_ready(self, scenario):
        scenario.pull(is_draft=True)
        scenario.receive()
        scenario.discovered(skipped=True, notice="A draft.")
        scenario.pull(is_draft=False)
        scenario.receive(action="ready_for_review")
        assert (scenario.record.skipped, scenario.record.notice) == (False, "")
        assert scenario.record.state is PullRequestState.DISCOVERY_NEEDED
        assert len(scenario.workflows.planned) == 2

    def test_a_draft_that_was_planned_is_not_planned_again(self, scenario):
        scenario.pull(is_draft=True)
        scenario.receive()
        shown(scenario)
        scenario.pull(is_draft=False)
        scenario.receive(action="ready_for_review")
        assert len(scenario.workflows.planned) == 1


class TestClosing:
    @pytest.mark.parametrize("merged", [False, True])
    def test_layers_plans_and_executions_go_when_it_closes(self, scenario, merged):
        scenario.receive()
        plan = any_plan(json=None, file=any_artifact(key="plans/a/plan.tfplan"))
        planned, waits = any_layer("a", state=LayerState.PLANNED, plan=plan), any_layer("b")
        scenario.discovered(planned, waits)
        kept = "plans/other/plan.tfplan"
        scenario.artifacts.objects = dict.fromkeys([plan.file.key, plan.text.key, plan.lock_file.key, kept], b"")
        scenario.pull(is_open=False, merged=merged)
        assert scenario.receive(action="closed") == "It is closed. Its speculative plans were removed."
        record = scenario.record
        assert not record.is_open
        assert (record.merged, record.layers) == (merged, ())
        assert list(scenario.layers.many([planned.id, waits.id])) == []
        assert list(scenario.artifacts.objects) == [kept]
        assert scenario.workflows.endings == {record.execution: "ABORTED"}
        assert scenario.checks == [(HEAD, f"#5 was {'merged' if merged else 'closed'}.")]
        assert list(scenario.records.opened()) == []

    def test_the_commit_that_a_merge_made_is_kept_until_it_is_open_again(self, scenario):
        scenario.receive()
        opened = scenario.forge.seen[NUMBER]
        scenario.forge.seen[NUMBER] = replace(opened, is_open=False, merged=True, merge_sha="e" * 40)
        scenario.receive()
        assert scenario.record.merge_sha == "e" * 40
        scenario.forge.seen[NUMBER] = opened
        scenario.receive()
        assert (scenario.record.is_open, scenario.record.merge_sha) == (True, "")

    def test_what_is_closed_already_is_left(self, scenario):
        scenario.receive()
        scenario.pull(is_open=False)
        scenario.receive()
        before = scenario.record
        assert scenario.receive() == "It is closed."
        assert scenario.record == before

    def test_what_was_never_seen_open_is_not_recorded(self, scenario):
        scenario.pull(is_open=False)
        assert scenario.receive() == "It is closed."
        assert list(scenario.records.opened()) == []

    def test_one_that_the_forge_does_not_have_any_more_is_closed(self, scenario):
        scenario.receive()
        scenario.forge.seen.clear()
        assert "There is no pull request" in scenario.receive()
        assert not scenario.record.is_open

    def test_one_that_is_reopened_is_planned_anew(self, scenario):
        scenario.receive()
        shown(scenario)
        first = scenario.record.execution
        scenario.pull(is_open=False)
        scenario.receive(action="closed")
        scenario.pull()
        scenario.receive(action="reopened")
        assert scenario.record.is_open
        assert scenario.record.state is PullRequestState.DISCOVERY_NEEDED
        assert scenario.record.execution != first


class TestReviews:
    def refused(self, *owners):
        """Return a layer whose plan a policy set refuses."""
        finding = PolicyFinding(Severity.DENY, "main.deny", "no")
        held = PolicySetStatus("network", owners=owners)
        verdicts = (PolicyVerdict("network", (finding,)),)
        return any_layer(state=LayerState.PLANNED, plan=any_plan(), policy_sets=(held,), verdicts=verdicts)

    def test_a_review_lets_comments_and_checks_be_looked_at_again(self, scenario):
        scenario.receive()
        shown(scenario, self.refused("team:sre"))
        assert scenario.record.state is PullRequestState.IDLE
        assert "are checked again" in scenario.receive("pull_request_review")
        assert scenario.record.state is PullRequestState.COMMENT_NEEDED
        assert [about[:2] for about in scenario.event_publisher.ended] == [
            (scenario.record.spec.id, scenario.record.spec.revision)
        ]

    def test_a_review_lets_deployments_that_wait_for_it_go_on_also_after_the_merge(self, scenario):
        scenario.ports.deployments.add(deployment_in(State.AWAITING_REQUIREMENTS, requires=()))
        assert "1 deployments that waited" in scenario.receive("pull_request_review")

    def test_a_review_that_no_policy_set_asks_for_changes_nothing(self, scenario):
        scenario.receive()
        shown(scenario, self.refused())
        before = scenario.record
        assert "No policy set asks" in scenario.receive("pull_request_review")
        assert (scenario.record, scenario.event_publisher.ended) == (before, [])

    def test_a_review_is_looked_at_where_owners_must_approve_other_rules(self, scenario):
        scenario.receive()
        asked = RuleChanges(("workflows",), (PolicySetStatus("network", owners=("team:sre",)),))
        shown(scenario, self.refused())
        scenario.records.save(replace(scenario.record, rule_changes=asked))
        assert "are checked again" in scenario.receive("pull_request_review")

    def test_a_review_of_what_is_overtaken_meanwhile_is_left_to_what_overtook_it(self, scenario):
        scenario.receive()
        shown(scenario, self.refused("team:sre"))
        many = scenario.layers.many

        def overtaken(names):
            scenario.layers.many = many
            scenario.pull(head_sha=sha(50))
            scenario.forge.changes[MAIN, sha(50)] = scenario.forge.changes[MAIN, HEAD]
            scenario.follow()
            return many(names)

        scenario.layers.many = overtaken
        scenario.receive("pull_request_review")
        assert scenario.event_publisher.ended == []

    def test_a_review_of_what_is_not_known_yet_is_looked_at_later(self, scenario):
        assert scenario.receive("pull_request_review") == "Tidegate has no record of it."
        scenario.receive()
        assert "is checked once they are" in scenario.receive("pull_request_review")
        scenario.pull(is_open=False)
        scenario.receive()
        assert scenario.receive("pull_request_review") == "Tidegate has no record of it."
        assert scenario.checks == [(HEAD, "#5 was closed.")]


class TestMergeQueues:
    QUEUED = sha(77)

    def test_a_queues_commit_gets_the_verdict_of_the_pull_request(self, scenario):
        scenario.receive()
        layer = any_layer(state=LayerState.PLANNED)
        shown(scenario, layer)
        delivery = scenario.delivery("merge_group", sha=self.QUEUED)
        for _ in range(2):
            assert "acme/infra#5" in receive_pull_request(scenario.ports, delivery)
        assert scenario.checks == [(HEAD, BEGINS), (self.QUEUED, "1 with changes (nothing to change)")]
        assert scenario.record.queued == self.QUEUED

    def test_a_pull_request_that_nobody_told_of_is_planned_then(self, scenario):
        scenario.receive("merge_group", sha=self.QUEUED)
        assert list(scenario.workflows.planned) == [scenario.record.execution]
        assert scenario.record.queued == self.QUEUED
        assert scenario.checks == [(HEAD, BEGINS), (self.QUEUED, BEGINS)]

    def test_a_queues_commit_hears_nothing_of_what_is_pushed_later(self, scenario):
        scenario.receive("merge_group", sha=self.QUEUED)
        scenario.receive("pull_request", action="edited")
        assert scenario.record.queued == self.QUEUED
        scenario.pull(head_sha=sha(78))
        scenario.receive()
        assert scenario.record.queued == ""

    def test_a_commit_of_no_pull_request_gets_none(self, scenario):
        scenario.forge.seen.clear()
        assert scenario.receive("merge_group", sha=self.QUEUED) == "It does not exist, so there is no verdict."


def test_conditions_are_told_with_the_record(scenario):
    scenario.receive()
    assert [each.status for each in scenario.record.conditions] == [Status.FALSE, Status.UNKNOWN, Status.UNKNOWN]
