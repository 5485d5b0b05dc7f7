"""What check runs say: every state, within the forge's limits, whatever the engine printed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from tests.builders import NOW, any_lock, any_plan, any_review, deployment_in
from tests.instants import utc
from tests.unit.check_runs.rendered import shown
from tidegate.deploys.rules.freeze import Freeze, Hold, missing
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.deploys.rules.waiting import AfterGate, Approval, Gate, Override
from tidegate.deploys.texts.presentation import Mark, View
from tidegate.deploys.texts.text import render_continued, render_foreign
from tidegate.plans.rules.cost import PlanCost, ResourceCost, unknown_cost
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.rules.access import Access
from tidegate.vcs.rules.check_run import Button, Conclusion
from tidegate.vcs.rules.headline import Headline

PLAN = """\
Terraform will perform the following actions:

  # aws_sqs_queue.a will be created
  + resource "aws_sqs_queue" "a" {
      + arn = (known after apply)
    }

  # aws_sqs_queue.b will be updated in-place
  ~ resource "aws_sqs_queue" "b" {
      ~ delay_seconds = 0 -> 5
    }

  # aws_sqs_queue.c must be replaced
-/+ resource "aws_sqs_queue" "c" {

Plan: 2 to add, 1 to change, 1 to destroy.
"""

EXPECTED = {
    State.QUEUED: ("queued", None, "Planning starts automatically"),
    State.PLANNING: ("in_progress", None, "appears here for review"),
    State.AWAITING_REVIEW: ("completed", Conclusion.ACTION_REQUIRED, "Nothing is applied before you decide"),
    State.GATED: ("in_progress", None, "this deployment continues automatically"),
    State.BLOCKED: ("completed", Conclusion.ACTION_REQUIRED, "Once it is deployed"),
    State.APPROVED: ("in_progress", None, "Approved by `reviewer`"),
    State.AWAITING_REQUIREMENTS: ("completed", Conclusion.ACTION_REQUIRED, "An operator can override what is missing"),
    State.APPLYING: ("in_progress", None, "Do not run Terraform or OpenTofu"),
    State.APPLIED: ("completed", Conclusion.SUCCESS, "Approved by `reviewer`"),
    State.NO_CHANGES: ("completed", Conclusion.SUCCESS, "nothing was applied"),
    State.PLAN_FAILED: ("completed", Conclusion.FAILURE, "merge the fix"),
    State.APPLY_FAILED: ("completed", Conclusion.FAILURE, "Parts of the plan may have"),
    State.REJECTED: ("completed", Conclusion.CANCELLED, "Rejected by `reviewer`"),
    State.REVIEW_EXPIRED: ("completed", Conclusion.TIMED_OUT, "Nothing was applied"),
    State.GATE_EXPIRED: ("completed", Conclusion.TIMED_OUT, "Nothing was applied"),
    State.REFUSED: ("completed", Conclusion.FAILURE, "Nothing was planned or applied"),
    State.SUPERSEDED: ("completed", Conclusion.SKIPPED, "Nothing was"),
    State.CANCELLED: ("completed", Conclusion.CANCELLED, "Nothing was applied"),
    State.OUTCOME_UNKNOWN: ("completed", Conclusion.FAILURE, "The outcome of the apply is unknown"),
    State.ENGINE_FAULT: ("completed", Conclusion.FAILURE, "Nothing was applied"),
}


@pytest.mark.parametrize("state", State)
def test_every_state_says_where_it_is_and_what_follows(state):
    check_run = shown(state)
    status, conclusion, words = EXPECTED[state]
    assert (check_run.status, check_run.conclusion) == (status, conclusion)
    assert words in check_run.summary
    assert check_run.name == "tidegate/deploy: network"
    assert check_run.title


def test_a_review_offers_both_buttons_and_says_until_when():
    check_run = shown(State.AWAITING_REVIEW, review=any_review(asked_at=utc("2026-03-02T08:00")))
    assert [action.button for action in check_run.actions] == [Button.APPROVE, Button.REJECT]
    assert "2026-03-09 08:00 UTC" in check_run.summary
    assert "write access to this repository" in check_run.summary


@pytest.mark.parametrize(
    ("destroy", "words"),
    [
        (None, "on the pull request of this change, or `tidegate reject -p network`"),
        (Destruction(), "on the pull request of this change"),
        (Destruction("last", asked_on=6), "on #6, or `tidegate reject -p network`"),
        (Destruction("last"), "Or use `tidegate approve "),
    ],
)
def test_a_review_offers_the_words_that_decide_it(destroy, words):
    assert words in shown(State.AWAITING_REVIEW, destroy=destroy).summary


def test_a_review_says_what_must_be_looked_at():
    assert "**Check carefully:** It has diverged" in shown(State.AWAITING_REVIEW, must_review="It has diverged").summary


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.APPLYING, "This destroys 1 resource:"),
        (State.APPLIED, "This destroyed 1 resource:"),
        (State.APPLY_FAILED, "This was to destroy 1 resource:"),
        (State.OUTCOME_UNKNOWN, "This was to destroy 1 resource:"),
        (State.REJECTED, "This would have destroyed 1 resource:"),
        (State.CANCELLED, "This would have destroyed 1 resource:"),
        (State.SUPERSEDED, "This would have destroyed 1 resource:"),
    ],
)
def test_what_is_destroyed_is_told_as_far_as_it_came(state, words):
    changes = PlannedChanges(destroy=1, replace=1, destroyed=("a.gone",), replaced=("c.new",))
    summary = shown(state, plan=any_plan(changes=changes)).summary
    assert words in summary
    assert words.replace("destroy", "replace").replace("replaceed", "replaced") in summary


def test_nobody_is_told_to_unlock_what_is_not_locked():
    assert "Unlock" in shown(State.OUTCOME_UNKNOWN, View(locks=True)).summary
    assert "Unlock" in shown(State.OUTCOME_UNKNOWN, View(locking=True)).summary
    assert "Unlock" not in shown(State.OUTCOME_UNKNOWN).summary


def test_what_is_destroyed_and_replaced_comes_before_the_counts():
    changes = PlannedChanges(
        add=3, change=1, destroy=2, replace=1, outputs=2, moved=1, destroyed=("a.gone", "b.gone"), replaced=("c.new",)
    )
    check_run = shown(State.AWAITING_REVIEW, plan=any_plan(changes=changes))
    order = ["destroys 2 resources", "* `a.gone`", "* `b.gone`", "replaces 1 resource:", "* `c.new`", "3 to add"]
    places = [check_run.summary.index(words) for words in order]
    assert places == sorted(places)
    assert "2 outputs to change" in check_run.summary
    assert "1 to move, import or forget" in check_run.summary
    assert "Review the plan" in check_run.title


def test_a_review_states_the_cost_in_its_title_and_by_resource():
    cost = PlanCost("USD", 34510, -310, (ResourceCost("aws_db_instance.main", -310),))
    check_run = shown(State.AWAITING_REVIEW, plan=any_plan(changes=PlannedChanges(change=1), cost=cost))
    assert check_run.title == "Review the plan: 1 to change; -3.10 USD a month"
    assert "**Cost**: -3.10 USD a month, 345.10 USD in all" in check_run.summary
    assert "| `aws_db_instance.main` | -3.10 USD |" in check_run.summary


def test_a_cost_that_is_not_known_says_why():
    plan = any_plan(cost=unknown_cost("no step has written the file"))
    assert "**Cost not known**: no step has written the file." in shown(State.AWAITING_REVIEW, plan=plan).summary


def test_addresses_that_were_not_kept_are_counted():
    plan = any_plan(changes=PlannedChanges(destroy=80, destroyed=tuple(f"a.b[{n}]" for n in range(50))))
    assert "and 30 more: see the plan" in shown(State.AWAITING_REVIEW, plan=plan).summary


def test_actions_and_deferred_changes_are_counted():
    changes = PlannedChanges(actions=2, deferred=1)
    check_run = shown(State.AWAITING_REVIEW, plan=any_plan(changes=changes))
    assert check_run.title == "Review the plan: 2 actions to invoke, 1 deferred"
    assert "2 actions to invoke" in check_run.summary


@pytest.mark.parametrize(
    ("granted", "words"),
    [
        (("*",), "Anyone with write access to this repository can decide: one Approve or one Reject is enough."),
        (
            ("*", "role:triage"),
            ("Anyone with write access to this repository, and `role:triage`, can decide: one Approve"),
        ),
        (("team:sre", "user:ann"), "Only `team:sre` and `user:ann` can decide: one Approve or one Reject is enough."),
        ((), "`access_control` allows nobody to decide: one Approve or one Reject is enough."),
    ],
)
def test_a_review_says_who_may_decide(granted, words):
    assert words in shown(State.AWAITING_REVIEW, access=Access(review=granted)).summary


def test_a_review_by_several_says_how_many_approved_and_who():
    review = any_review(approvals=(Approval("first", NOW), Approval("second", NOW)))
    check_run = shown(State.AWAITING_REVIEW, review=review, review_rule=ReviewRule(approvals=3))
    assert check_run.title.startswith("Review the plan (2 of 3 approvals): ")
    assert "It has **2 of 3" in check_run.summary


def test_a_review_names_who_may_not_approve():
    rule = ReviewRule(exclude_authors=True)
    check_run = shown(State.AWAITING_REVIEW, review_rule=rule, authors=("author", "maintainer"))
    assert "`maintainer` and `author` authored or requested" in check_run.summary


def test_a_review_says_that_one_person_more_is_needed_while_not_all_authors_are_known():
    rule = ReviewRule(exclude_authors=True)
    check_run = shown(State.AWAITING_REVIEW, review_rule=rule, authors_known=False)
    assert check_run.title.startswith("Review the plan (0 of 2 approvals): ")
    assert "so one more person than usual" in check_run.summary


def test_a_change_with_very_many_authors_is_not_a_list_of_names():
    authors = tuple(f"author-{number}" for number in range(500))
    rule = ReviewRule(exclude_authors=True)
    summary = shown(State.AWAITING_REVIEW, review_rule=rule, authors=authors).summary
    assert "and 481 more authored or requested this change" in summary


def test_everybody_who_approved_is_named():
    approvals = (Approval("first", NOW), Approval("second", NOW), Approval("third", NOW))
    review = any_review(approved=True, by="third", at=NOW, approvals=approvals)
    words = "Approved by `first`, `second` and `third` on 2026-03-02 08:00 UTC."
    assert words in shown(State.APPROVED, review=review).summary


@pytest.mark.parametrize(
    ("error", "words"),
    [("States.Timeout", "timed out"), ("States.HeartbeatTimeout", "lost its heartbeat")],
)
@pytest.mark.parametrize("state", [State.PLAN_FAILED, State.ENGINE_FAULT, State.OUTCOME_UNKNOWN])
def test_what_nobody_answered_for_in_time_timed_out(state, error, words):
    check_run = shown(state, error=error)
    assert words in check_run.title
    assert check_run.conclusion is Conclusion.TIMED_OUT


def test_an_unknown_outcome_tells_of_last_lines_only_if_there_are_any():
    assert "last lines" not in shown(State.OUTCOME_UNKNOWN).summary
    assert "the engine's last lines in the text below" in shown(State.OUTCOME_UNKNOWN, last_lines="Error").summary


def test_a_review_that_timed_out_is_told_from_a_rejection():
    expired, rejected = shown(State.REVIEW_EXPIRED, review=any_review()), shown(State.REJECTED)
    assert expired.title == "The review timed out"
    assert "requested on 2026-03-02 08:00 UTC, timed out on 2026-03-02 08:00 UTC" in expired.summary
    assert rejected.title == "Rejected"
    assert "Rejected by `reviewer` on 2026-03-02 08:00 UTC." in rejected.summary


def test_a_re_run_says_which_deployment_it_repeats_and_that_one_points_to_it():
    first, second = Mark("network-1", url="https://f.example/1"), Mark("network-2", url="https://f.example/2")
    assert (
        "This is a re-run of [`network-1`](https://f.example/1)." in shown(State.PLANNING, View(repeats=first)).summary
    )
    old = shown(State.PLAN_FAILED, View(repeated_by=second)).summary
    assert "**Re-run:** [`network-2`](https://f.example/2) is a newer" in old


def test_while_a_deployment_runs_that_locked_the_queue_it_says_so_and_its_review_can_unlock():
    view = View(locks=True, lock=any_lock(reason="Deployed by hand."))
    running, reviewed = shown(State.APPLYING, view), shown(State.AWAITING_REVIEW, view)
    assert "**This deployment locked the queue of this root:** Deployed by hand" in running.summary
    assert running.actions == ()
    assert [action.button for action in reviewed.actions] == [Button.APPROVE, Button.REJECT, Button.UNLOCK]


def test_a_forced_deployment_of_a_pull_request_says_so():
    summary = shown(State.PLANNING, trigger=Trigger.MANUAL, pull_request=12, forced=True).summary
    assert "`main`, #12" in summary
    assert "**Forced**" in summary


def test_a_check_run_began_when_what_it_shows_began():
    planned = (Step(State.PLANNING, utc("2026-03-02T08:05")),)
    assert shown(State.QUEUED).started_at is None
    assert shown(State.PLAN_FAILED, history=planned).started_at == utc("2026-03-02T08:05")
    assert shown(State.APPLIED, history=planned).started_at == NOW
    assert shown(State.REFUSED).started_at == deployment_in(State.REFUSED).request.at


def test_the_facts_are_a_table_without_an_empty_header():
    tokens = MarkdownIt().enable("table").parse(shown(State.PLANNING).summary)
    header = tokens[[token.type for token in tokens].index("th_open") + 1]
    assert header.content == "Root"
    assert "| | |" not in shown(State.PLANNING).summary


@pytest.mark.parametrize(
    ("state", "lines", "is_folded"),
    [
        (State.AWAITING_REVIEW, 60, False),
        (State.AWAITING_REVIEW, 61, True),
        (State.GATED, 1, True),
        (State.APPLIED, 1, True),
    ],
)
def test_a_plan_is_folded_unless_it_is_to_be_decided_about_and_short(state, lines, is_folded):
    text = shown(state, View(plan_text="  + line\n" * lines)).text
    assert ("<details><summary>Plan</summary>" in text) is is_folded


def test_the_plan_is_coloured_as_a_diff():
    check_run = shown(State.AWAITING_REVIEW, View(plan_text=PLAN, plan_size=len(PLAN), bucket="artifacts"))
    (fence,) = [token for token in MarkdownIt().parse(check_run.text) if token.type == "fence"]
    lines = fence.content.splitlines()
    assert fence.info == "diff"
    assert '+   resource "aws_sqs_queue" "a" {' in lines
    assert "!       delay_seconds = 0 -> 5" in lines
    assert '-/+ resource "aws_sqs_queue" "c" {' in lines
    assert "`s3://artifacts/plans/network-plan-1/plan.txt`" in check_run.text


@pytest.mark.parametrize("state", [State.PLAN_FAILED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN])
def test_a_failure_shows_the_engines_last_lines_before_the_plan(state):
    check_run = shown(state, View(plan_text=PLAN), last_lines="\x1b[31mError:\x1b[0m no such thing\n", plan=any_plan())
    assert check_run.text.index("Error: no such thing") < check_run.text.index("<details>")


def test_an_unknown_outcome_says_step_by_step_what_to_do_and_unlocks():
    check_run = shown(State.OUTCOME_UNKNOWN, View(locks=True, bucket="artifacts", lock=any_lock()))
    assert check_run.conclusion is Conclusion.ACTION_REQUIRED
    assert [action.button for action in check_run.actions] == [Button.UNLOCK]
    assert all(f"\n{number}. " in f"\n{check_run.summary}" for number in range(1, 6))
    assert "s3://artifacts/errored/" in check_run.summary


def test_an_unlocked_unknown_outcome_has_no_button():
    check_run = shown(State.OUTCOME_UNKNOWN, View(locks=False))
    assert check_run.actions == ()
    assert "This deployment no longer locks the queue" in check_run.summary


@pytest.mark.parametrize("state", [State.OUTCOME_UNKNOWN, State.APPLIED])
def test_who_unlocked_the_queue_is_shown_where_it_was_locked(state):
    unlocked = Unlocking("reviewer", utc("2026-03-02T10:00"))
    check_run = shown(state, View(locks=False), unlocked=unlocked)
    assert "**Unlocked** by `reviewer` on 2026-03-02 10:00 UTC." in check_run.summary


def test_a_manual_deployment_that_locks_can_be_unlocked_where_it_ended():
    check_run = shown(State.APPLIED, View(locks=True, lock=any_lock(reason="Merges wait.")))
    assert check_run.conclusion is Conclusion.SUCCESS
    assert [action.button for action in check_run.actions] == [Button.UNLOCK]
    assert "Merges wait" in check_run.summary


def test_an_apply_after_which_a_step_failed_says_so():
    lines = "Apply complete!\ntidegate: THE APPLY SUCCEEDED, BUT A STEP AFTER IT DID NOT: [tell] ended with code 3."
    check_run = shown(State.APPLIED, last_lines=lines)
    assert check_run.title == "Applied: 2 to add, 1 to destroy; a step after it failed"
    assert check_run.conclusion is Conclusion.SUCCESS
    assert "a step after it failed:** \\[tell\\] ended with code 3" in check_run.summary
    assert "a step after it" not in shown(State.APPLIED, last_lines="Apply complete!").title


def test_an_apply_without_review_says_so():
    assert "No review was needed" in shown(State.APPLIED, review=None).summary


def test_a_late_decision_is_told_from_none():
    assert "came too late" in shown(State.REVIEW_EXPIRED, reason="The decision came too late.").summary


def test_a_review_without_a_known_start_still_names_its_length():
    assert "after 7 days" in shown(State.AWAITING_REVIEW, review=None).summary


def test_a_plan_that_is_not_known_is_not_counted():
    assert shown(State.APPROVED, plan=None).title == "Approved: no plan"


def test_a_press_without_effect_is_answered_first():
    check_run = shown(State.AWAITING_REVIEW, View(notice="<b>mallory</b> may not write."))
    assert check_run.summary.startswith("> **Your click had no effect")
    assert "<b>" not in check_run.summary


def test_links_are_shown_when_they_are_known():
    view = View(execution_url="https://x.example/e", log_url="https://x.example/l", page_url="https://x.example/p")
    check_run = shown(State.APPLYING, view)
    assert (check_run.details_url, check_run.page_url) == ("https://x.example/l", "https://x.example/p")
    links = "[Log](https://x.example/l) · [Deployment](https://x.example/p) · [Execution](https://x.example/e)"
    assert links in check_run.summary
    assert shown(State.APPLYING, View(execution_url="https://x.example/e")).details_url == "https://x.example/e"


def test_an_old_check_run_points_to_the_newer_one():
    check_run = render_continued(deployment_in(State.APPLYING), "https://forge.example/runs/2")
    assert (check_run.status, check_run.conclusion) == ("completed", Conclusion.NEUTRAL)
    assert "https://forge.example/runs/2" in check_run.summary
    assert "Approved by `reviewer` on 2026-03-02 08:00 UTC." in check_run.summary
    assert check_run.actions == ()


def test_a_press_on_an_old_check_run_is_answered_there():
    check_run = render_continued(deployment_in(State.QUEUED), "https://forge.example/runs/2", "It is outdated.")
    assert check_run.summary.startswith("> **Your click had no effect.** It is outdated")


def test_an_unknown_check_run_is_told_what_is_wrong():
    check_run = render_foreign("tidegate/deploy: x", "a" * 40, "x", "This is @not ours.")
    assert "@not" not in check_run.summary
    assert check_run.conclusion is Conclusion.NEUTRAL


def test_what_waits_for_its_requirements_lists_what_is_missing_and_who_approved_here():
    summary = shown(State.AWAITING_REQUIREMENTS, approved_here=(Approval("ann", NOW),)).summary
    assert "* 1 approval is required." in summary
    assert "Approved here by `ann`" in summary
    without = shown(State.AWAITING_REQUIREMENTS, requires=(), gate=None)
    assert [action.button.value for action in without.actions] == ["Reject"]


def shown_missing(found):
    return shown(State.AWAITING_REQUIREMENTS, missing=found.sentences, frozen=found.frozen)


def test_what_waits_for_the_end_of_a_freeze_alone_says_until_when_and_asks_nobody():
    windows = [
        Freeze(reason="quarter *end*", begins=NOW, ends=utc("2026-03-02T16:50")),
        Freeze(begins=NOW, ends=utc("2026-03-02T09:00")),
    ]
    holds = [Hold(each, each.ends) for each in windows]
    check_run = shown_missing(missing(holds, ()))
    assert check_run.title == "Frozen until 2026-03-02 16:50 UTC: quarter *end*"
    assert "continues automatically" in check_run.summary
    assert [each.button.value for each in check_run.actions] == ["Reject"]
    besides = shown_missing(missing(holds, ["1 approval is required."]))
    assert besides.title.startswith("Waiting for apply requirements")
    assert [each.button.value for each in besides.actions] == ["Approve", "Reject"]


def test_what_policies_refuse_is_shown_where_people_decide_and_owners_approve_it_here():
    refused = {"policy_sets": (PolicySetStatus("words", owners=("user:ann",)),), "requires": ()}
    finding = PolicyFinding(Severity.DENY, "main.deny", "It is public.", "aws_s3_bucket.all")
    denied = {**refused, "verdicts": (PolicyVerdict("words", (finding,)),)}
    for state in (State.AWAITING_REVIEW, State.AWAITING_REQUIREMENTS):
        assert "**Denied** (`words`) `aws_s3_bucket.all`" in shown(state, **denied).summary
    assert [each.button.value for each in shown(State.AWAITING_REQUIREMENTS, **denied).actions] == ["Approve", "Reject"]
    assert [each.button.value for each in shown(State.AWAITING_REQUIREMENTS, **refused).actions] == ["Reject"]


def test_what_was_decided_about_requirements_is_shown_while_it_comes_about():
    gate, override = Gate("requirements", NOW, next=AfterGate.APPLY), Override("operator", NOW, "an outage")
    assert "All apply requirements are met" in shown(State.AWAITING_REQUIREMENTS, gate=gate).summary
    assert "`operator` overrode" in shown(State.AWAITING_REQUIREMENTS, gate=gate, override=override).summary
    rejected = shown(State.AWAITING_REQUIREMENTS, gate=replace(gate, next=AfterGate.REJECTED, by="eve", at=NOW))
    assert (rejected.title, rejected.actions) == ("Rejected", ())
    assert "`operator` overrode the apply requirements" in shown(State.APPLIED, override=override).summary


def test_a_check_run_begins_with_what_the_change_is():
    told = Headline("Merge branch 'grow'", "developer", "https://avatars.example/1", 7, "Grow *all* @everybody")
    summary = shown(State.PLANNING, headline=told).summary
    assert summary.startswith("**Grow \\*all\\* @\u200beverybody** (#7) by `developer` on `main`")
    assert shown(State.PLANNING, headline=Headline("Grow it")).summary.startswith("**Grow it** on `main`")


def test_a_manual_deployment_says_before_it_starts_that_it_locks_its_queue():
    told = "It locks the queue of this root"
    assert told in shown(State.QUEUED, trigger=Trigger.MANUAL).summary
    assert told not in shown(State.QUEUED, trigger=Trigger.MANUAL, resumes=True).summary
    assert told not in shown(State.QUEUED).summary


def test_reasons_are_told_with_who_gave_them_and_are_no_markup():
    approvals = (Approval("first", NOW, "see @ops <b>"), Approval("second", NOW))
    approved = shown(State.APPROVED, review=any_review(approved=True, by="second", at=NOW, approvals=approvals))
    assert "`first`: see @\u200bops &lt;b&gt;." in approved.summary
    assert "`second`:" not in approved.summary
    review = any_review(approved=False, by="reviewer", at=NOW, reason="Too early!")
    assert "`reviewer`: Too early\\!" in shown(State.REJECTED, review=review).summary


def test_what_a_protected_stack_would_lose_is_approved_where_people_can_be_asked_about_it():
    check_run = shown(State.AWAITING_REVIEW, review_rule=ReviewRule(protected=True), stack="prod")
    assert [action.button.value for action in check_run.actions] == ["Reject"]
    assert "**Stack `prod` is protected, and this plan destroys 1 resource.**" in check_run.summary
