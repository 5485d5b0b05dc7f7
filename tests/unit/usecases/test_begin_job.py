from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import (
    NOW,
    amended,
    any_deployment,
    any_job,
    any_plan,
    any_pull_request,
    any_review,
    deployment_in,
    seen,
    sha,
)
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.usecases.gate_world import GateWorld
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.check_branch import left_branch
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.plan_runner import Limit, PlanRunner
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.runner_size import RunnerNeeds, RunnerOffer, RunnerSize
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.deploys.rules.waiting import AfterGate, Approval, Gate, Override
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.jobs.begin_job import begin_job
from tidegate.messages import BeginJob
from tidegate.policies.rules.policy import PolicyVerdict
from tidegate.rules.errors import (
    ApplyAlreadyStarted,
    AuditUnavailable,
    CommitLeftBranch,
    Conflict,
    GateShut,
    RunnerNotOffered,
    WrongState,
)
from tidegate.vcs.rules.comparison import Comparison

LATER = utc("2026-03-02T08:30")


@pytest.fixture
def world():
    return World()


def begin(world, deployment, kind="plan", attempt=1, tries=1):
    message = BeginJob(deployment=deployment.id, phase=kind, attempt=attempt, tries=tries)
    return begin_job(world.ports, message).job


def test_a_plan_runs_where_it_is_placed_and_says_why_it_is_tried_again_there():
    world = World({"TIDEGATE_PLAN_FUNCTION": "3008 MB"})
    deployment = world.put(any_deployment())
    first = world.jobs.get(begin(world, deployment))
    assert (first.runner, world.deployments.get(deployment.id).reason) == (PlanRunner.LAMBDA, "")
    world.jobs.report_limit(first.id, Limit.MEMORY)
    second = world.jobs.get(begin(world, deployment, attempt=2, tries=2))
    note = f"This plan moved from Lambda to Fargate: {Limit.MEMORY}."
    assert (second.runner, second.note) == (PlanRunner.FARGATE, note)
    assert world.deployments.get(deployment.id).reason == note


def test_a_plan_creates_its_job_and_shows_that_planning_begins(world):
    deployment = world.put(any_deployment())
    job = world.jobs.get(begin(world, deployment))
    assert (job.id, job.kind, job.sha) == (f"{deployment.id}-plan-1", JobKind.PLAN, deployment.revision.sha)
    assert job.clone_url == "https://github.com/acme/infra.git"
    assert (job.plan_file, job.lock_file, job.engine_version) == (None, None, None)
    assert world.states() == [State.PLANNING]
    assert world.audit.published == []


OFFER = RunnerOffer(RunnerSize(2048, 8192, 50, 7200), RunnerSize(4096, 16384, 100, 43200))


def asking(world, needs, state=State.QUEUED):
    deployment = world.put(amended(deployment_in(state), run=RunSettings(runner=needs)))
    kind = "plan" if state is State.QUEUED else "apply"
    ports = changed(world.ports, runner_offer=OFFER)
    return begin_job(ports, BeginJob(deployment=deployment.id, phase=kind, attempt=1, tries=1))


@pytest.mark.parametrize(
    ("needs", "size"),
    [
        (None, ("2048", "8192", 50, "7200")),
        (RunnerNeeds(4096, 16384, 60, "arm64", 21600), ("4096", "16384", 60, "21600")),
    ],
)
@pytest.mark.parametrize("state", [State.QUEUED, State.APPROVED])
def test_a_runner_is_as_large_as_its_root_asks_for_and_has_its_time_for_the_apply(world, needs, size, state):
    begun = asking(world, needs, state)
    seconds = 3600 if state is State.QUEUED else int(size[3])
    assert (begun.size.cpu, begun.size.memory, begun.size.disk) == size[:3]
    assert (begun.size.seconds, begun.size.life) == (seconds, str(seconds + 300))
    assert str(world.jobs.get(begun.job).size.memory) == size[1]


@pytest.mark.parametrize(("planned", "memory"), [(RunnerSize(2048, 12288), "12288"), (RunnerSize(), "8192")])
def test_an_apply_has_at_least_the_memory_that_its_plan_needed(world, planned, memory):
    world.jobs.create(any_job(id=deployment_in(State.APPROVED).planned.plan.job, size=planned))
    assert asking(world, None, State.APPROVED).size.memory == memory


