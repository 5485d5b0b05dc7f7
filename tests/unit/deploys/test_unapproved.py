"""What policies say against a plan that waits for its review."""

from __future__ import annotations

from tests.builders import any_plan, deployment_in
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.unapproved import refused_because
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity

COSTS, EXPOSURE = PolicySetStatus("costs", owners=("user:ann", "team:money")), PolicySetStatus("exposure")
DEAR = PolicyFinding(Severity.DENY, "main.deny", "It costs too much.")
OPEN = PolicyFinding(Severity.VIOLATION, "main.violation", "It is open.", "aws_s3_bucket.a")
SHOWN = PolicyFinding(Severity.WARN, "main.warn", "It has no tags.")


def told(*verdicts, sets=(COSTS, EXPOSURE), **plan):
    one = deployment_in(State.AWAITING_REVIEW, plan=any_plan(**plan), policy_sets=sets, verdicts=verdicts)
    return refused_because(one)


def test_each_refusal_is_told_with_who_can_approve_it():
    verdicts = PolicyVerdict("costs", (DEAR, SHOWN)), PolicyVerdict("exposure", (OPEN,))
    assert told(*verdicts) == (
        "Policy set costs (user:ann and team:money can approve it): It costs too much.",
        "Policy set exposure (nobody can approve it): It is open. (aws_s3_bucket.a)",
    )


def test_a_set_without_a_verdict_says_why():
    assert told(PolicyVerdict("costs", error="a.rego, line 3: no.")) == (
        "Policy set costs (user:ann and team:money can approve it): a.rego, line 3: no.",
        "Policy set exposure has not evaluated this plan.",
    )


def test_what_passes_and_what_changes_nothing_has_nothing_against_it():
    assert told(PolicyVerdict("costs", (SHOWN,)), PolicyVerdict("exposure")) == ()
    assert told(changes=PlannedChanges()) == ()


def test_of_many_refusals_the_rest_is_counted():
    said = told(PolicyVerdict("costs", (DEAR,) * 25), sets=(COSTS,))
    assert (len(said), said[-1]) == (21, "And 5 more.")
