"""The plan that is applied in a pull request is held against the policy sets of the plan that it shows."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from tests.builders import (
    NOW,
    amended,
    any_artifact,
    any_plan,
    any_pull_request,
    any_pull_request_record,
    deployment_in,
    seen,
    sha,
)
from tests.fakes import MemoryDeployments, MemoryPullRequests
from tests.fakes.policies import MemoryPolicyEngine
from tests.fakes.ports import With, changed
from tests.instants import utc
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.changes.rules.waits import Waits
from tidegate.check_runs.check_run_view import present_check_run
from tidegate.deploys.rules.policy_status import POLICIES_REFUSED
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.unapproved import refusals
from tidegate.jobs.evaluate_policies_of_plan import evaluate_plan
from tidegate.jobs.record_plan import record_plan
from tidegate.jobs.record_result import record_result
from tidegate.messages import CheckPolicies, EvaluatePlan, RecordPlan, RecordResult
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.check_policies import check_policies
from tidegate.policies.rules.files import packed
from tidegate.policies.rules.policy import KEPT_OF_DEPLOYMENT, PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.ports import Change
from tidegate.rules.errors import NotFound, WrongState
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequestReview, ReviewVerdict
from tidegate.vcs.rules.pushers import HeadPush

DENIED = PolicyFinding(Severity.DENY, "main.deny", "It is public.", "aws_s3_bucket.all")
PLAN_JSON = b'{"resource_changes": []}'
RECORD = any_pull_request_record(spec=any_pull_request(pushes=(HeadPush("", sha(1), "author"),)))


class Applying(Scenario):
    """A deployment of a pull request that is being planned, for which a policy set of ``ann`` holds."""

    def __init__(self):
        super().__init__(policy_engine=MemoryPolicyEngine())
        self.pull_requests.save(RECORD)
        self.forge.readers.add("ann")
        self.artifacts.put("plans/x/plan.json", PLAN_JSON)
        stored = any_artifact(key="plans/x/plan.json", sha256=sha256(PLAN_JSON).hexdigest())
        self.plan = any_plan(json=stored, changes=PlannedChanges(add=1))
        key, content = packed({"main.rego": b"package main"})
        self.artifacts.put(key, content)
        self.held = PolicySetStatus("words", key, sha256(content).hexdigest(), owners=("user:ann",))
        self.place()

    def place(self, state=State.PLANNING, **fields):
        of_pull = {"repository": RECORD.spec.repository, "pull_request": RECORD.spec.number, "base_sha": sha(2)}
        own = {"trigger": Trigger.MANUAL, "policy_sets": (self.held,), **of_pull, **fields}
        self.ports = changed(self.ports, deployments=MemoryDeployments())
        self.id = self.put(deployment_in(state, **own)).id
        self.forge.changes[sha(2), self.deployment.revision.sha] = Change(sha(2), Authors(("writer",)))

    @property
    def deployment(self):
        return self.deployments.get(self.id)

    def planned(self, plan=None):
        return record_plan(self.ports, RecordPlan(deployment=self.id, plan=plan or self.plan))

    def checked(self):
        return check_policies(self.ports, CheckPolicies(deployment=self.id)).failed

    def judged(self):
        return evaluate_plan(self.ports, EvaluatePlan(deployment=self.id))

    def goes_through(self, *findings):
        """Let the plan be made, held against the set and judged; return what it needs."""
        self.policy_engine.verdicts["words"] = PolicyVerdict("words", findings)
        assert self.planned().next == "policies"
        self.checked()
        return self.judged()

    def approve(self, by="ann", commit=None, at=NOW):
        commit = commit or self.deployment.revision.sha
        given = PullRequestReview(by, ReviewVerdict.APPROVED, commit, at)
        self.forge.reviewed.setdefault(RECORD.spec.number, []).append(given)
        self.forge.changes[sha(2), commit] = Change(sha(2), Authors(("writer",)))


@pytest.fixture
def scenario():
    return Applying()


def test_a_plan_that_policy_sets_let_pass_goes_on_as_any_other(scenario):
    assert scenario.goes_through().next == "review"
    assert scenario.deployment.policies.verdicts == (PolicyVerdict("words"),)
    scenario.place(review_rule=ReviewRule(PlanReview.NEVER))
    assert scenario.goes_through().next == "apply"
    assert scenario.deployment.state is State.APPROVED
    scenario.place(waits=Waits(apply_after=("dev",)))
    assert scenario.goes_through().next == "gate"


def test_a_plan_that_a_set_refuses_is_not_reviewed_and_it_is_said_by_which_rule(scenario):
    judged = scenario.goes_through(DENIED)
    assert judged.next == "refused"
    assert judged.reason == (
        "Policy set words blocks this plan by main.deny (aws_s3_bucket.all): It is public. "
        "It has 0 of 1 approvals by its owners."
    )
    assert (scenario.deployment.state, scenario.deployment.planned.plan) == (State.PLANNING, scenario.plan)


def test_an_owner_who_approved_the_commit_that_is_applied_lets_it_pass_also_after_a_push(scenario):
    scenario.approve()
    scenario.pull_requests.save(
        replace(scenario.pull_requests.get("acme/infra", 5), spec=replace(RECORD.spec, head_sha=sha(9)))
    )
    assert scenario.goes_through(DENIED).next == "review"


def test_an_approval_of_another_commit_or_base_branch_or_by_the_author_lets_nothing_pass(scenario):
    scenario.approve(commit=sha(9))
    scenario.approve(by=RECORD.spec.author)
    assert scenario.goes_through(DENIED).next == "refused"
    scenario.approve()
    since = replace(RECORD.spec, base="release", base_since=utc("2026-03-02T09:00"))
    scenario.pull_requests.save(replace(scenario.pull_requests.get("acme/infra", 5), spec=since))
    assert scenario.judged().next == "refused"


def test_a_set_without_owners_or_that_cannot_be_evaluated_refuses_in_its_own_words(scenario):
    scenario.place(
        policy_sets=(replace(scenario.held, owners=()), PolicySetStatus("broken", problem="It has no files."))
    )
    judged = scenario.goes_through(DENIED)
    assert "Policy set broken blocks this plan" in judged.reason
    assert "by main.deny (aws_s3_bucket.all): It is public. It has no owners" in judged.reason


def test_a_rule_without_a_resource_and_more_sets_than_a_sentence_names_are_told(scenario):
    sets = tuple(PolicySetStatus(f"set{number}", problem="No files.") for number in range(4))
    scenario.place(policy_sets=(*sets, scenario.held))
    judged = scenario.goes_through(replace(DENIED, address=""))
    assert judged.reason.endswith("Other policy sets block it, too: 2.")
    scenario.place()
    assert "by main.deny: It is public. It has" in scenario.goes_through(replace(DENIED, address="")).reason


def test_a_plan_that_was_not_held_against_its_sets_does_not_pass(scenario):
    assert scenario.planned().next == "policies"
    assert scenario.judged() == type(scenario.judged())(
        next="refused", reason="Policy set words has not evaluated this plan."
    )


def test_recording_checking_and_judging_once_more_answers_the_same(scenario):
    assert scenario.goes_through().next == "review"
    version = scenario.deployment.version
    assert scenario.checked() == ()
    assert scenario.deployment.version == version
    assert scenario.judged().next == "review"
    scenario.place(review_rule=ReviewRule(PlanReview.NEVER))
    assert scenario.goes_through().next == "apply"
    scenario.policy_engine.verdicts["words"] = PolicyVerdict("words", (DENIED,))
    assert scenario.planned().next == "policies"
    assert scenario.judged().next == "apply"


def test_another_plan_has_no_verdict_until_it_is_held_against_the_sets(scenario):
    scenario.planned()
    scenario.checked()
    assert scenario.planned(replace(scenario.plan, job="another")).next == "policies"
    assert scenario.deployment.policies.verdicts == ()
    scenario.place(state=State.APPROVED, plan=scenario.plan)
    with pytest.raises(WrongState):
        scenario.planned(replace(scenario.plan, job="another"))


def test_verdicts_of_a_plan_that_gave_way_to_another_meanwhile_are_not_kept(scenario):
    def planned_anew(name, *_):
        scenario.deployments.save(amended(scenario.deployment, plan=replace(scenario.plan, job="another")))
        return PolicyVerdict(name)

    scenario.planned()
    scenario.ports = changed(scenario.ports, policy_engine=With(scenario.policy_engine, check=planned_anew))
    scenario.checked()
    assert scenario.deployment.policies.verdicts == ()


def test_an_empty_plan_is_held_against_nothing(scenario):
    assert scenario.planned(replace(scenario.plan, changes=PlannedChanges())).next == "nothing"
    assert scenario.deployment.state is State.NO_CHANGES


def test_a_deployment_without_plan_or_sets_has_nothing_to_check_or_judge(scenario):
    assert scenario.checked() == ()
    with pytest.raises(WrongState):
        scenario.judged()
    scenario.place(policy_sets=())
    assert scenario.planned().next == "review"
    assert scenario.checked() == ()
    with pytest.raises(NotFound):
        check_policies(scenario.ports, CheckPolicies(deployment="unknown"))


def test_of_many_findings_so_many_are_kept_as_a_record_has_room_for(scenario):
    scenario.goes_through(*[replace(DENIED, message=f"{number}") for number in range(80)])
    (verdict,) = scenario.deployment.policies.verdicts
    assert (len(verdict.findings), verdict.omitted) == (KEPT_OF_DEPLOYMENT, 80 - KEPT_OF_DEPLOYMENT)


def test_the_check_run_of_a_refused_plan_says_which_rule_who_may_approve_and_what_to_do(scenario):
    judged = scenario.goes_through(DENIED)
    failed = RecordResult(deployment=scenario.id, state="plan_failed", error=POLICIES_REFUSED, cause=judged.reason)
    record_result(scenario.ports, failed)
    assert (scenario.deployment.state, scenario.deployment.reason) == (State.PLAN_FAILED, judged.reason)
    shown = present_check_run(scenario.ports, scenario.deployment)
    assert (shown.title, shown.conclusion) == ("Blocked by policy: words", "failure")
    for words in (
        "Policy set words blocks this plan by main",
        "- **Denied** (`words`) `aws_s3_bucket.all`: It is public\\. (`main.deny`)",
        f"ask its owners, `user:ann`, to approve `{scenario.deployment.revision.short}` in a review",
        "`tidegate apply` again",
    ):
        assert words in shown.summary
    assert scenario.audit.published == []
    ownerless = amended(scenario.deployment, policy_sets=(replace(scenario.held, owners=()),))
    assert "it has no owners who can" in present_check_run(scenario.ports, ownerless).summary


@pytest.mark.parametrize("fields", [{}, {"layer": "a", "deployment": "b"}])
def test_policies_are_checked_of_a_layer_or_of_a_deployment(fields):
    with pytest.raises(ValueError, match="set either layer or deployment"):
        CheckPolicies(**fields)


def test_the_plan_of_a_head_that_is_deployed_without_a_merge_is_judged_by_who_made_what_its_branch_has(scenario):
    scenario.place(base_sha="")
    scenario.approve()
    scenario.forge.changes.clear()
    head = scenario.deployment.revision.sha
    scenario.forge.changes[RECORD.spec.base, head] = Change(sha(2), Authors(("writer",)))
    scenario.ports = changed(scenario.ports, pull_requests=MemoryPullRequests())
    scenario.forge.seen[RECORD.spec.number] = seen(RECORD.spec)
    assert scenario.goes_through(DENIED).next == "review"
    scenario.forge.changes[RECORD.spec.base, head] = Change(sha(2), Authors(("ann",)))
    scenario.place(base_sha="")
    assert scenario.goes_through(DENIED).next == "refused"


@pytest.mark.parametrize("trigger", [Trigger.MERGE, Trigger.DRIFT, Trigger.RERUN, Trigger.MANUAL])
def test_what_is_no_pull_requests_goes_on_and_waits_for_its_owners_before_its_apply(scenario, trigger):
    scenario.place(trigger=trigger, pull_request=None, base_sha="")
    assert scenario.goes_through(DENIED).next == "review"
    assert [verdict.failed for verdict in scenario.deployment.policies.verdicts] == [True]
    assert scenario.deployment.planned.digest
    (held, verdict), *others = refusals(scenario.deployment)
    assert (held, verdict.failed, others) == (scenario.held, True, [])
