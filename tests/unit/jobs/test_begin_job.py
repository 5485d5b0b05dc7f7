from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

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
from tests.unit.gates.gate_scenario import GateScenario
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.clusters.adapters.files import plan_text
from tidegate.clusters.rules.execution_refusals import ClusterPlanAltered
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.record import ClusterRecord
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.check_branch import left_branch
from tidegate.deploys.rules.cluster import ClusterKind, CurrentCluster, DeclaredCluster, ProviderName
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
from tidegate.plans.rules.plan import Artifact
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
def scenario():
    return Scenario()


def begin(scenario, deployment, kind="plan", attempt=1, tries=1):
    message = BeginJob(deployment=deployment.id, phase=kind, attempt=attempt, tries=tries)
    return begin_job(scenario.ports, message).job


def test_a_plan_runs_where_it_is_placed_and_says_why_it_is_tried_again_there():
    scenario = Scenario({"TIDEGATE_PLAN_FUNCTION": "3008 MB"})
    deployment = scenario.put(any_deployment())
    first = scenario.jobs.get(begin(scenario, deployment))
    assert (first.runner, scenario.deployments.get(deployment.id).reason) == (PlanRunner.LAMBDA, "")
    scenario.jobs.report_limit(first.id, Limit.MEMORY)
    second = scenario.jobs.get(begin(scenario, deployment, attempt=2, tries=2))
    note = f"This plan moved from Lambda to Fargate: {Limit.MEMORY}."
    assert (second.runner, second.note) == (PlanRunner.FARGATE, note)
    assert scenario.deployments.get(deployment.id).reason == note


CLUSTER = DeclaredCluster("network", ClusterKind.WORKLOAD, ProviderName.SIMULATED, "network.yaml")


def test_the_apply_of_a_cluster_names_the_workflow_and_what_it_takes_of_the_plan(scenario):
    plan = ClusterPlan(
        CLUSTER, Workflow(CLUSTER.kind, Operation.CREATE), "1", "spec", "steps", (), (), releases=("resume",)
    )
    text = plan_text(plan)
    stored = Artifact("plans/network-plan-1/plan.tfplan", sha256(text).hexdigest())
    scenario.artifacts.put(stored.key, text)
    approved = deployment_in(State.APPROVED, run=RunSettings(cluster=CLUSTER), plan=any_plan(file=stored))
    message = BeginJob(deployment=scenario.put(approved).id, phase="apply", attempt=1)
    begun = begin_job(scenario.ports, message)
    assert begun.cluster.machine == "cluster-workload-create-simulated"
    assert begun.cluster.plan == plan.execution_input
    assert begin_job(scenario.ports, message) == begun
    scenario.artifacts.put(stored.key, b"{}")
    with pytest.raises(ClusterPlanAltered):
        begin_job(scenario.ports, message)


def test_the_plan_of_a_cluster_knows_what_the_cluster_is(scenario):
    current = CurrentCluster("1.31", "spec", ProviderName.SIMULATED, "1")
    record = ClusterRecord("acme/infra", CLUSTER.name, CLUSTER.kind, CLUSTER.provider, current=current, exists=True)
    scenario.clusters.save(record)
    deployment = scenario.put(any_deployment(run=RunSettings(cluster=CLUSTER)))
    message = BeginJob(deployment=deployment.id, phase="plan", attempt=1)
    begun = begin_job(scenario.ports, message)
    assert begun.cluster is None
    assert scenario.jobs.get(begun.job).current == current


def test_a_plan_creates_its_job_and_shows_that_planning_begins(scenario):
    deployment = scenario.put(any_deployment())
    job = scenario.jobs.get(begin(scenario, deployment))
    assert (job.id, job.kind, job.sha) == (f"{deployment.id}-plan-1", JobKind.PLAN, deployment.revision.sha)
    assert job.clone_url == "https://github.com/acme/infra.git"
    assert (job.plan_file, job.lock_file, job.engine_version) == (None, None, None)
    assert scenario.states() == [State.PLANNING]
    assert scenario.audit.published == []


OFFER = RunnerOffer(RunnerSize(2048, 8192, 50, 7200), RunnerSize(4096, 16384, 100, 43200))


def asking(scenario, needs, state=State.QUEUED):
    deployment = scenario.put(amended(deployment_in(state), run=RunSettings(runner=needs)))
    kind = "plan" if state is State.QUEUED else "apply"
    ports = changed(scenario.ports, runner_offer=OFFER)
    return begin_job(ports, BeginJob(deployment=deployment.id, phase=kind, attempt=1, tries=1))