def test_a_root_that_asks_for_more_than_is_allowed_is_planned_by_nobody(world):
    with pytest.raises(RunnerNotOffered, match=r"runner\.memory of this root is 30 GB"):
        asking(world, RunnerNeeds(memory=30 * 1024))
    planning = world.deployments.get(deployment_in(State.QUEUED).id)
    assert (planning.state, planning.planned.job) == (State.PLANNING, None)


def test_nothing_is_applied_of_a_root_that_asks_for_more_than_is_allowed(world):
    with pytest.raises(RunnerNotOffered):
        asking(world, RunnerNeeds(memory=30 * 1024), State.APPROVED)
    assert not world.audit.published


@pytest.mark.parametrize(("kind", "state"), [("plan", State.QUEUED), ("apply", State.APPROVED)])
def test_a_job_runs_as_its_deployments_stack_and_workflow_say(world, kind, state):
    run = RunSettings("prod", (("STACK_VAR_REGION", "eu-west-1"),))
    deployment = world.put(amended(deployment_in(state), stack="prod", run=run))
    job = world.jobs.get(begin(world, deployment, kind))
    assert (job.stack, job.run) == ("prod", run)


@pytest.mark.parametrize(("kind", "state"), [("plan", State.QUEUED), ("apply", State.APPROVED)])
def test_a_job_that_merges_tells_what_is_known_to_be_common_to_both_branches(world, kind, state):
    deployment = world.put(amended(deployment_in(state), base_sha=sha(2), fork_sha=sha(1)))
    job = world.jobs.get(begin(world, deployment, kind))
    assert (job.base_sha, job.fork_sha) == (sha(2), sha(1))


def test_a_further_attempt_to_plan_has_a_job_of_its_own_and_says_so(world):
    deployment = world.put(any_deployment())
    begin(world, deployment)
    world.jobs.hand_over(f"{deployment.id}-plan-1", "token", "clone")
    world.jobs.take(f"{deployment.id}-plan-1", "arn:task/1")
    assert begin(world, deployment, attempt=2, tries=2) == f"{deployment.id}-plan-2"
    assert set(world.runners.stopped) == {"arn:task/1"}
    assert "attempt 2 of 3" in world.deployments.get(deployment.id).reason


def test_beginning_the_same_plan_again_answers_the_same(world):
    deployment = world.put(any_deployment())
    assert begin(world, deployment) == begin(world, deployment)


@pytest.mark.parametrize("state", sorted(set(State) - {State.QUEUED, State.PLANNING}))
def test_a_plan_does_not_begin_once_the_deployment_is_further(world, state):
    deployment = world.put(deployment_in(state))
    with pytest.raises(WrongState):
        begin(world, deployment)
    assert world.deployments.get(deployment.id) == deployment


def test_an_apply_carries_exactly_the_reviewed_plan(world):
    deployment = world.put(deployment_in(State.APPROVED))
    job = world.jobs.get(begin(world, deployment, "apply"))
    plan = any_plan()
    assert (job.plan_file, job.lock_file, job.engine_version) == (plan.file, plan.lock_file, plan.engine_version)
    applying = world.deployments.get(deployment.id)
    assert (applying.state, applying.apply.job) == (State.APPLYING, job.id)
    assert applying.apply.started_at


def test_an_apply_is_audited_before_anybody_sees_it(world):
    deployment = world.put(deployment_in(State.APPROVED))
    world.audit.unavailable = True
    with pytest.raises(AuditUnavailable):
        begin(world, deployment, "apply")
    assert world.deployments.get(deployment.id) == deployment
    assert world.event_publisher.announced == []
    assert world.jobs.take(f"{deployment.id}-apply-1", "runner") is None


def test_the_audit_message_says_that_the_apply_runs_and_who_approved(world):
    deployment = world.put(deployment_in(State.APPROVED))
    begin(world, deployment, "apply")
    (message,) = world.audit.published
    assert (message.state, message.body["id"]) == ("RUNNING", f"{deployment.id}-apply-1")
    assert message.body["approved_by"] == "reviewer"
    (audited,) = world.deployments.get(deployment.id).audited
    assert (audited.event, audited.state) == (message.event, "RUNNING")


def test_beginning_the_same_apply_again_answers_the_same_and_audits_once(world):
    deployment = world.put(deployment_in(State.APPROVED))
    assert begin(world, deployment, "apply") == begin(world, deployment, "apply")
    assert world.audit.states == ["RUNNING"]
    assert world.states() == [State.APPLYING, State.APPLYING]


