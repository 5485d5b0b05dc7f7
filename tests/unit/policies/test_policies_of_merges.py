"""What policies say of the plan of a merge, and whose approvals let it pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployment, any_plan, any_pull_request, any_review, any_revision, seen, sha
from tests.fakes import MemoryForge, MemoryPullRequests
from tests.fakes.ports import memory_ports
from tidegate.deploys.rules.evaluated_plan import EvaluatedPlan
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.waiting import Approval, Override
from tidegate.gates.apply_requirements import missing_requirements
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Change
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.errors import ForgeUnavailable
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequest, PullRequestReview, ReviewVerdict
from tidegate.vcs.rules.push import Pushed
from tidegate.vcs.rules.pushers import HeadPush

BEFORE, HEAD, MERGED, DIGEST = sha(2), sha(3), sha(4), "d" * 64
DENIED = PolicyVerdict("words", (PolicyFinding(Severity.DENY, "main.deny", "It is public.", "aws_s3_bucket.all"),))
WORDS = PolicySetStatus("words", owners=("user:ann", "user:ben"))
PULL = PullRequest(5, HEAD, "feature", "main", "author", False, False, merged=True)
CHANGED = any_plan(changes=PlannedChanges(add=1))


class Scenario:
    """The merge of pull request 5, whose plan policies judged."""

    def __init__(self):
        people = "ann", "ben", "eve", "author", "maintainer"
        made = Authors(("author",))
        self.forge = MemoryForge(
            roles=dict.fromkeys(people, Permission.WRITE),
            changes={
                (BEFORE, MERGED): Change(BEFORE, made, commits=(HEAD, MERGED)),
                (BEFORE, HEAD): Change(BEFORE, made, commits=(HEAD,)),
            },
            seen={5: replace(seen(any_pull_request(5)), is_open=False, merged=True, merge_sha=MERGED)},
            pull_requests={5: PULL},
            came_with={MERGED: (5,), HEAD: (5,)},
        )
        self.records = MemoryPullRequests()

    def shown(self, digest=DIGEST, head=HEAD, stack="default", **spec):
        """Let the record have the plan that the pull request showed."""
        plans = (EvaluatedPlan("network", stack, head, digest),)
        self.records.save(PullRequestRecord(any_pull_request(5, **spec), plans=plans))

    def approve(self, *logins, head=HEAD):
        given = [PullRequestReview(login, ReviewVerdict.APPROVED, head, NOW) for login in logins]
        self.forge.reviewed.setdefault(5, []).extend(given)

    def missing(self, *verdicts, sets=(WORDS,), **fields):
        wanted = {
            "pushed": (Pushed(BEFORE, MERGED, "main"),),
            "authors": ("author",),
            "requested_by": "maintainer",
            "plan": CHANGED,
            "policy_sets": sets,
            "verdicts": verdicts or (DENIED,),
            "plan_digest": DIGEST,
            **fields,
        }
        deployment = any_deployment(4, **wanted)
        ports = memory_ports(forge=self.forge, pull_requests=self.records)
        return missing_requirements(ports, deployment).sentences


@pytest.fixture
def scenario():
    return Scenario()


def here(*logins):
    return tuple(Approval(login, NOW) for login in logins)


def test_a_plan_that_policies_let_pass_or_that_is_held_against_none_costs_no_call(scenario):
    scenario.forge.failures.append(ForgeUnavailable("asked"))
    assert scenario.missing(PolicyVerdict("words")) == ()
    assert scenario.missing(sets=()) == ()
    assert scenario.missing(plan=any_plan(changes=PlannedChanges()), verdicts=()) == ()
    assert scenario.missing(override=Override("operator", NOW, "urgent")) == ()
    assert scenario.missing(pull_request=5, trigger=Trigger.RERUN) == ()


@pytest.mark.parametrize("forced", [False, True])
def test_an_owner_who_takes_the_approval_of_a_head_back_before_its_apply_does_not_let_it_pass(scenario, forced):
    head = {"revision": any_revision(3, branch="feature"), "pull_request": 5, "trigger": Trigger.MANUAL, "pushed": ()}
    scenario.forge.seen[5] = seen(any_pull_request(5, base_sha=BEFORE))
    scenario.shown(pushes=(HeadPush("", HEAD, "author"),))
    scenario.approve("ann")
    assert scenario.missing(forced=forced, plan_digest="another", **head) == ()
    scenario.forge.reviewed[5].append(PullRequestReview("ann", ReviewVerdict.DISMISSED, HEAD, NOW))
    assert "0 of 1 approvals" in scenario.missing(forced=forced, **head)[0]


def test_a_plan_that_a_set_refuses_waits_for_its_owners_and_says_by_which_rule(scenario):
    scenario.shown("another")
    (told,) = scenario.missing()
    assert told.startswith("Policy set `words` blocks this plan by main")
    assert "0 of 1 approvals by its owners (`user:ann` and `user:ben`)" in told
    assert scenario.missing(approved_here=here("ann")) == ()
    assert scenario.missing(review=any_review(approved=True, approvals=here("ann"))) == ()
    assert scenario.missing(approved_here=here("eve"))


@pytest.mark.parametrize("set_", [WORDS, replace(WORDS, approvals=2)])
def test_an_approval_of_the_pull_request_counts_for_the_plan_that_it_showed_and_for_no_other(scenario, set_):
    scenario.shown()
    scenario.approve("ann", "ben")
    assert scenario.missing(sets=(set_,)) == ()
    assert scenario.missing(sets=(set_,), plan_digest="e" * 64)
    assert scenario.missing(sets=(set_,), plan_digest="")
    assert scenario.missing(sets=(set_,), stack="prod")


@pytest.mark.parametrize("shown", [{"digest": ""}, {"head": sha(9)}, {"stack": "prod"}])
def test_a_plan_of_another_head_stack_or_none_is_another_plan(scenario, shown):
    scenario.shown(**shown)
    scenario.approve("ann")
    assert scenario.missing()
    assert scenario.missing(plan_digest="")


def test_approvals_of_another_head_and_by_who_made_the_change_do_not_count(scenario):
    scenario.shown()
    scenario.approve("ann", head=sha(9))
    scenario.approve("author")
    owners = replace(WORDS, owners=("user:ann", "user:author"))
    assert scenario.missing(sets=(owners,))
    assert scenario.missing(sets=(owners,), approved_here=here("author"))
    assert scenario.missing(sets=(owners,), approved_here=here("author", "ann")) == ()


def test_where_it_is_not_known_who_pushed_one_owner_more_must_approve(scenario):
    scenario.shown(pushes=())
    (told,) = scenario.missing(approved_here=here("ann"))
    assert "1 of 2 approvals" in told
    assert f"the pusher of `{HEAD[:7]}`" in told
    assert scenario.missing(approved_here=here("ann", "ben")) == ()


def test_of_commits_that_came_with_no_pull_request_whoever_pushed_approves_nothing(scenario):
    scenario.forge.came_with = {MERGED: (), HEAD: ()}
    owners = replace(WORDS, owners=("user:maintainer", "user:ann"))
    assert scenario.missing(sets=(owners,), approved_here=here("maintainer"))
    assert scenario.missing(sets=(owners,), approved_here=here("ann")) == ()


def test_what_was_not_judged_or_has_no_owners_is_let_pass_by_an_operator_alone(scenario):
    scenario.shown()
    scenario.approve("ann", "ben")
    both = WORDS, PolicySetStatus("costs", owners=("user:ann",))
    assert scenario.missing(sets=both) == ("Policy set `costs` has not evaluated this plan.",)
    (told,) = scenario.missing(sets=(replace(WORDS, owners=()),), approved_here=here("ann"))
    assert "It has no owners who can" in told
    (told,) = scenario.missing(PolicyVerdict("words", error="It takes too long."), plan_digest="")
    assert "It takes too long" in told


def test_what_the_root_requires_and_what_policies_refuse_are_both_told(scenario):
    scenario.shown()
    scenario.approve("eve")
    two = Requirements(approvals=2)
    told = scenario.missing(requires=(two,))
    assert [sentence.split(":")[0].partition(" ")[0] for sentence in told] == ["#5", "Policy"]
    assert len(scenario.missing(unmatched=True)) == 2
    assert scenario.missing(requires=(two,), approved_here=here("ann")) == ()
