"""``tidegate apply``: what it deploys, and the one reply that names everything that is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_lock, any_plan
from tests.unit.comments.apply_scenario import FREE, HERE, QUEUE, ApplyScenario
from tests.unit.comments.events_scenario import AT, BASE, HEAD, MAIN, NUMBER, REPOSITORY
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.policies.rules.policy import PolicySetStatus, PolicyVerdict, RuleChanges
from tidegate.ports import Change
from tidegate.pull_requests.rules.record import Applying
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.pull_request import PullRequestReview, ReviewVerdict

POLICIES = f"{FREE}policy_sets: {{words: {{paths: [policies], owners: ['user:reviewer']}}}}\n"
WORDS = PolicySetStatus("words", owners=("user:reviewer",))


@pytest.fixture
def scenario():
    return ApplyScenario()


def approve(scenario, by="reviewer"):
    scenario.forge.reviewed.setdefault(NUMBER, []).append(PullRequestReview(by, ReviewVerdict.APPROVED, HEAD, AT))


def test_what_a_merge_would_deploy_is_deployed_from_the_head_merged_with_the_base_branch(scenario):
    outcome = scenario.comment("tidegate apply")
    (deployment,) = scenario.enqueued
    assert outcome == "Enqueued: live/app."
    assert (deployment.root.name, deployment.revision.sha, deployment.request.base_sha) == ("live/app", HEAD, MAIN)
    assert not deployment.request.fork_sha
    assert (deployment.request.trigger, deployment.request.pull_request, deployment.request.forced) == (
        Trigger.MANUAL,
        NUMBER,
        False,
    )
    assert (deployment.request.by, deployment.commits.authors) == ("writer", ("author", "helper"))
    assert scenario.forge.reactions == [(70, "rocket")]
    assert scenario.forge.comments == []


def test_the_record_knows_what_was_asked_for_before_anybody_works_on_it(scenario):
    scenario.comment("tidegate apply")
    (deployment,) = scenario.enqueued
    assert scenario.record.applies == (Applying("live/app", "default", deployment.id),)
    assert scenario.record.rules == HERE


def test_asked_again_the_newest_deployment_of_each_root_counts(scenario):
    scenario.comment("tidegate apply")
    scenario.end(State.REJECTED)
    scenario.comment("tidegate apply -p live/app -p live/db")
    newest = {each.root: each.deployment for each in scenario.record.applies}
    assert len(scenario.enqueued) == 3
    assert set(newest) == {"live/app", "live/db"}
    assert newest["live/app"] == scenario.queues.waiting(QUEUE)[0].deployment


def test_the_same_comment_received_again_applies_nothing_twice(scenario):
    scenario.comment("tidegate apply", delivery="once")
    version = scenario.record.version
    scenario.deliveries.outcomes.clear()
    scenario.comment("tidegate apply", delivery="once")
    assert scenario.names == ["live/app"]
    assert scenario.record.version == version


def test_what_is_in_line_already_is_not_applied_once_more(scenario):
    scenario.comment("tidegate apply")
    scenario.comment("tidegate apply", by="reviewer")
    assert scenario.names == ["live/app"]
    assert f"`live/app` at `{HEAD[:7]}` is already queued (queued): `writer` requested it" in scenario.reply
    assert "/pull/5/checks" in scenario.reply


def test_what_is_kept_from_merges_is_applied_only_if_it_is_named(scenario):
    scenario.say(f"{FREE}when_modified: {{autoplan: false}}\n")
    scenario.comment("tidegate apply")
    assert scenario.names == []
    assert "changes no root" in scenario.reply
    scenario.comment("tidegate apply -p live/app")
    assert scenario.names == ["live/app"]


def test_where_changes_are_applied_on_merge_it_is_said_how_that_works(scenario):
    scenario.say("version: 1\n")
    outcome = scenario.comment("tidegate apply")
    assert outcome.startswith("Refused: ")
    assert "Each root is then planned again" in scenario.reply
    assert "`tidegate deploy`" in scenario.reply
    assert scenario.names == []


def test_nobody_is_told_to_deploy_a_fork_by_hand(scenario):
    scenario.file(MAIN, "version: 1\n")
    scenario.pull(from_fork=True)
    scenario.comment("tidegate apply")
    assert "Each root is then planned again" in scenario.reply
    assert "Tidegate runs no code of forks before the merge" in scenario.reply
    assert "deploy`" not in scenario.reply


def test_the_pull_requests_own_file_cannot_turn_it_on(scenario):
    scenario.file(MAIN, "version: 1\n")
    scenario.file(HEAD, FREE)
    scenario.comment("tidegate apply")
    assert "applied after the merge" in scenario.reply


def test_without_requirements_in_the_file_everything_that_is_usual_is_missing_in_one_reply(scenario):
    scenario.open()  # It is known who pushed the head.
    scenario.say("version: 1\napply: in_pull_request\n")
    scenario.pull(mergeable=False)
    scenario.forge.comparisons[MAIN, HEAD] = Comparison.DIVERGED
    scenario.comment("tidegate apply")
    for words in ("1 approval", "conflicts with `main`", f"it lacks `{MAIN[:7]}`", "`tidegate apply` again"):
        assert words in scenario.reply
    assert "--force" not in scenario.reply
    assert scenario.names == []
    approve(scenario)
    scenario.pull(mergeable=True)
    scenario.forge.comparisons.clear()
    scenario.comment("tidegate apply")
    assert scenario.names == ["live/app"]


def test_a_branch_that_lacks_commits_of_its_base_is_applied_where_that_is_allowed(scenario):
    scenario.say(FREE.replace("false}}", "false}, undiverged: {enabled: false}}"))
    scenario.forge.comparisons[MAIN, HEAD] = Comparison.DIVERGED
    scenario.forge.changes[MAIN, HEAD] = Change(BASE, Authors(("author",)), forks_once=True)
    scenario.comment("tidegate apply")
    (deployment,) = scenario.enqueued
    assert (deployment.request.base_sha, deployment.request.fork_sha) == (MAIN, BASE)


def test_requirements_by_root_count_for_the_roots_that_are_applied(scenario):
    scenario.open()  # It is known who pushed the head.
    scenario.say("version: 1\napply: in_pull_request\napply_requirements: {checks: [{tag_query: '', approved: {}}]}\n")
    scenario.comment("tidegate apply")
    assert "`live/app`: 1 approval" in scenario.reply
    scenario.forge.comments.clear()
    scenario.comment("tidegate apply -p live/ap")
    assert "Did you mean `live/app`?" in scenario.reply
    assert "approval" not in scenario.reply


def test_a_root_that_does_not_exist_and_what_is_missing_are_told_in_one_reply(scenario):
    scenario.open()  # It is known who pushed the head.
    scenario.say("version: 1\napply: in_pull_request\n")
    scenario.comment("tidegate apply -p live/ap")
    assert "1 approval" in scenario.reply
    assert "Did you mean `live/app`?" in scenario.reply


def test_who_may_not_write_and_what_is_closed_or_foreign_is_refused_before_anything_is_read(scenario):
    scenario.pull(is_open=False, from_fork=True)
    scenario.comment("tidegate apply -p live/ap", by="visitor")
    for words in ("`visitor` has no write permission", "is closed", "comes from a fork"):
        assert words in scenario.reply
    assert "live/app" not in scenario.reply


def test_what_is_merged_is_deployed_by_its_merge(scenario):
    scenario.pull(is_open=False, merged=True)
    scenario.comment("tidegate apply")
    assert "is merged already" in scenario.reply
    assert "Reopen" not in scenario.reply
    assert scenario.names == []


def test_access_control_says_who_may_apply(scenario):
    scenario.forge.readers.add("visitor")
    scenario.say(f"{FREE}access_control: {{policies: [{{tag_query: '', apply: ['user:visitor']}}]}}\n")
    scenario.comment("tidegate apply")
    assert "writer" in scenario.reply
    assert scenario.names == []
    scenario.comment("tidegate apply", by="visitor")
    assert scenario.names == ["live/app"]


def test_a_pull_request_to_a_branch_that_does_not_count_is_not_applied(scenario):
    scenario.pull(base_branch="other")
    scenario.comment("tidegate apply")
    assert "cannot deploy or unlock" in scenario.reply


def test_a_head_that_moved_since_the_comment_came_is_not_applied(scenario):
    scenario.stored("issue_comment", {}, "moved")
    scenario.deliveries.bind("moved", BASE)
    scenario.comment("tidegate apply", delivery="moved")
    assert f"`{HEAD[:7]}` is not deployed" in scenario.reply
    assert scenario.names == []


@pytest.mark.parametrize(
    ("lock", "words"),
    [
        (any_lock(pull_request=7), "locked by `maintainer`"),
        (any_lock(), "locked by `maintainer`"),
        (any_lock(by="tidegate", reason="The outcome of the last apply is unknown."), "is unknown"),
        (any_lock(pull_request=NUMBER), ""),
        (any_lock(pull_request=7, unlocking=Unlocking("reviewer", AT)), ""),
    ],
)
def test_what_another_has_applied_is_not_undone(scenario, lock, words):
    scenario.queues.commit(scenario.head(), replace(scenario.head(), lock=lock))
    scenario.comment("tidegate apply")
    assert scenario.names == ([] if words else ["live/app"])
    if words:
        assert words in scenario.reply.replace("\\", "")
        assert "The queue of `live/app` is locked" in scenario.reply
        assert "comment `tidegate unlock -p live/app` if that change may be undone." in scenario.reply


def test_what_policies_say_is_awaited(scenario):
    scenario.say(POLICIES)
    scenario.comment("tidegate apply")
    assert "not known yet" in scenario.reply
    assert scenario.names == []


def test_a_root_without_a_plan_of_all_of_it_is_planned_first(scenario):
    scenario.say(POLICIES)
    scenario.planned("live/app", options=("-target=a",), plan=any_plan())
    scenario.comment("tidegate apply")
    assert "`tidegate plan -p live/app` first" in scenario.reply


def test_a_plan_that_was_stopped_passes_no_policy_set(scenario):
    scenario.say(POLICIES)
    scenario.planned("live/app", policy_sets=(WORDS,), state=LayerState.CANCELLED)
    scenario.comment("tidegate apply -p live/app")
    assert "because it has no complete plan" in scenario.reply


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"verdicts": (PolicyVerdict("words"),), "plan": any_plan()}, ""),
        (
            {"verdicts": (PolicyVerdict("words", error="it is wrong"),), "plan": any_plan()},
            "Policy set `words` fails. Change the plan, or get 1 approving review by its owners, `user:reviewer`.",
        ),
        ({"plan": any_plan()}, "The result of policy set `words` is not known yet."),
        ({"state": LayerState.FAILED}, "Policy set `words` has no plan of `live/app` to evaluate."),
    ],
)
def test_policy_sets_hold_up_what_they_refuse_and_what_they_cannot_judge(scenario, fields, words):
    scenario.say(POLICIES)
    scenario.planned("live/app", policy_sets=(WORDS,), **fields)
    scenario.comment("tidegate apply")
    assert scenario.names == ([] if words else ["live/app"])
    if words:
        assert words in scenario.reply


def test_what_is_applied_is_planned_anew_and_that_plan_is_held_against_the_same_sets(scenario):
    scenario.comment("tidegate apply")
    assert scenario.end(State.REJECTED).policies.sets == ()
    scenario.say(POLICIES)
    passed = {"verdicts": (PolicyVerdict("words"),), "plan": any_plan()}
    scenario.planned("live/app", policy_sets=(WORDS,), **passed)
    scenario.planned("live/db", policy_sets=(), **passed)
    scenario.comment("tidegate apply -p live/app -p live/db")
    held = {each.root.name: each.policies.sets for each in scenario.enqueued if each.state is State.QUEUED}
    assert held == {"live/app": (WORDS,), "live/db": ()}


def test_what_policies_said_for_another_base_branch_does_not_count(scenario):
    scenario.say(POLICIES)
    scenario.planned("live/app", policy_sets=(WORDS,), verdicts=(PolicyVerdict("words"),), plan=any_plan())
    scenario.records.save(replace(scenario.record, spec=replace(scenario.record.spec, base="release")))
    scenario.comment("tidegate apply")
    assert "not known yet" in scenario.reply
    assert scenario.names == []


def test_an_owner_lets_a_refused_plan_pass_and_a_set_without_owners_names_who_may_change_it(scenario):
    scenario.say(POLICIES)
    scenario.forge.readers.add("reviewer")
    refused = PolicyVerdict("words", error="it is wrong")
    scenario.planned("live/app", policy_sets=(WORDS,), verdicts=(refused,), plan=any_plan())
    lone = replace(WORDS, name="lone", owners=())
    scenario.planned("live/db", policy_sets=(lone,), verdicts=(replace(refused, policy_set="lone"),), plan=any_plan())
    approve(scenario)
    scenario.comment("tidegate apply -p live/db")
    assert (
        "Policy set `lone` fails. Change the plan, or the policy set has no owners: ask its maintainers to change it."
        in scenario.reply
    )
    scenario.comment("tidegate apply")
    assert scenario.names == ["live/app"]


def test_a_plan_of_an_older_head_does_not_count(scenario):
    scenario.say(POLICIES)
    scenario.planned("live/app", policy_sets=(WORDS,), verdicts=(PolicyVerdict("words"),), plan=any_plan())
    record = scenario.record
    spec = replace(record.spec, head_sha=BASE)
    scenario.records.save(replace(record, spec=spec, discovered=spec.revision))
    scenario.comment("tidegate apply")
    assert "Wait for the check `tidegate/plan`" in scenario.reply


def test_a_pull_request_without_a_record_gets_one(scenario):
    scenario.comment("tidegate apply")
    begun = {scenario.record.execution: (f"{REPOSITORY}#{NUMBER}", scenario.record.spec.revision)}
    assert scenario.workflows.planned == begun
    scenario.comment("tidegate apply")
    assert scenario.workflows.planned == begun


def test_owners_approve_other_rules_before_anything_is_applied(scenario):
    scenario.say(POLICIES)
    scenario.planned("live/app", policy_sets=(WORDS,), verdicts=(PolicyVerdict("words"),), plan=any_plan())
    scenario.records.save(replace(scenario.record, rule_changes=RuleChanges(("workflows",), (WORDS,))))
    scenario.comment("tidegate apply")
    assert scenario.names == []
    assert "changes what runs or who may do what: get 1 approving review" in scenario.reply


def test_what_is_shown_with_the_merges_own_variables_is_not_applied_with_others(scenario):
    scenario.planned("live/app", plan=any_plan(), run=RunSettings(variables=(("STACK_VAR_SIZE", "large"),)))
    scenario.comment("tidegate apply")
    assert scenario.names == []
    assert "changes how `live/app` runs" in scenario.reply
