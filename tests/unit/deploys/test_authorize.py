"""Who may do what with a deployment or a queue: what the forge is asked, and what follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import REPOSITORY, any_deployed, any_deployment, any_lock, any_queue
from tests.fakes.ports import changed
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.authorize import access_refusals, may_act, may_unlock, reviewed_unless_granted
from tidegate.deploys.rules.queue import Standing
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.rules.access import Access, Action
from tidegate.rules.errors import AppLacksPermission, ForgeUnavailable
from tidegate.rules.permission import Permission

SRE_ONLY = Access(apply=("team:sre",), review=("team:sre",), unlock=("team:sre",))
MANUAL = ReviewRule(PlanReview.MANUAL, approvals=2)


class People(Scenario):
    """A scenario whose forge knows a team and people of several roles."""

    def __post_init__(self):
        super().__post_init__()
        self.forge.teams["acme/sre"] = {"reviewer", "visitor", "stranger"}
        self.forge.readers.add("visitor")

    def may(self, login, action=Action.REVIEW, access=SRE_ONLY, **fields):
        return may_act(self.ports, any_deployment(access=access, **fields), action, login)

    def locked_by(self, deployment):
        head, _ = self.queues.read(deployment.queue)
        self.queues.commit(head, replace(head, lock=any_lock(deployment=deployment.id)))


@pytest.fixture
def scenario():
    return People()


@pytest.mark.parametrize(
    ("login", "may"), [("reviewer", True), ("visitor", True), ("maintainer", False), ("stranger", False)]
)
def test_a_team_that_is_granted_may_if_its_members_can_read_the_repository(scenario, login, may):
    assert scenario.may(login).done is may


def test_a_refusal_names_the_stack_and_who_may(scenario):
    told = "Only team:sre can review plans of stack prod, and maintainer is not among them."
    assert scenario.may("maintainer", stack="prod").reason == told


def test_the_forge_is_asked_about_teams_only_when_nothing_else_grants(scenario):
    assert scenario.may("reviewer", access=Access(review=("team:sre", "user:reviewer"))).done
    assert scenario.forge.teams_asked == []
    assert scenario.may("reviewer", access=Access(review=("team:dba", "team:sre", "team:qa"))).done
    assert scenario.forge.teams_asked == [("acme/dba", "reviewer"), ("acme/sre", "reviewer")]


def test_a_permission_that_is_known_is_not_asked_for(scenario):
    deployment = any_deployment(access=Access(review=("role:admin",)))
    assert may_act(scenario.ports, deployment, Action.REVIEW, "boss", Permission.ADMIN).done
    assert scenario.forge.people_asked == []


def test_a_team_that_cannot_be_looked_at_grants_nothing(scenario):
    class Blind(type(scenario.forge)):
        def is_team_member(self, *_):
            raise AppLacksPermission(422, ("members: read",))

    ports = changed(scenario.ports, forge=Blind(writers={"reviewer"}))
    decision = may_act(ports, any_deployment(access=SRE_ONLY), Action.REVIEW, "reviewer")
    assert not decision.done
    assert "App lacks members: read" in decision.reason


def test_a_forge_that_does_not_answer_grants_and_refuses_nothing(scenario):
    scenario.forge.failures.append(ForgeUnavailable("busy"))
    with pytest.raises(ForgeUnavailable):
        scenario.may("reviewer")


def test_of_several_things_those_that_somebody_may_not_are_told_and_each_fact_is_asked_for_once(scenario):
    scenario.forge.teams["acme/dba"] = {"reviewer"}
    accesses = {"root a": SRE_ONLY, "root b": Access(apply=("team:qa", "team:sre")), "root c": Access(apply=())}
    (told,) = access_refusals(scenario.ports, accesses, REPOSITORY, Action.APPLY, "reviewer")
    assert "root c" in told
    assert scenario.forge.people_asked == ["reviewer"]
    assert scenario.forge.teams_asked == [("acme/sre", "reviewer"), ("acme/qa", "reviewer")]


class TestRefusals:
    def test_one_sentence_names_all_that_is_refused_for_the_same_reason(self, scenario):
        accesses = {"stack dev": None, "root a": None, "stack prod": Access(apply=("user:ann",))}
        told = access_refusals(scenario.ports, accesses, REPOSITORY, Action.APPLY, "visitor")
        assert "visitor needs write access" in told[0]
        assert told[1].startswith("Only user:ann can deploy stack prod")
        many = {f"root {number}": None for number in range(12)}
        (one,) = access_refusals(scenario.ports, many, REPOSITORY, Action.APPLY, "visitor")
        assert one.endswith("root 8, root 9 and 2 more.")


class TestUnlock:
    def test_a_queue_is_unlocked_by_the_rule_of_what_locked_it(self, scenario):
        locking = scenario.put(any_deployment(access=SRE_ONLY))
        scenario.locked_by(locking)
        later = any_deployment(2, access=Access(unlock=("*",)))
        assert not may_act(scenario.ports, later, Action.UNLOCK, "maintainer").done
        assert may_act(scenario.ports, later, Action.UNLOCK, "reviewer").done

    def test_without_a_lock_the_rule_of_what_was_let_in_last_holds(self, scenario):
        last = scenario.put(any_deployment(access=SRE_ONLY))
        head, _ = scenario.queues.read(last.queue)
        scenario.queues.commit(head, replace(head, attempted=replace(any_deployed(), deployment=last.id)))
        assert not may_unlock(scenario.ports, last.queue, "maintainer").done

    def test_what_was_locked_by_hand_is_unlocked_by_who_may_in_each_of_its_stacks(self, scenario):
        dev, prod = any_deployment(1, stack="dev"), any_deployment(2, stack="prod", access=SRE_ONLY)
        for each in (dev, prod):
            scenario.deployments.add(each)
        head, _ = scenario.queues.read(dev.queue)
        last = {each.stack: any_deployed(deployment=each.id) for each in (dev, prod)}
        stacks = tuple(Standing(stack, attempted=one) for stack, one in last.items())
        scenario.queues.commit(head, replace(head, lock=any_lock(), attempted=last["dev"], by_stack=stacks))
        assert "stack prod" in may_unlock(scenario.ports, dev.queue, "maintainer").reason
        scenario.forge.writers.add("reviewer")
        assert may_unlock(scenario.ports, dev.queue, "reviewer").done

    @pytest.mark.parametrize("is_known", [True, False])
    def test_what_was_locked_by_nothing_that_is_known_is_unlocked_by_who_may_write(self, scenario, is_known):
        if not is_known:
            scenario.locked_by(any_deployment(access=SRE_ONLY))
        assert may_unlock(scenario.ports, any_queue(), "maintainer").done
        decision = may_unlock(scenario.ports, any_queue(), "visitor")
        told = f"visitor needs write access to {REPOSITORY} to unlock the queue of root network."
        assert (decision.done, decision.reason) == (False, told)


class TestMerges:
    def test_who_merges_without_being_granted_a_deploy_gets_a_review_by_others(self, scenario):
        merged = any_deployment(access=SRE_ONLY, review_rule=MANUAL)
        assert reviewed_unless_granted(scenario.ports, merged, "reviewer") == merged
        reviewed = reviewed_unless_granted(scenario.ports, merged, "maintainer")
        assert reviewed.settings.review_rule == replace(MANUAL, when=PlanReview.ALWAYS)

    @pytest.mark.parametrize(
        "fields",
        [{"access": None, "review_rule": MANUAL}, {"access": SRE_ONLY}],
        ids=["without access control", "with a review of every plan"],
    )
    def test_the_forge_is_not_asked_where_nothing_can_follow(self, scenario, fields):
        merged = any_deployment(**fields)
        assert reviewed_unless_granted(scenario.ports, merged, "stranger") == merged
        assert scenario.forge.people_asked == []