@pytest.mark.parametrize(
    ("needs", "size"),
    [
        (None, ("2048", "8192", 50, "7200")),
        (RunnerNeeds(4096, 16384, 60, "arm64", 21600), ("4096", "16384", 60, "21600")),
    ],
)
@pytest.mark.parametrize("state", [State.QUEUED, State.APPROVED])
def test_a_runner_is_as_large_as_its_root_asks_for_and_has_its_time_for_the_apply(scenario, needs, size, state):
    begun = asking(scenario, needs, state)
    seconds = 3600 if state is State.QUEUED else int(size[3])
    assert (begun.size.cpu, begun.size.memory, begun.size.disk) == size[:3]
    assert (begun.size.seconds, begun.size.life) == (seconds, str(seconds + 300))
    assert str(scenario.jobs.get(begun.job).size.memory) == size[1]


@pytest.mark.parametrize(("planned", "memory"), [(RunnerSize(2048, 12288), "12288"), (RunnerSize(), "8192")])
def test_an_apply_has_at_least_the_memory_that_its_plan_needed(scenario, planned, memory):
    scenario.jobs.create(any_job(id=deployment_in(State.APPROVED).planned.plan.job, size=planned))
    assert asking(scenario, None, State.APPROVED).size.memory == memory


def test_a_root_that_asks_for_more_than_is_allowed_is_planned_by_nobody(scenario):
    with pytest.raises(RunnerNotOffered, match=r"runner\.memory of this root is 30 GB"):
        asking(scenario, RunnerNeeds(memory=30 * 1024))
    planning = scenario.deployments.get(deployment_in(State.QUEUED).id)
    assert (planning.state, planning.planned.job) == (State.PLANNING, None)


def test_nothing_is_applied_of_a_root_that_asks_for_more_than_is_allowed(scenario):
    with pytest.raises(RunnerNotOffered):
        asking(scenario, RunnerNeeds(memory=30 * 1024), State.APPROVED)
    assert not scenario.audit.published


@pytest.mark.parametrize(("kind", "state"), [("plan", State.QUEUED), ("apply", State.APPROVED)])
def test_a_job_runs_as_its_deployments_stack_and_workflow_say(scenario, kind, state):
    run = RunSettings("prod", (("STACK_VAR_REGION", "eu-west-1"),))
    deployment = scenario.put(amended(deployment_in(state), stack="prod", run=run))
    job = scenario.jobs.get(begin(scenario, deployment, kind))
    assert (job.stack, job.run) == ("prod", run)


@pytest.mark.parametrize(("kind", "state"), [("plan", State.QUEUED), ("apply", State.APPROVED)])
def test_a_job_that_merges_tells_what_is_known_to_be_common_to_both_branches(scenario, kind, state):
    deployment = scenario.put(amended(deployment_in(state), base_sha=sha(2), fork_sha=sha(1)))
    job = scenario.jobs.get(begin(scenario, deployment, kind))
    assert (job.base_sha, job.fork_sha) == (sha(2), sha(1))


def test_a_further_attempt_to_plan_has_a_job_of_its_own_and_says_so(scenario):
    deployment = scenario.put(any_deployment())
    begin(scenario, deployment)
    scenario.jobs.hand_over(f"{deployment.id}-plan-1", "token", "clone")
    scenario.jobs.take(f"{deployment.id}-plan-1", "arn:task/1")
    assert begin(scenario, deployment, attempt=2, tries=2) == f"{deployment.id}-plan-2"
    assert set(scenario.runners.stopped) == {"arn:task/1"}
    assert "attempt 2 of 3" in scenario.deployments.get(deployment.id).reason


def test_beginning_the_same_plan_again_answers_the_same(scenario):
    deployment = scenario.put(any_deployment())
    assert begin(scenario, deployment) == begin(scenario, deployment)


@pytest.mark.parametrize("state", sorted(set(State) - {State.QUEUED, State.PLANNING}))
def test_a_plan_does_not_begin_once_the_deployment_is_further(scenario, state):
    deployment = scenario.put(deployment_in(state))
    with pytest.raises(WrongState):
        begin(scenario, deployment)
    assert scenario.deployments.get(deployment.id) == deployment


def test_an_apply_carries_exactly_the_reviewed_plan(scenario):
    deployment = scenario.put(deployment_in(State.APPROVED))
    job = scenario.jobs.get(begin(scenario, deployment, "apply"))
    plan = any_plan()
    assert (job.plan_file, job.lock_file, job.engine_version) == (plan.file, plan.lock_file, plan.engine_version)
    applying = scenario.deployments.get(deployment.id)
    assert (applying.state, applying.apply.job) == (State.APPLYING, job.id)
    assert applying.apply.started_at


