"""``tidegate apply``: what it deploys, and the one reply that names everything that is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_lock, any_plan
from tests.unit.usecases.apply_world import FREE, HERE, QUEUE, ApplyWorld
from tests.unit.usecases.events_world import AT, BASE, HEAD, MAIN, NUMBER, REPOSITORY
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
def world():
    return ApplyWorld()


def approve(world, by="reviewer"):
    world.forge.reviewed.setdefault(NUMBER, []).append(PullRequestReview(by, ReviewVerdict.APPROVED, HEAD, AT))


def test_what_a_merge_would_deploy_is_deployed_from_the_head_merged_with_the_base_branch(world):
    outcome = world.comment("tidegate apply")
    (deployment,) = world.enqueued
    assert outcome == "Enqueued: live/app."
    assert (deployment.root.name, deployment.revision.sha, deployment.request.base_sha) == ("live/app", HEAD, MAIN)
    assert not deployment.request.fork_sha
    assert (deployment.request.trigger, deployment.request.pull_request, deployment.request.forced) == (
        Trigger.MANUAL,
        NUMBER,
        False,
    )
    assert (deployment.request.by, deployment.commits.authors) == ("writer", ("author", "helper"))
    assert world.forge.reactions == [(70, "rocket")]
    assert world.forge.comments == []


def test_the_record_knows_what_was_asked_for_before_anybody_works_on_it(world):
    world.comment("tidegate apply")
    (deployment,) = world.enqueued
    assert world.record.applies == (Applying("live/app", "default", deployment.id),)
    assert world.record.rules == HERE


def test_asked_again_the_newest_deployment_of_each_root_counts(world):
    world.comment("tidegate apply")
    world.end(State.REJECTED)
    world.comment("tidegate apply -p live/app -p live/db")
    newest = {each.root: each.deployment for each in world.record.applies}
    assert len(world.enqueued) == 3
    assert set(newest) == {"live/app", "live/db"}
    assert newest["live/app"] == world.queues.waiting(QUEUE)[0].deployment


def test_the_same_comment_received_again_applies_nothing_twice(world):
    world.comment("tidegate apply", delivery="once")
    version = world.record.version
    world.deliveries.outcomes.clear()
    world.comment("tidegate apply", delivery="once")
    assert world.names == ["live/app"]
    assert world.record.version == version


def test_what_is_in_line_already_is_not_applied_once_more(world):
    world.comment("tidegate apply")
    world.comment("tidegate apply", by="reviewer")
    assert world.names == ["live/app"]
    assert f"`live/app` at `{HEAD[:7]}` is already queued (queued): `writer` requested it" in world.reply
    assert "/pull/5/checks" in world.reply


def test_what_is_kept_from_merges_is_applied_only_if_it_is_named(world):
    world.say(f"{FREE}when_modified: {{autoplan: false}}\n")
    world.comment("tidegate apply")
    assert world.names == []
    assert "changes no root" in world.reply
    world.comment("tidegate apply -p live/app")
    assert world.names == ["live/app"]


def test_where_changes_are_applied_on_merge_it_is_said_how_that_works(world):
    world.say("version: 1\n")
    outcome = world.comment("tidegate apply")
    assert outcome.startswith("Refused: ")
    assert "Each root is planned again then" in world.reply
    assert "`tidegate deploy`" in world.reply
    assert world.names == []


def test_nobody_is_told_to_deploy_a_fork_by_hand(world):
    world.file(MAIN, "version: 1\n")
    world.pull(from_fork=True)
    world.comment("tidegate apply")
    assert "Each root is planned again then" in world.reply
    assert "code of forks is not run before it is merged" in world.reply
    assert "deploy`" not in world.reply


def test_the_pull_requests_own_file_cannot_turn_it_on(world):
    world.file(MAIN, "version: 1\n")
    world.file(HEAD, FREE)
    world.comment("tidegate apply")
    assert "applied once they are merged" in world.reply


def test_without_requirements_in_the_file_everything_that_is_usual_is_missing_in_one_reply(world):
    world.open()  # It is known who pushed the head.
    world.say("version: 1\napply: in_pull_request\n")
    world.pull(mergeable=False)
    world.forge.comparisons[MAIN, HEAD] = Comparison.DIVERGED
    world.comment("tidegate apply")
    for words in ("1 approval", "conflicts with `main`", f"it lacks `{MAIN[:7]}`", "`tidegate apply` again"):
        assert words in world.reply
    assert "--force" not in world.reply
    assert world.names == []
    approve(world)
    world.pull(mergeable=True)
    world.forge.comparisons.clear()
    world.comment("tidegate apply")
    assert world.names == ["live/app"]


def test_a_branch_that_lacks_commits_of_its_base_is_applied_where_that_is_allowed(world):
    world.say(FREE.replace("false}}", "false}, undiverged: {enabled: false}}"))
    world.forge.comparisons[MAIN, HEAD] = Comparison.DIVERGED
    world.forge.changes[MAIN, HEAD] = Change(BASE, Authors(("author",)), forks_once=True)
    world.comment("tidegate apply")
    (deployment,) = world.enqueued
    assert (deployment.request.base_sha, deployment.request.fork_sha) == (MAIN, BASE)


def test_requirements_by_root_count_for_the_roots_that_are_applied(world):
    world.open()  # It is known who pushed the head.
    world.say("version: 1\napply: in_pull_request\napply_requirements: {checks: [{tag_query: '', approved: {}}]}\n")
    world.comment("tidegate apply")
    assert "`live/app`: 1 approval" in world.reply
    world.forge.comments.clear()
    world.comment("tidegate apply -p live/ap")
    assert "Did you mean `live/app`?" in world.reply
    assert "approval" not in world.reply


def test_a_root_that_does_not_exist_and_what_is_missing_are_told_in_one_reply(world):
    world.open()  # It is known who pushed the head.
    world.say("version: 1\napply: in_pull_request\n")
    world.comment("tidegate apply -p live/ap")
    assert "1 approval" in world.reply
    assert "Did you mean `live/app`?" in world.reply


def test_who_may_not_write_and_what_is_closed_or_foreign_is_refused_before_anything_is_read(world):
    world.pull(is_open=False, from_fork=True)
    world.comment("tidegate apply -p live/ap", by="visitor")
    for words in ("`visitor` has no write permission", "is closed", "comes from a fork"):
        assert words in world.reply
    assert "live/app" not in world.reply


def test_what_is_merged_is_deployed_by_its_merge(world):
    world.pull(is_open=False, merged=True)
    world.comment("tidegate apply")
    assert "is merged already" in world.reply
    assert "Reopen" not in world.reply
    assert world.names == []


def test_access_control_says_who_may_apply(world):
    world.forge.readers.add("visitor")
    world.say(f"{FREE}access_control: {{policies: [{{tag_query: '', apply: ['user:visitor']}}]}}\n")
    world.comment("tidegate apply")
    assert "writer" in world.reply
    assert world.names == []
    world.comment("tidegate apply", by="visitor")
    assert world.names == ["live/app"]


def test_a_pull_request_to_a_branch_that_does_not_count_is_not_applied(world):
    world.pull(base_branch="other")
    world.comment("tidegate apply")
    assert "neither deploy nor unlock" in world.reply


def test_a_head_that_moved_since_the_comment_came_is_not_applied(world):
    world.stored("issue_comment", {}, "moved")
    world.deliveries.bind("moved", BASE)
    world.comment("tidegate apply", delivery="moved")
    assert f"`{HEAD[:7]}` is not deployed" in world.reply
    assert world.names == []


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
def test_what_another_has_applied_is_not_undone(world, lock, words):
    world.queues.commit(world.head(), replace(world.head(), lock=lock))
    world.comment("tidegate apply")
    assert world.names == ([] if words else ["live/app"])
    if words:
        assert words in world.reply.replace("\\", "")
        assert "The queue of `live/app` is locked" in world.reply
        assert "comment `tidegate unlock -p live/app` if that change may be undone." in world.reply


def test_what_policies_say_is_awaited(world):
    world.say(POLICIES)
    world.comment("tidegate apply")
    assert "not known yet" in world.reply
    assert world.names == []


def test_a_root_without_a_plan_of_all_of_it_is_planned_first(world):
    world.say(POLICIES)
    world.planned("live/app", options=("-target=a",), plan=any_plan())
    world.comment("tidegate apply")
    assert "`tidegate plan -p live/app` first" in world.reply


def test_a_plan_that_was_stopped_passes_no_policy_set(world):
    world.say(POLICIES)
    world.planned("live/app", policy_sets=(WORDS,), state=LayerState.CANCELLED)
    world.comment("tidegate apply -p live/app")
    assert "because it has no complete plan" in world.reply


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
def test_policy_sets_hold_up_what_they_refuse_and_what_they_cannot_judge(world, fields, words):
    world.say(POLICIES)
    world.planned("live/app", policy_sets=(WORDS,), **fields)
    world.comment("tidegate apply")
    assert world.names == ([] if words else ["live/app"])
    if words:
        assert words in world.reply


def test_what_is_applied_is_planned_anew_and_that_plan_is_held_against_the_same_sets(world):
    world.comment("tidegate apply")
    assert world.end(State.REJECTED).policies.sets == ()
    world.say(POLICIES)
    passed = {"verdicts": (PolicyVerdict("words"),), "plan": any_plan()}
    world.planned("live/app", policy_sets=(WORDS,), **passed)
    world.planned("live/db", policy_sets=(), **passed)
    world.comment("tidegate apply -p live/app -p live/db")
    held = {each.root.name: each.policies.sets for each in world.enqueued if each.state is State.QUEUED}
    assert held == {"live/app": (WORDS,), "live/db": ()}


def test_what_policies_said_for_another_base_branch_does_not_count(world):
    world.say(POLICIES)
    world.planned("live/app", policy_sets=(WORDS,), verdicts=(PolicyVerdict("words"),), plan=any_plan())
    world.records.save(replace(world.record, spec=replace(world.record.spec, base="release")))
    world.comment("tidegate apply")
    assert "not known yet" in world.reply
    assert world.names == []


def test_an_owner_lets_a_refused_plan_pass_and_a_set_without_owners_names_who_may_change_it(world):
    world.say(POLICIES)
    world.forge.readers.add("reviewer")
    refused = PolicyVerdict("words", error="it is wrong")
    world.planned("live/app", policy_sets=(WORDS,), verdicts=(refused,), plan=any_plan())
    lone = replace(WORDS, name="lone", owners=())
    world.planned("live/db", policy_sets=(lone,), verdicts=(replace(refused, policy_set="lone"),), plan=any_plan())
    approve(world)
    world.comment("tidegate apply -p live/db")
    assert (
        "Policy set `lone` fails. Change the plan, or the policy set has no owners: ask its maintainers to change it."
        in world.reply
    )
    world.comment("tidegate apply")
    assert world.names == ["live/app"]


def test_a_plan_of_an_older_head_does_not_count(world):
    world.say(POLICIES)
    world.planned("live/app", policy_sets=(WORDS,), verdicts=(PolicyVerdict("words"),), plan=any_plan())
    record = world.record
    spec = replace(record.spec, head_sha=BASE)
    world.records.save(replace(record, spec=spec, discovered=spec.revision))
    world.comment("tidegate apply")
    assert "Wait for the check `tidegate/plan`" in world.reply


def test_a_pull_request_without_a_record_gets_one(world):
    world.comment("tidegate apply")
    begun = {world.record.execution: (f"{REPOSITORY}#{NUMBER}", world.record.spec.revision)}
    assert world.workflows.planned == begun
    world.comment("tidegate apply")
    assert world.workflows.planned == begun


def test_owners_approve_other_rules_before_anything_is_applied(world):
    world.say(POLICIES)
    world.planned("live/app", policy_sets=(WORDS,), verdicts=(PolicyVerdict("words"),), plan=any_plan())
    world.records.save(replace(world.record, rule_changes=RuleChanges(("workflows",), (WORDS,))))
    world.comment("tidegate apply")
    assert world.names == []
    assert "changes what runs or who may do what: get 1 approving review" in world.reply


def test_what_is_shown_with_the_merges_own_variables_is_not_applied_with_others(world):
    world.planned("live/app", plan=any_plan(), run=RunSettings(variables=(("STACK_VAR_SIZE", "large"),)))
    world.comment("tidegate apply")
    assert world.names == []
    assert "changes how `live/app` runs" in world.reply
