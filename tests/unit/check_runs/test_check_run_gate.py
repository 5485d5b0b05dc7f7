"""What check runs say of a change: which stack and layer, what they wait for at a gate, and how that ended."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from tests.builders import NOW, any_root, deployment_in
from tests.instants import utc
from tests.unit.check_runs.rendered import shown
from tidegate.changes.rules.waits import AwaitedEnvironment, Soak, Waits
from tidegate.deploys.rules.gate import Dependency
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate
from tidegate.deploys.texts.dependencies import NAMED, are_enough, waited_for
from tidegate.deploys.texts.presentation import Mark, PendingDependency, QueuePosition, View, WaitedFor
from tidegate.rules.access import Access
from tidegate.rules.errors import GateBlocked
from tidegate.vcs.rules.check_run import Button, Conclusion

LATER = utc("2026-03-02T10:00")
NEWER = Mark("network-0000002", "2" * 40, "https://forge.example/runs/2")
BEFORE_PLAN = {"plan": None, "stack": "dev"}


def holds(*named, **fields):
    return View(waited_for=WaitedFor(named, **fields))


def awaited(root="app", stack="dev", state=State.PLANNING, **fields):
    return PendingDependency(root, stack, state, **fields)


def dependencies(*states, stack="dev"):
    return [Dependency(f"root-{number}", stack, state, NOW) for number, state in enumerate(states)]


def test_the_name_holds_the_stack_only_where_the_root_is_in_several():
    assert shown(State.PLANNING, stack="dev").name == "tidegate/deploy: network"
    assert shown(State.PLANNING, stack="dev", shared=True).name == "tidegate/deploy: network (dev)"


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ({"stack": "dev"}, "| Stack | `dev` |"),
        ({"stack": "dev", "layer": 2, "layers": 3}, "| Stack | `dev`, layer 2 of 3 |"),
        ({"layer": 2, "layers": 3}, "| Layer | 2 of 3 |"),
        ({"stack": "default", "shared": True}, "| Stack | `default` |"),
        (
            {"why": "It depends on network.", "change_set": "change-1"},
            "| Part of the change | It depends on network\\. |",
        ),
    ],
)
def test_what_a_root_is_in_its_change_is_among_the_facts(fields, row):
    assert row in shown(State.PLANNING, **fields).summary


def test_of_a_root_on_its_own_no_stack_or_layer_is_named():
    summary = shown(State.PLANNING, why="This commit changes it.").summary
    assert not any(f"| {word} |" in summary for word in ("Stack", "Layer", "Part of the change"))


PRODUCTION = AwaitedEnvironment("acme/config", "shop/production")


@pytest.mark.parametrize(
    ("stacks", "view", "told"),
    [
        ((), View(), "Waiting for environment shop/production: "),
        (("staging",), View(), "Waiting for stack staging and environment shop/production: "),
        (("staging",), holds(awaited(stack="staging")), "Waiting for stack staging and environment shop/production: "),
        (("staging",), holds(done=1), "Waiting for environment shop/production: "),
    ],
)
def test_before_its_apply_a_deployment_names_the_environments_that_it_waits_for_and_why(stacks, view, told):
    waits = Waits(apply_after=stacks, environments=(PRODUCTION,))
    check_run = shown(State.GATED, view, waits=waits, reason="web is on its way there.")
    assert check_run.title.startswith(told)
    assert "web is on its way there" in check_run.summary


def test_before_its_plan_a_deployment_names_no_environment():
    check_run = shown(State.GATED, **BEFORE_PLAN, waits=Waits(plan_after=("staging",), environments=(PRODUCTION,)))
    assert check_run.title == "Waiting for stack staging"


def test_before_its_plan_a_deployment_names_the_roots_that_it_waits_for_and_its_layer():
    waits = Waits(roots=("app", "network"), apply_after=("staging",))
    check_run = shown(State.GATED, **BEFORE_PLAN, waits=waits, layer=2, layers=3)
    assert check_run.title == "Waiting for app and network (layer 2 of 3)"
    assert "**Waiting for `app` and `network`.**" in check_run.summary
    assert "planning starts automatically" in check_run.summary
    assert "nothing is planned or applied" in check_run.summary


def test_before_its_plan_a_deployment_names_the_stacks_that_it_waits_for_as_well():
    waits = Waits(roots=("app",), plan_after=("base", "core"))
    check_run = shown(State.GATED, **BEFORE_PLAN, waits=waits)
    assert check_run.title == "Waiting for app and stacks base and core"
    assert "**Waiting for `app` and stacks `base` and `core`.**" in check_run.summary


def test_before_its_apply_a_deployment_shows_its_plan_and_that_it_may_be_planned_again():
    check_run = shown(State.GATED, View(plan_text="  + resource\n"))
    assert check_run.title == "Waiting for stack dev: 2 to add, 1 to destroy"
    assert "destroys 1 resource" in check_run.summary
    assert "<details><summary>Plan</summary>" in check_run.text
    assert "this root is planned again first" in check_run.summary
    assert (check_run.status, check_run.actions) == ("in_progress", ())


def test_a_long_list_of_names_is_short_in_the_title():
    waits = Waits(roots=("a", "b", "c", "d" * 200))
    assert shown(State.GATED, **BEFORE_PLAN, waits=waits).title == "Waiting for a, b and 2 more"


def test_what_holds_a_gate_is_listed_with_what_it_does_since_when_and_a_link():
    view = holds(
        awaited("app", "dev", State.AWAITING_REVIEW, since=NOW, url="https://forge.example/runs/5"),
        awaited("web", "prod", State.QUEUED),
        more=23,
        done=4,
    )
    summary = shown(State.GATED, view).summary
    assert "* [`app`](https://forge.example/runs/5) in stack `dev`: **waits for its review**, since 2026-03" in summary
    assert "* `web`: is queued\n* and 23 more\n\n4 are already done" in summary


def test_what_was_not_looked_at_is_counted_as_that():
    assert "* and up to 5 more" in shown(State.GATED, holds(awaited(), more=5, at_most=True)).summary


@pytest.mark.parametrize("state", State)
def test_every_state_that_may_hold_a_gate_has_words(state):
    assert "* `app` in stack `dev`: " in shown(State.GATED, holds(awaited(state=state))).summary


def test_the_title_leaves_out_what_holds_the_gate_no_more():
    waits = Waits(roots=("app", "web"), plan_after=("base", "core"))
    view = holds(awaited("web", "dev"), awaited("vpc", "core"))
    assert shown(State.GATED, view, **BEFORE_PLAN, waits=waits).title == "Waiting for web and stack core"


def test_the_title_names_all_while_not_all_that_holds_the_gate_is_known():
    view = holds(awaited("web", "staging"), more=1)
    assert shown(State.GATED, view, waits=Waits(apply_after=("dev", "staging"))).title.startswith(
        "Waiting for stacks dev and staging: "
    )


def test_a_gate_that_nothing_holds_any_more_still_names_what_it_was_for():
    assert shown(State.GATED, holds(done=2)).title.startswith("Waiting for stack dev: ")


def test_a_deployment_that_waits_for_nothing_known_waits_for_others():
    check_run = shown(State.GATED, waits=Waits())
    assert check_run.title.startswith("Waiting for its dependencies: ")
    assert "**Waiting for its dependencies.**" in check_run.summary


def test_a_gated_deployment_tells_where_it_can_be_rejected_and_until_when_it_waits():
    summary = shown(State.GATED, View(page_url="https://web.example/d"), gate=Gate("job", NOW)).summary
    assert "**Reject** on [its page](https://web.example/d) ends this deployment" in summary
    assert "It waits until 2026-03-30 08:00 UTC at the latest" in summary
    assert "It waits for at most 28 days" in shown(State.GATED).summary


def test_a_blocked_deployment_says_what_failed_and_offers_to_retry_and_to_reject():
    view = holds(awaited("app", state=State.PLAN_FAILED, since=NOW), awaited("web", state=State.REJECTED), under_way=2)
    check_run = shown(State.BLOCKED, view)
    assert check_run.title == "Blocked: app and web were not deployed"
    assert check_run.conclusion is Conclusion.ACTION_REQUIRED
    assert [action.button for action in check_run.actions] == [Button.RETRY, Button.REJECT]
    assert "* `app` in stack `dev`: its plan failed on 2026-03-02 08:00 UTC\n" in check_run.summary
    assert "\n\n2 others are in progress." in check_run.summary


def test_what_a_pull_request_s_head_is_blocked_by_cannot_be_retried():
    check_run = shown(State.BLOCKED, holds(awaited("app", state=State.PLAN_FAILED)), pull_request=7)
    assert [action.button for action in check_run.actions] == [Button.REJECT]
    assert "What failed is not merged: comment `tidegate deploy` again, or merge it." in check_run.summary
    assert "Retry" not in check_run.summary


def test_one_that_waits_in_a_cycle_says_who_waits_for_whom_and_offers_to_reject():
    gate = Gate("job", NOW, cycle="why")
    view = holds(awaited("app", state=State.QUEUED))
    check_run = shown(State.BLOCKED, view, gate=gate, reason="None of these continues automatically.")
    assert check_run.title == "Blocked: deadlock with other deployments"
    assert check_run.summary.startswith("**Blocked.** None of these continues automatically")
    assert "* `app` in stack `dev`: is queued" in check_run.summary
    assert [action.button for action in check_run.actions] == [Button.REJECT]
    rejected = replace(gate, next=AfterGate.REJECTED, by="reviewer", at=LATER)
    assert shown(State.BLOCKED, view, gate=rejected).actions == ()


def test_the_title_of_a_blocked_deployment_names_the_cause_and_not_what_is_blocked_by_it_as_well():
    cause, other = awaited("app", state=State.PLAN_FAILED), awaited("web", state=State.BLOCKED)
    assert shown(State.BLOCKED, holds(other, cause)).title == "Blocked by app: its plan failed"
    assert shown(State.BLOCKED, holds(other)).title == "Blocked: web is blocked, too"
    stacks = awaited("app", "dev", state=State.REJECTED), awaited("app", "qa", state=State.REJECTED)
    assert shown(State.BLOCKED, holds(*stacks)).title == "Blocked: app was not deployed"


def test_what_is_on_the_way_and_what_is_done_are_one_sentence():
    view = holds(awaited("app", state=State.PLAN_FAILED), under_way=1, done=1, at_most=True)
    words = "Up to 1 other is in progress; 1 is already done: deployed, or without changes."
    assert words in shown(State.BLOCKED, view).summary


def test_a_blocked_deployment_falls_back_on_the_reason_that_was_recorded():
    check_run = shown(State.BLOCKED, reason="app (dev) failed to plan.")
    assert check_run.title == "Blocked: a dependency was not deployed"
    assert "app \\(dev\\) failed to plan" in check_run.summary


def test_a_blocked_deployment_says_who_may_retry_and_who_may_reject():
    access = Access(apply=("team:sre",), review=("*",))
    words = "Only `team:sre` can retry, anyone with write access to this repository can reject."
    assert words in shown(State.BLOCKED, access=access).summary


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED])
def test_a_rejection_at_a_gate_shows_at_once_and_takes_the_buttons_away(state):
    gate = Gate("job", NOW, AfterGate.REJECTED, "reviewer", LATER)
    check_run = shown(state, holds(awaited()), gate=gate)
    assert check_run.summary.startswith(
        "**Rejected by `reviewer` on 2026-03-02 10:00 UTC, while it waited for its dependencies"
    )
    assert check_run.actions == ()


def test_a_rejection_at_a_gate_names_who_rejected():
    gate = Gate("job", NOW, AfterGate.REJECTED, "reviewer", LATER)
    check_run = shown(State.REJECTED, gate=gate, review=None)
    assert "Rejected by `reviewer` on 2026-03-02 10:00 UTC" in check_run.summary
    assert "Nothing was applied" in check_run.summary
    assert "Nothing was planned or applied" in shown(State.REJECTED, gate=gate, review=None, plan=None).summary


def test_two_lists_are_never_read_as_one():
    tokens = MarkdownIt().parse(shown(State.BLOCKED, holds(awaited())).summary)
    assert [token.type for token in tokens].count("bullet_list_open") == 3  # What it destroys comes first.


def test_whoever_may_do_both_is_named_once():
    assert "Anyone with write access to this repository can click them." in shown(State.BLOCKED).summary


def test_while_it_is_planned_a_deployment_says_what_it_waits_for_then():
    waits = Waits(apply_after=("dev", "staging"))
    assert "appears here and waits for stacks `dev` and `staging`." in shown(State.PLANNING, waits=waits).summary


def test_a_blocked_deployment_whose_place_is_taken_says_so_at_once():
    check_run = shown(State.BLOCKED, gate=Gate("job", NOW, AfterGate.SUPERSEDED))
    assert "Superseded by a newer revision of" in check_run.summary
    assert check_run.actions == ()


def test_one_that_steps_aside_is_not_told_to_be_replaced_by_a_newer_revision():
    check_run = shown(State.BLOCKED, gate=Gate("job", NOW, AfterGate.SUPERSEDED, by="alice"))
    assert "and this deployment runs again after it" in check_run.summary
    assert "newer revision" not in check_run.summary


def test_one_that_steps_aside_is_shown_as_ended_though_it_is_not_blocked_any_more():
    check_run = shown(State.GATED, gate=Gate("job", NOW, AfterGate.SUPERSEDED, by="alice"))
    assert (check_run.status, check_run.conclusion) == ("completed", Conclusion.SKIPPED)
    assert "and this deployment runs again after it" in check_run.summary


def test_a_gate_that_is_open_changes_no_words():
    gate = Gate("job", NOW, AfterGate.APPLY)
    assert shown(State.GATED, gate=gate).summary.startswith("**Waiting for stack")


def test_both_say_that_one_takes_the_place_of_the_other():
    old = shown(State.SUPERSEDED, View(superseded_by=NEWER))
    assert "Superseded by [`2222222`](https://forge.example/runs/2)" in old.summary
    new = shown(State.QUEUED, View(supersedes=replace(NEWER, sha="1" * 40)))
    assert "supersedes [`1111111`](https://forge.example/runs/2), which waited for" in new.summary


def test_a_review_says_early_that_the_plan_holds_what_was_held_up_at_a_gate():
    summary = shown(State.AWAITING_REVIEW, View(supersedes=NEWER), look_twice=True).summary
    assert "Check carefully" not in shown(State.AWAITING_REVIEW, View(supersedes=NEWER)).summary
    words = "**Check carefully:** This supersedes [`2222222`](https://forge.example/runs/2), which waited for"
    assert summary.index(words) < summary.index("**Approve** applies exactly this plan")


def test_what_was_superseded_before_its_plan_says_so():
    assert (
        "Nothing was planned or applied. The newer revision includes these changes"
        in shown(State.SUPERSEDED, plan=None).summary
    )


def test_a_gate_that_expired_says_after_how_long_and_what_was_not_done():
    summary = shown(State.GATE_EXPIRED, plan=None).summary
    assert "were not deployed within 28 days**, so this deployment ended on 2026-03-02 08:00 UTC" in summary
    assert "Nothing was planned or applied" in summary
    assert "so this deployment ended. Nothing" in shown(State.GATE_EXPIRED, changed_at=None).summary


def test_a_gate_that_stays_shut_says_so_and_what_to_do():
    refusal = str(GateBlocked("deployment", 7))
    summary = shown(State.GATE_EXPIRED, error="GateBlocked", reason=refusal, missing=("1 approval.",)).summary
    assert "has already waited 7 times" in summary
    assert "request it again" in summary
    assert "28 days" not in summary


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (State.GATED, "[`2222222`](https://forge.example/runs/2) waits for its dependencies."),
        (State.BLOCKED, "is blocked by its dependencies: retry or reject it there."),
    ],
)
def test_who_waits_behind_a_gate_in_its_queue_says_so(gate, words):
    assert words in shown(State.QUEUED, View(place=QueuePosition(1, NOW, NEWER, gate=gate))).summary


def test_what_waits_for_people_comes_first_and_what_is_done_is_counted():
    looked_at = dependencies(State.PLANNING, State.APPLIED, State.NO_CHANGES, State.AWAITING_REVIEW, State.QUEUED)
    found = waited_for(deployment_in(State.GATED), looked_at, total=5)
    assert [each.root for each in found.named] == ["root-3", "root-0", "root-4"]
    assert (found.more, found.done, found.under_way, found.at_most) == (0, 2, 0, False)


def test_what_failed_is_named_and_what_is_on_the_way_is_counted():
    looked_at = dependencies(State.PLANNING, State.APPLIED, State.PLAN_FAILED, State.BLOCKED)
    found = waited_for(deployment_in(State.BLOCKED), looked_at, total=4)
    assert [(each.root, each.state) for each in found.named] == [
        ("root-3", State.BLOCKED),
        ("root-2", State.PLAN_FAILED),
    ]
    assert (found.more, found.done, found.under_way) == (0, 1, 1)


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED])
def test_of_very_many_the_first_are_named_and_all_others_are_counted(state):
    looked_at = dependencies(*[State.PLAN_FAILED if state is State.BLOCKED else State.QUEUED] * 33)
    found = waited_for(deployment_in(state), looked_at, total=33)
    assert (len(found.named), found.more, found.under_way) == (NAMED, 23, 0)


def test_what_was_not_looked_at_may_be_anything():
    waiting = waited_for(deployment_in(State.GATED), dependencies(*[State.QUEUED] * 100), total=300)
    assert (len(waiting.named), waiting.more, waiting.at_most) == (NAMED, 290, True)
    failed = waited_for(deployment_in(State.BLOCKED), dependencies(*[State.REJECTED] * 100), total=300)
    assert (failed.more, failed.under_way, failed.at_most) == (90, 200, True)


def test_nothing_holds_a_gate_that_is_open():
    found = waited_for(deployment_in(State.GATED), dependencies(State.APPLIED, State.NO_CHANGES), total=2)
    assert (found.named, found.more, found.done) == ((), 0, 2)


def test_what_fills_the_list_is_enough():
    ten, nine = dependencies(*[State.QUEUED] * NAMED), dependencies(*[State.QUEUED] * (NAMED - 1))
    assert are_enough(deployment_in(State.GATED), ten)
    assert not are_enough(deployment_in(State.GATED), nine)


def test_of_a_blocked_deployment_more_is_read_until_what_failed_is_found():
    blocked = deployment_in(State.BLOCKED, root=any_root(name="own"))
    assert not are_enough(blocked, dependencies(*[State.QUEUED] * 100))
    assert not are_enough(blocked, dependencies(*[State.QUEUED] * 100, State.REFUSED))
    assert are_enough(blocked, dependencies(*[State.QUEUED] * 100, *[State.REFUSED] * NAMED))


@pytest.mark.parametrize("contained", [True, False])
def test_what_a_newer_revision_brought_since_says_that_others_go_on(contained):
    fields = {"contained_by": "network-2"} if contained else {}
    summary = shown(State.PLAN_FAILED, View(), **fields).summary
    assert ("A newer revision that contains this one is deployed" in summary) is contained
    assert ("Correct the configuration and merge the fix" in summary) is not contained
    assert " \n" not in summary


def test_one_that_waits_for_others_of_its_stack_says_so_and_has_no_dependencies():
    gate = Gate("job", NOW, wave="Stack prod applies at most 5 at the same time.")
    check_run = shown(State.GATED, gate=gate)
    assert check_run.title.startswith("Waiting for others of stack prod: ")
    assert "applies at most 5" in check_run.summary
    assert "Dependencies" not in check_run.summary


def test_one_whose_stack_had_too_many_failures_offers_to_retry_and_to_reject():
    gate = Gate("job", NOW, wave="Stack prod does not continue.")
    check_run = shown(State.BLOCKED, gate=gate, reason=gate.wave)
    assert check_run.title == "Blocked: too many failures in stack prod"
    assert [action.button for action in check_run.actions] == [Button.RETRY, Button.REJECT]
    assert "does not continue" in check_run.summary
    head = shown(State.BLOCKED, gate=gate, pull_request=7)
    assert [action.button for action in head.actions] == [Button.REJECT]
    rejected = replace(gate, next=AfterGate.REJECTED, by="reviewer", at=LATER)
    assert shown(State.BLOCKED, gate=rejected).actions == ()


def test_a_soak_time_is_told_with_its_end():
    waits = Waits(apply_after=("dev",), soaks=(Soak("dev", 60),))
    reason = "Waiting for the soak time of stack dev. It ends on 2026-03-02 09:00 UTC."
    assert "ends on 2026" in shown(State.GATED, waits=waits, reason=reason).summary