def test_an_apply_is_audited_before_anybody_sees_it(scenario):
    deployment = scenario.put(deployment_in(State.APPROVED))
    scenario.audit.unavailable = True
    with pytest.raises(AuditUnavailable):
        begin(scenario, deployment, "apply")
    assert scenario.deployments.get(deployment.id) == deployment
    assert scenario.event_publisher.announced == []
    assert scenario.jobs.take(f"{deployment.id}-apply-1", "runner") is None


def test_the_audit_message_says_that_the_apply_runs_and_who_approved(scenario):
    deployment = scenario.put(deployment_in(State.APPROVED))
    begin(scenario, deployment, "apply")
    (message,) = scenario.audit.published
    assert (message.state, message.body["id"]) == ("RUNNING", f"{deployment.id}-apply-1")
    assert message.body["approved_by"] == "reviewer"
    (audited,) = scenario.deployments.get(deployment.id).audited
    assert (audited.event, audited.state) == (message.event, "RUNNING")


def test_beginning_the_same_apply_again_answers_the_same_and_audits_once(scenario):
    deployment = scenario.put(deployment_in(State.APPROVED))
    assert begin(scenario, deployment, "apply") == begin(scenario, deployment, "apply")
    assert scenario.audit.states == ["RUNNING"]
    assert scenario.states() == [State.APPLYING, State.APPLYING]


def test_an_apply_that_could_not_be_stored_is_begun_again(scenario):
    deployment = scenario.put(deployment_in(State.APPROVED))
    stale = replace(deployment, version=deployment.version)
    scenario.deployments.save(deployment)

    class Behind:
        def get(self, _):
            return stale

        save = scenario.deployments.save

    message = BeginJob(deployment=deployment.id, phase="apply", attempt=1)
    with pytest.raises(Conflict):
        begin_job(changed(scenario.ports, deployments=Behind()), message)
    assert begin(scenario, deployment, "apply") == f"{deployment.id}-apply-1"


@pytest.mark.parametrize("state", [State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN])
def test_a_deployment_never_starts_a_second_apply(scenario, state):
    deployment = scenario.put(deployment_in(state))
    with pytest.raises(ApplyAlreadyStarted):
        begin(scenario, deployment, "apply")


def test_another_apply_of_a_running_one_is_refused(scenario):
    deployment = scenario.put(deployment_in(State.APPLYING))
    with pytest.raises(ApplyAlreadyStarted):
        begin(scenario, deployment, "apply", attempt=2)


@pytest.mark.parametrize("state", [State.QUEUED, State.PLANNING, State.AWAITING_REVIEW, State.REJECTED])
def test_what_is_not_approved_is_not_applied(scenario, state):
    deployment = scenario.put(deployment_in(state))
    with pytest.raises(WrongState):
        begin(scenario, deployment, "apply")
    assert scenario.audit.published == []


def gated(next_, **fields):
    return deployment_in(State.GATED, gate=Gate("gate", NOW, next_), reason="Why.", **fields)


@pytest.mark.parametrize(("next_", "reason"), [(AfterGate.PLAN, ""), (AfterGate.PLAN_AGAIN, "Why.")])
def test_a_plan_begins_once_its_gate_is_open_and_what_was_planned_before_counts_no_more(scenario, next_, reason):
    deployment = scenario.put(gated(next_))
    assert begin(scenario, deployment, attempt=2) == f"{deployment.id}-plan-2"
    planning = scenario.deployments.get(deployment.id)
    assert (planning.state, planning.reason, planning.gate, planning.planned.plan) == (
        State.PLANNING,
        reason,
        None,
        None,
    )
    assert begin(scenario, deployment, attempt=2) == f"{deployment.id}-plan-2"


def test_a_plan_that_is_made_once_more_has_no_approval_and_no_verdict_of_the_older_one(scenario):
    judged = {
        "gate": Gate("gate", NOW, AfterGate.PLAN_AGAIN),
        "verdicts": (PolicyVerdict("words"),),
        "plan_digest": "d1",
        "approved_here": (Approval("ann", NOW),),
        "override": Override("operator", NOW, "urgent"),
        "missing": ("An approval.",),
    }
    deployment = scenario.put(deployment_in(State.GATED, **judged))
    begin(scenario, deployment, attempt=2)
    anew = scenario.deployments.get(deployment.id)
    assert (
        anew.policies.verdicts,
        anew.planned.digest,
        anew.requirements.approved_here,
        anew.requirements.override,
        anew.requirements.missing,
    ) == ((), "", (), None, ())


def test_an_apply_that_needs_no_review_begins_once_its_gate_is_open(scenario):
    deployment = scenario.put(gated(AfterGate.APPLY))
    begin(scenario, deployment, "apply")
    applying = scenario.deployments.get(deployment.id)
    assert (applying.state, applying.gate) == (State.APPLYING, None)
    assert [step.state for step in applying.history] == [State.APPROVED, State.APPLYING]
    assert scenario.audit.states == ["RUNNING"]