def test_an_apply_that_could_not_be_stored_is_begun_again(world):
    deployment = world.put(deployment_in(State.APPROVED))
    stale = replace(deployment, version=deployment.version)
    world.deployments.save(deployment)

    class Behind:
        def get(self, _):
            return stale

        save = world.deployments.save

    message = BeginJob(deployment=deployment.id, phase="apply", attempt=1)
    with pytest.raises(Conflict):
        begin_job(changed(world.ports, deployments=Behind()), message)
    assert begin(world, deployment, "apply") == f"{deployment.id}-apply-1"


@pytest.mark.parametrize("state", [State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN])
def test_a_deployment_never_starts_a_second_apply(world, state):
    deployment = world.put(deployment_in(state))
    with pytest.raises(ApplyAlreadyStarted):
        begin(world, deployment, "apply")


def test_another_apply_of_a_running_one_is_refused(world):
    deployment = world.put(deployment_in(State.APPLYING))
    with pytest.raises(ApplyAlreadyStarted):
        begin(world, deployment, "apply", attempt=2)


@pytest.mark.parametrize("state", [State.QUEUED, State.PLANNING, State.AWAITING_REVIEW, State.REJECTED])
def test_what_is_not_approved_is_not_applied(world, state):
    deployment = world.put(deployment_in(state))
    with pytest.raises(WrongState):
        begin(world, deployment, "apply")
    assert world.audit.published == []


def gated(next_, **fields):
    return deployment_in(State.GATED, gate=Gate("gate", NOW, next_), reason="Why.", **fields)


@pytest.mark.parametrize(("next_", "reason"), [(AfterGate.PLAN, ""), (AfterGate.PLAN_AGAIN, "Why.")])
def test_a_plan_begins_once_its_gate_is_open_and_what_was_planned_before_counts_no_more(world, next_, reason):
    deployment = world.put(gated(next_))
    assert begin(world, deployment, attempt=2) == f"{deployment.id}-plan-2"
    planning = world.deployments.get(deployment.id)
    assert (planning.state, planning.reason, planning.gate, planning.planned.plan) == (
        State.PLANNING,
        reason,
        None,
        None,
    )
    assert begin(world, deployment, attempt=2) == f"{deployment.id}-plan-2"


def test_a_plan_that_is_made_once_more_has_no_approval_and_no_verdict_of_the_older_one(world):
    judged = {
        "gate": Gate("gate", NOW, AfterGate.PLAN_AGAIN),
        "verdicts": (PolicyVerdict("words"),),
        "plan_digest": "d1",
        "approved_here": (Approval("ann", NOW),),
        "override": Override("operator", NOW, "urgent"),
        "missing": ("An approval.",),
    }
    deployment = world.put(deployment_in(State.GATED, **judged))
    begin(world, deployment, attempt=2)
    anew = world.deployments.get(deployment.id)
    assert (
        anew.policies.verdicts,
        anew.planned.digest,
        anew.requirements.approved_here,
        anew.requirements.override,
        anew.requirements.missing,
    ) == ((), "", (), None, ())


def test_an_apply_that_needs_no_review_begins_once_its_gate_is_open(world):
    deployment = world.put(gated(AfterGate.APPLY))
    begin(world, deployment, "apply")
    applying = world.deployments.get(deployment.id)
    assert (applying.state, applying.gate) == (State.APPLYING, None)
    assert [step.state for step in applying.history] == [State.APPROVED, State.APPLYING]
    assert world.audit.states == ["RUNNING"]


@pytest.mark.parametrize("kind", ["plan", "apply"])
@pytest.mark.parametrize("next_", [None, AfterGate.REVIEW, AfterGate.REJECTED])
def test_nothing_begins_before_its_gate_is_open(world, kind, next_):
    deployment = world.put(gated(next_))
    with pytest.raises((WrongState, GateShut)):
        begin(world, deployment, kind)
    assert world.deployments.get(deployment.id) == deployment


@pytest.fixture
def gates():
    return GateWorld()


def confirmed(gates, dev):
    """Return a deployment of stack prod that was planned after ``dev`` was deployed, and confirmed."""
    prod = gates.planned()
    review = any_review(approved=True, by="reviewer", at=NOW)
    assert dev.stack in prod.change.waits.apply_after
    return gates.change(prod, state=State.APPROVED, review=review, history=(Step(State.PLANNING, LATER),))