@pytest.mark.parametrize("kind", ["plan", "apply"])
@pytest.mark.parametrize("next_", [None, AfterGate.REVIEW, AfterGate.REJECTED])
def test_nothing_begins_before_its_gate_is_open(scenario, kind, next_):
    deployment = scenario.put(gated(next_))
    with pytest.raises((WrongState, GateShut)):
        begin(scenario, deployment, kind)
    assert scenario.deployments.get(deployment.id) == deployment


@pytest.fixture
def gates():
    return GateScenario()


def approved(gates, dev):
    """Return a deployment of stack prod that was planned after ``dev`` was deployed, and approved."""
    prod = gates.planned()
    review = any_review(approved=True, by="reviewer", at=NOW)
    assert dev.stack in prod.change.waits.apply_after
    return gates.change(prod, state=State.APPROVED, review=review, history=(Step(State.PLANNING, LATER),))


def test_an_apply_begins_while_all_that_goes_before_it_is_done(gates):
    prod = approved(gates, gates.member("app", "dev", State.APPLIED))
    assert begin(gates, prod, "apply").endswith("-apply-1")


@pytest.mark.parametrize("state", [State.QUEUED, State.APPLYING, State.APPLY_FAILED, State.REJECTED])
def test_what_was_run_again_since_the_review_sends_the_apply_back_to_its_gate(gates, state):
    prod = approved(gates, gates.member("app", "dev", State.APPLIED))
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


def test_a_approved_plan_is_applied_without_another_look_where_running_again_changed_nothing(gates):
    prod = approved(gates, gates.member("app", "dev", State.APPLIED))
    again = gates.member("app", "dev", State.APPLYING, rerun_of="dev", requested_at=LATER)
    with pytest.raises(GateShut):
        begin(gates, prod, "apply")
    gates.waits(prod)
    gates.ends(again, State.NO_CHANGES)
    assert gates.answers == {"token": "apply"}
    assert begin(gates, prod, "apply").endswith("-apply-1")


@pytest.mark.parametrize("relation", [Comparison.DIVERGED, Comparison.BEHIND, Comparison.BASE_MISSING])
def test_a_plan_whose_commit_was_forced_off_its_branch_is_not_applied(scenario, relation):
    deployment = scenario.put(deployment_in(State.APPROVED))
    scenario.forge.comparisons[deployment.revision.sha, "main"] = relation
    with pytest.raises(CommitLeftBranch, match="Reject this deployment"):
        begin(scenario, deployment, "apply")
    scenario.forge.comparisons.clear()
    with pytest.raises(CommitLeftBranch):  # The call comes again, and so did the commit.
        begin(scenario, deployment, "apply")
    ending = scenario.deployments.get(deployment.id).outcome.ending
    assert (ending.state, ending.error) == (State.REJECTED, "CommitLeftBranch")
    assert scenario.audit.published == []


def test_the_head_of_a_pull_request_is_applied_while_that_contains_it(scenario):
    deployment = scenario.put(deployment_in(State.APPROVED, trigger=Trigger.MANUAL, pull_request=5))
    scenario.forge.seen[5] = seen(any_pull_request(5, head_sha=sha(9)))
    scenario.forge.comparisons[deployment.revision.sha, sha(9)] = Comparison.DIVERGED
    assert "#5" in left_branch(scenario.ports, deployment)
    scenario.forge.comparisons.clear()
    assert left_branch(scenario.ports, deployment) == ""
    scenario.forge.seen.clear()
    assert "#5, which" in left_branch(scenario.ports, deployment)


def test_what_destroys_is_planned_with_the_engine_and_the_lock_file_of_what_is_deployed(scenario):
    how = Destruction("last", "1.9.8", any_plan().lock_file)
    job = scenario.jobs.get(begin(scenario, scenario.put(any_deployment(destroy=how))))
    assert (job.destroy, job.engine_version, job.lock_file) == (True, "1.9.8", how.lock_file)


@pytest.mark.parametrize(("destroy", "begins"), [(Destruction("last"), True), (Destruction(), False)])
def test_what_is_deployed_is_destroyed_wherever_its_branch_went(scenario, destroy, begins):
    deployment = scenario.put(deployment_in(State.APPROVED, destroy=destroy))
    scenario.forge.comparisons[deployment.revision.sha, "main"] = Comparison.DIVERGED
    if begins:
        assert (
            scenario.jobs.get(begin(scenario, deployment, "apply")).engine_version
            == deployment.planned.plan.engine_version
        )
    else:
        with pytest.raises(CommitLeftBranch):
            begin(scenario, deployment, "apply")