def test_an_apply_begins_while_all_that_goes_before_it_is_done(gates):
    prod = confirmed(gates, gates.member("app", "dev", State.APPLIED))
    assert begin(gates, prod, "apply").endswith("-apply-1")


@pytest.mark.parametrize("state", [State.QUEUED, State.APPLYING, State.APPLY_FAILED, State.REJECTED])
def test_what_was_run_again_since_the_review_sends_the_apply_back_to_its_gate(gates, state):
    prod = confirmed(gates, gates.member("app", "dev", State.APPLIED))
    again = gates.member("app", "dev", state, rerun_of="dev", requested_at=LATER)
    for _ in "once more":
        with pytest.raises(GateShut, match="continues automatically"):
            begin(gates, prod, "apply")
    shut = gates.now(prod)
    assert (shut.state, shut.gate.id, shut.gate.next) == (State.GATED, shut.planned.plan.job, None)
    assert (gates.audit.published, shut.apply.job) == ([], None)

    waiting = gates.waits(prod)
    assert (waiting.state in {State.GATED, State.BLOCKED}, gates.answers) == (True, {})
    gates.ends(again, State.APPLIED)
    assert gates.answers == {"token": "plan again"}
    planned_again = begin(gates, prod, attempt=2)
    assert planned_again.endswith("-plan-2")
    assert gates.now(prod).review is None


def test_a_confirmed_plan_is_applied_without_another_look_where_running_again_changed_nothing(gates):
    prod = confirmed(gates, gates.member("app", "dev", State.APPLIED))
    again = gates.member("app", "dev", State.APPLYING, rerun_of="dev", requested_at=LATER)
    with pytest.raises(GateShut):
        begin(gates, prod, "apply")
    gates.waits(prod)
    gates.ends(again, State.NO_CHANGES)
    assert gates.answers == {"token": "apply"}
    assert begin(gates, prod, "apply").endswith("-apply-1")


@pytest.mark.parametrize("relation", [Comparison.DIVERGED, Comparison.BEHIND, Comparison.BASE_MISSING])
def test_a_plan_whose_commit_was_forced_off_its_branch_is_not_applied(world, relation):
    deployment = world.put(deployment_in(State.APPROVED))
    world.forge.comparisons[deployment.revision.sha, "main"] = relation
    with pytest.raises(CommitLeftBranch, match="Reject this deployment"):
        begin(world, deployment, "apply")
    world.forge.comparisons.clear()
    with pytest.raises(CommitLeftBranch):  # The call comes again, and so did the commit.
        begin(world, deployment, "apply")
    ending = world.deployments.get(deployment.id).outcome.ending
    assert (ending.state, ending.error) == (State.REJECTED, "CommitLeftBranch")
    assert world.audit.published == []


def test_the_head_of_a_pull_request_is_applied_while_that_contains_it(world):
    deployment = world.put(deployment_in(State.APPROVED, trigger=Trigger.MANUAL, pull_request=5))
    world.forge.seen[5] = seen(any_pull_request(5, head_sha=sha(9)))
    world.forge.comparisons[deployment.revision.sha, sha(9)] = Comparison.DIVERGED
    assert "#5" in left_branch(world.ports, deployment)
    world.forge.comparisons.clear()
    assert left_branch(world.ports, deployment) == ""
    world.forge.seen.clear()
    assert "#5, which" in left_branch(world.ports, deployment)


def test_what_destroys_is_planned_with_the_engine_and_the_lock_file_of_what_is_deployed(world):
    how = Destruction("last", "1.9.8", any_plan().lock_file)
    job = world.jobs.get(begin(world, world.put(any_deployment(destroy=how))))
    assert (job.destroy, job.engine_version, job.lock_file) == (True, "1.9.8", how.lock_file)


@pytest.mark.parametrize(("destroy", "begins"), [(Destruction("last"), True), (Destruction(), False)])
def test_what_is_deployed_is_destroyed_wherever_its_branch_went(world, destroy, begins):
    deployment = world.put(deployment_in(State.APPROVED, destroy=destroy))
    world.forge.comparisons[deployment.revision.sha, "main"] = Comparison.DIVERGED
    if begins:
        assert (
            world.jobs.get(begin(world, deployment, "apply")).engine_version == deployment.planned.plan.engine_version
        )
    else:
        with pytest.raises(CommitLeftBranch):
            begin(world, deployment, "apply")
