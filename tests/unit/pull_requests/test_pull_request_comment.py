"""The comment of a pull request: what it says, in which order, and that it always fits and stays what it is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.builders import any_layer, any_plan
from tests.pull_request_layers import PLAN, comment_of, failed, planned, unchanged
from tests.unit.comments.comment_text import in_state, is_whole
from tidegate.changes.rules.waits import Waits
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.rules.approval import SetState, Standing
from tidegate.deploys.rules.freeze import Freeze
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.speculative_plan import Checkout, LayerState
from tidegate.plans.rules.cost import PlanCost, ResourceCost, unknown_cost
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.policies.rules.requirements import Requirements
from tidegate.pull_requests.rules.apply import ApplyView
from tidegate.pull_requests.rules.apply_progress import ApplyProgress
from tidegate.pull_requests.rules.blocks import LayerView
from tidegate.pull_requests.rules.comment import (
    MAXIMUM_COMMENT,
    render_comment,
    render_nothing,
    render_notice,
    stack_of,
)
from tidegate.pull_requests.rules.tally import by_importance
from tidegate.rules.access import Access
from tidegate.vcs.rules.approvals import Disregarded

LONG = "Reading\n" * 200
DESTROYING = PlannedChanges(add=2, destroy=1, replace=1, destroyed=("aws_sqs_queue.old",), replaced=("aws_db.main",))


def test_one_line_of_counts_comes_first():
    text = render_comment(comment_of(planned("a", changes=DESTROYING), planned("b"), unchanged("c"), failed("d")))
    assert (
        text.split("\n")[3]
        == "**4 roots**: 1 failed, 2 with changes (2 to add, 1 to change, 1 to destroy, 1 to replace), 1 unchanged."
    )


def test_costs_stand_beside_the_counts_with_their_sum_and_each_resource():
    cost = PlanCost("USD", 34510, 1230, (ResourceCost('aws_instance.web["a|b"]', 1230),), more=4, unsupported=1)
    layers = [planned("a"), planned("b", cost=cost), planned("c", cost=unknown_cost("the file is *not* JSON"))]
    text = render_comment(comment_of(*layers))
    assert "3 with changes (3 to change; +12.30 USD a month, cost of 1 not known)" in text
    assert "<code>b</code>: 1 to change; +12.30 USD a month</summary>" in text
    assert "**Cost**: +12.30 USD a month, 345.10 USD in all" in text
    assert r"""| `aws_instance.web["a\|b"]` | +12.30 USD |""" in text
    assert "| and 4 more | |" in text
    assert "1 resource without a known price" in text
    assert r"**Cost not known**: the file is \*not\* JSON" in text


def test_failures_come_first_then_what_destroys_then_the_plans():
    text = render_comment(comment_of(planned("b"), planned("a", changes=DESTROYING), failed("z")))
    places = [
        text.index(each) for each in ("`z` failed", "This destroys 1 resource", "<code>a</code>", "<code>b</code>")
    ]
    assert places == sorted(places)


def test_what_needs_people_most_comes_first_and_what_would_not_change_last():
    views = [
        unchanged("a"),
        planned("b"),
        planned("c", changes=PlannedChanges(replace=1)),
        planned("d", changes=PlannedChanges(destroy=1)),
        LayerView(any_layer("e", state=LayerState.CANCELLED, plan=any_plan(changes=DESTROYING))),
        LayerView(any_layer("f", state=LayerState.PLANNED)),
        LayerView(any_layer("g", state=LayerState.REFUSED)),
        failed("h"),
    ]
    order = [each.root.name for each in by_importance(each.layer for each in views)]
    assert order == ["h", "g", "e", "f", "d", "c", "b", "a"]


def test_plans_of_one_kind_stand_in_the_order_in_which_they_are_deployed():
    later = {"stack": "prod", "waits": Waits(apply_after=("staging",))}
    views = [
        planned("a/app", tier=2, tiers=2, **later),
        planned("a/extra", is_extra=True, **later),
        planned("b/network", tiers=2, **later),
        planned("z", stack="staging"),
    ]
    text = render_comment(comment_of(*views, stack="prod"))
    places = [text.index(f"<code>{each}</code>: 1") for each in ("b/network", "a/app", "a/extra")]
    assert places == sorted(places)
    order = [each.root.name for each in by_importance(each.layer for each in views)]
    assert order == ["z", "b/network", "a/app", "a/extra"]


def test_a_failure_shows_its_reason_its_last_lines_and_its_log():
    text = render_comment(comment_of(failed("db", "The plan timed out", "Error: too slow\n")))
    assert "**`db` failed**: The plan timed out [Log](https://tidegate.example/jobs/db)" in text
    assert "```\nError: too slow\n```" in text
    assert "Fix what failed and push. If" in text


def test_a_failure_behind_another_stack_may_end_with_that_stack():
    waiting = any_layer("shop", state=LayerState.FAILED, stack="prod", waits=Waits(plan_after=("dev",)))
    text = render_comment(comment_of(LayerView(waiting), stack="prod"))
    assert "Fix what failed and push, unless" in text
    assert "If you merge this now" not in text


@pytest.mark.parametrize(("failures", "opened"), [(3, 3), (4, 0)])
def test_the_last_lines_of_few_failures_are_open(failures, opened):
    text = render_comment(comment_of(*(failed(f"r{number}") for number in range(failures))))
    assert text.count("<details open>") == opened
    assert text.count("Error: no such resource") == failures


def test_last_lines_that_look_like_fences_are_cut_to_fit():
    text = render_comment(comment_of(failed(last_lines="```\n" * 5000)))
    is_whole(text)
    assert "bytes omitted …" in text


def test_several_reasons_are_a_list_that_says_what_is_missing():
    text = render_comment(comment_of(failed("db", "\n".join(f"reason {number}" for number in range(12)), "")))
    assert "* reason 9\n* and 2 more: see the log" in text


def test_a_plan_is_folded_and_coloured_as_a_diff():
    text = render_comment(comment_of(planned("a"), planned("b")))
    assert "<details><summary><code>a</code>: 1 to change</summary>" in text
    assert '!   resource "aws_sqs_queue" "jobs" {' in text


def test_a_short_plan_that_is_the_only_one_is_open():
    assert "<details open><summary><code>network</code>" in render_comment(comment_of(planned()))
    assert "<details open>" not in render_comment(comment_of(planned(plan=PLAN * 20)))
    assert "<details open>" not in render_comment(comment_of(planned(plan=f"{PLAN}{'long' * 2_000}\n")))


def test_unchanged_roots_are_one_line():
    text = render_comment(comment_of(*(unchanged(name) for name in "abc")))
    assert "Unchanged: `a`, `b`, `c`." in text
    assert "### Plans" not in text
    assert "Nothing would change" in text


def test_very_many_unchanged_roots_are_counted():
    text = render_comment(comment_of(*(unchanged(f"root-{number:04}") for number in range(2000))))
    named, more = re.search(r"Unchanged: (.*), (\d+) more\.", text).groups()
    assert len(named.split(", ")) + int(more) == 2000


def test_a_long_plan_is_cut_and_says_how_much_is_missing():
    long = planned(plan=PLAN * 400)
    shown = LayerView(long.layer, PLAN * 400, 5_000_000, long.log_url)
    text = render_comment(comment_of(shown, planned("short")))
    assert re.search(r"… 4,\d\d\d,\d\d\d bytes omitted …", text)
    assert text.count("Plan: 0 to add") > 50
    assert len(text.encode()) <= MAXIMUM_COMMENT


def test_many_roots_are_a_table_of_the_first_hundred_and_the_rest_is_counted_and_linked():
    text = render_comment(comment_of(*(planned(f"root-{number:03}") for number in range(300))))
    rows = re.findall(r"^\| `root-\d+`", text, re.MULTILINE)
    assert 80 <= len(rows) <= 100
    more = f"… and {300 - len(rows)} more. See all on [this page](https://forge.example/pull/5/checks)."
    assert more in text
    assert "```" not in text


def test_a_table_shows_why_failures_have_no_plan():
    text = render_comment(
        comment_of(
            *(planned(f"root-{n}") for n in range(150)),
            *(failed(f"bad-{n}", last_lines=f"{LONG}Error: no such resource\n") for n in range(80)),
        )
    )
    shown = text.count("Error: no such resource")
    assert shown > 10
    assert f"{80 - shown} more have no plan: see their logs." in text


def test_a_table_without_a_link_says_where_the_rest_is():
    text = render_comment(comment_of(*(planned(f"root-{number}") for number in range(300)), page_url=""))
    assert "more. Each has a check of its own." in text


def test_addresses_beyond_those_kept_are_counted():
    many = PlannedChanges(destroy=70, destroyed=tuple(f"null.a[{n}]" for n in range(50)))
    assert "> * destroys 20 more in `network`: see its plan" in render_comment(comment_of(planned(changes=many)))


def test_a_plan_whose_text_is_gone_says_so():
    gone = LayerView(planned().layer)
    assert "has expired" in render_comment(comment_of(gone))


@pytest.mark.parametrize("state", [LayerState.WAITING, LayerState.PLANNING, LayerState.CANCELLED])
def test_what_did_not_get_its_plan_says_so(state):
    layer = failed(reason="Superseded.", last_lines="").layer
    text = render_comment(comment_of(LayerView(in_state(layer, state)), fault="Out of memory."))
    assert "**`network` was not planned**: Superseded" in text
    assert "**Internal error** during planning: Out of memory" in text
    assert "to plan again" in text


def test_what_was_refused_says_why_and_what_to_do():
    layer = in_state(failed(reason="It fetches a module from elsewhere.", last_lines="").layer, LayerState.REFUSED)
    text = render_comment(comment_of(LayerView(layer)))
    assert "**`network` was refused and not run**: It fetches a module from elsewhere" in text
    assert "Change what was refused" in text


def test_the_heading_tells_the_stack_and_its_tier():
    dev, prod = planned("a", stack="dev"), planned("a", stack="prod", waits=Waits(apply_after=("dev",)))
    assert "## Tidegate: stack `prod`, tier 2 of 2\n" in render_comment(comment_of(dev, prod, stack="prod"))
    assert "## Tidegate: stack `dev`, tier 1 of 2\n" in render_comment(comment_of(dev, prod, stack="dev"))
    assert "## Tidegate\n" in render_comment(comment_of(planned()))


def test_it_says_which_stacks_wait_for_which():
    dev = planned("a", stack="dev")
    staging = planned("a", stack="staging", waits=Waits(plan_after=("dev",), apply_after=("dev", "absent")))
    prod = planned("a", stack="prod", waits=Waits(apply_after=("dev", "staging")))
    assert "Stacks `staging` and `prod` wait for them." in render_comment(comment_of(dev, staging, prod, stack="dev"))
    middle = render_comment(comment_of(dev, staging, prod, stack="staging"))
    assert "They are planned only after stack `dev` is deployed." in middle
    assert "They are applied only after" not in middle
    assert "Stack `prod` waits for them." in middle
    last = render_comment(comment_of(dev, staging, prod, stack="prod"))
    assert "They are applied only after stacks `dev` and `staging` are deployed." in last


def test_stacks_that_wait_for_each_other_are_still_shown():
    one = planned("a", stack="one", waits=Waits(apply_after=("two",)))
    two = planned("a", stack="two", waits=Waits(apply_after=("one",)))
    assert "tier 2 of 2" in render_comment(comment_of(one, two, stack="two"))


def test_it_says_which_roots_wait_for_which():
    views = [planned("a"), *(planned(f"b{number:02}", waits=Waits(roots=("a",))) for number in range(12))]
    text = render_comment(comment_of(*views))
    assert "`b09` is planned after `a`." in text
    assert "2 more roots are planned after others of this stack." in text


@pytest.mark.parametrize(
    ("rule", "access", "sentence"),
    [
        (ReviewRule(), None, "waits for a review by one person: anybody with write permission on this repository."),
        (ReviewRule(PlanReview.NEVER), None, "is applied without a review."),
        (ReviewRule(approvals=2, exclude_authors=True), None, "by 2 people, none of whom made the change: "),
        (ReviewRule(), Access(review=("team:sre", "role:admin")), "by one person: `team:sre` and `role:admin`."),
        (ReviewRule(), Access(review=()), "by one person: but `access_control` allows nobody."),
    ],
)
def test_it_says_who_reviews(rule, access, sentence):
    assert (
        f"Each plan with changes {'' if sentence.startswith(('waits', 'is')) else 'waits for a review '}{sentence}"
        in (render_comment(comment_of(planned(review=rule, access=access))))
    )


def test_it_says_what_is_required_of_each_root_and_when_nothing_is_applied():
    reviewed = Requirements(approvals=1, any_of=("team:platform",), mergeable=True)
    weekend = Freeze(cron="0 16 * * FRI", minutes=3840, reason="nobody is here")
    views = [
        planned("prod", requires=(reviewed,), freezes=(weekend,)),
        planned("dev", requires=(Requirements(undiverged=True),)),
        planned("new", unmatched=True),
    ]
    text = render_comment(comment_of(*views))
    assert "`prod`: applied only with `1 approval, of any of team:platform` of the head" in text
    assert "`new`: no check of `apply_requirements` matches." in text
    assert "`prod`: frozen `64 h from each start of '0 16 * * FRI' (UTC)`: nobody is here." in text
    assert "`dev`: " not in text.partition("What happens on merge")[2]


def test_many_requirements_and_freezes_are_counted():
    views = [
        planned(
            f"r{at:02}", requires=(Requirements(approvals=at + 1),), freezes=(Freeze(cron="0 0 * * *", minutes=at + 1),)
        )
        for at in range(12)
    ]
    text = render_comment(comment_of(*views))
    assert "2 more requirements for other roots." in text
    assert "2 more freezes for these roots." in text


def test_applied_before_the_merge_what_is_required_is_told_with_the_apply():
    view = comment_of(planned("prod", requires=(Requirements(approvals=1),)))
    applied = ApplyView(ApplyRules(ApplyMode.IN_PULL_REQUEST), ApplyProgress())
    assert "applied only with" not in render_comment(replace(view, applied=applied))


def test_different_rules_name_their_roots():
    views = [planned(f"r{number:02}", review=ReviewRule(approvals=number + 1)) for number in range(12)]
    text = render_comment(comment_of(*views))
    assert "A plan with changes of `r01` waits for a review by 2 people" in text
    assert "2 more review rules for other roots." in text


def verdict(name="security", severity=Severity.DENY, **fields):
    return PolicyVerdict(name, (PolicyFinding(severity, "main.deny", "It is public.", "aws_s3_bucket.x"),), **fields)


def test_policies_say_rule_and_resource_those_that_refuse_first():
    refusing = planned("z", verdicts=(verdict(), PolicyVerdict("cost")), policy_sets=(PolicySetStatus("security"),))
    warning = planned("a", verdicts=(verdict("style", Severity.WARN),))
    text = render_comment(comment_of(refusing, warning))
    assert "**1 policy set fails.**" in text
    assert "`aws_s3_bucket.x`: It is public" in text
    assert text.index("`z` is refused") < text.index("`a` is allowed by an exception")
    assert "Policy sets that pass: `cost`" in text


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        (
            (PolicySetStatus("security", owners=("team:sre",)),),
            "an approving review of this commit by its owners: `team:sre`",
        ),
        (
            (PolicySetStatus("security", owners=("user:a", "user:b"), approvals=2),),
            "approving reviews by 2 of this commit",
        ),
        ((PolicySetStatus("security"),), "this policy set has no owners:"),
        ((), "this policy set has no owners:"),
    ],
)
def test_a_failing_set_says_what_to_do(held, sentence):
    assert sentence in render_comment(comment_of(planned(verdicts=(verdict(),), policy_sets=held)))


def test_very_many_findings_and_sets_are_counted():
    many = tuple(verdict(f"set-{number}") for number in range(30))
    text = render_comment(comment_of(*(planned(f"r{number}", verdicts=many) for number in range(10))))
    assert re.search(r"\* … and \d+ more lines: see the check of each policy set", text)
    assert "20 more policy sets fail" in text


def test_what_was_planned_is_said():
    assert "merged into `main` at `0000000`." in render_comment(comment_of(planned()))
    alone = render_comment(comment_of(planned(checkout=Checkout.BRANCH)))
    assert "alone, without newer commits of `main`." in alone


def test_layers_and_why_a_root_is_planned_are_said():
    text = render_comment(comment_of(planned(tier=2, tiers=3, why="It uses modules/net.")))
    assert "Layer 2 of 3 · It uses modules/net" in text


def test_destroying_asks_for_a_look():
    assert "what is destroyed and replaced" in render_comment(comment_of(planned(changes=DESTROYING)))


@pytest.mark.parametrize("stack", ["", "prod", "eu/west 1", "--> <b>", "ü" * 60])
def test_a_comment_says_whose_it_is(stack):
    text = render_comment(comment_of(planned(stack=stack), stack=stack))
    assert stack_of(text) == stack
    assert text.split("\n")[0].count("-->") == 1
    assert stack_of(render_nothing(stack, "a" * 40)) == stack
    assert stack_of(render_notice(stack, "a" * 40, "Why")) == stack


def test_a_stack_that_is_not_changed_any_more_says_so():
    assert "As of commit `aaaaaaa`, nothing of stack `prod` would change." in render_nothing("prod", "a" * 40)
    assert "As of commit `aaaaaaa`, nothing would change." in render_nothing("default", "a" * 40)


def test_a_notice_is_shown_line_by_line_and_bounded():
    text = render_notice("", "a" * 40, "From a <fork>\n\nof @somebody")
    assert "is not planned.**\n\nFrom a &lt;fork&gt;\n\nof @\u200bsomebody" in text
    assert len(render_notice("", "a" * 40, "word\n" * 100_000)) < MAXIMUM_COMMENT


def test_a_notice_leads_to_the_page_of_the_pull_request():
    page = "https://tidegate.example/pulls/acme/infra/5"
    for notice in ("Why", ""):
        text = render_notice("", "a" * 40, notice, page)
        assert text.endswith(f"\n\n[All roots]({page})")
        assert text.startswith(render_notice("", "a" * 40, notice))


def standing(state, *layers, **fields):
    judged = tuple((each, verdict) for each in layers for verdict in each.verdicts)
    return Standing(PolicySetStatus("security", owners=("user:ann",)), state, "0" * 40, judged, **fields)


REFUSING = PolicyVerdict("security", (PolicyFinding(Severity.DENY, "main.deny", "No."),))


def test_what_owners_let_pass_is_told_as_such():
    view = planned(verdicts=(REFUSING,))
    approved = standing(SetState.APPROVED, view.layer, approved_by=("ann",))
    text = render_comment(comment_of(view, policy_statuses=(approved,)))
    assert "* `network` is refused, but approved by owners:" in text
    assert "Policy set `security` no longer blocks: approved by `ann`." in text
    assert "* Read the plans, then merge." in text
    assert "* `network` is refused:" in render_comment(comment_of(view, policy_statuses=()))


def test_approvals_are_told_only_where_the_set_refuses():
    refused = planned("a", stack="dev", verdicts=(REFUSING,), policy_sets=(PolicySetStatus("security"),))
    passing = PolicyVerdict("security")
    passed = planned("b", stack="prod", verdicts=(passing,), policy_sets=(PolicySetStatus("security"),))
    failing = standing(SetState.FAILED, refused.layer, disregarded=(Disregarded("bob", "is not an owner of it"),))
    views = {stack: comment_of(refused, passed, stack=stack, policy_statuses=(failing,)) for stack in ("dev", "prod")}
    told = "The approval of `bob` does not count for `security`: `bob` is not an owner of it."
    assert told in render_comment(views["dev"])
    assert "bob" not in render_comment(views["prod"])


def test_a_draft_is_not_said_to_be_merged_now():
    text = render_comment(comment_of(planned(), is_draft=True))
    assert "* Read the plans, then merge once it is no longer a draft." in text
    assert "* Nothing would change. Merge it once it is no longer a draft." in render_comment(
        comment_of(unchanged(), is_draft=True)
    )
    applied = ApplyView(ApplyRules(ApplyMode.IN_PULL_REQUEST), ApplyProgress(done=(("network", "default"),)))
    text = render_comment(comment_of(planned(), applied=applied, is_draft=True))
    assert "* Everything is applied. Merge it once it is no longer a draft: nothing is deployed again." in text


def test_a_stack_says_which_others_hold_up_the_merge():
    bad = failed("a", stack="Dev")
    refused = planned("c", stack="two", verdicts=(REFUSING,))
    fine, same = planned("b", stack="prod"), unchanged("d", stack="same")
    text = render_comment(comment_of(bad, fine, stack="prod"))
    assert "* Read the plans. Stack `Dev` blocks the merge." in text
    text = render_comment(comment_of(bad, refused, same, stack="same"))
    assert "* Nothing would change here. Stacks `Dev` and `two` block the merge." in text
    approved = standing(SetState.APPROVED, refused.layer, approved_by=("ann",))
    assert "then merge." in render_comment(comment_of(refused, fine, stack="prod", policy_statuses=(approved,)))


def test_a_set_without_a_verdict_on_some_roots_is_said_to_hold_up_the_merge_and_to_pass_nowhere():
    judged, other = unchanged("a", stack="dev", verdicts=(PolicyVerdict("security"),)), unchanged("b", stack="dev")
    far = unchanged("c", stack="prod", verdicts=(PolicyVerdict("security"),))
    unknown = standing(SetState.UNKNOWN, judged.layer, missing=(other.layer,))
    views = {
        stack: comment_of(judged, other, far, stack=stack, policy_statuses=(unknown,)) for stack in ("dev", "prod")
    }
    text = render_comment(views["dev"])
    assert "unchanged. **1 policy set blocks the merge.**" in text
    assert "Policy set `security` blocks the merge" in text
    assert "* Policy set `security` has not evaluated all plans. Comment `tidegate plan`" in text
    assert "Nothing would change. You can merge" not in text
    assert "Policy sets that pass" not in text
    assert "Policy sets that pass: `security`" in render_comment(views["prod"])


def test_a_set_passes_no_plan_that_was_made_with_options():
    looked = planned(verdicts=(PolicyVerdict("security"),), options=("-target=a.b",))
    assert "Policy sets that pass" not in render_comment(comment_of(looked))
    assert "### Policies" not in render_comment(comment_of(looked))


def test_names_of_stacks_stay_as_they_are_at_the_beginning_of_a_sentence():
    dev = planned("a", stack="Dev")
    prod = planned("b", stack="Prod", waits=Waits(apply_after=("Dev",)))
    assert "* Stack `Prod` waits for them." in render_comment(comment_of(dev, prod, stack="Dev"))


def test_other_rules_are_told_with_who_must_approve_them():
    view = planned()
    text = render_comment(comment_of(view, rule_changes=("workflows",)))
    assert "> **This changes what runs, or who may do what:** `workflows`." in text
    assert "* Read the plans, then merge." in text
    failing = standing(SetState.FAILED, rules=("workflows",))
    judged = planned(verdicts=(PolicyVerdict("security"),))
    text = render_comment(comment_of(judged, policy_statuses=(failing,)))
    assert "**1 policy set blocks the merge.**" in text
    assert "Policy set `security` blocks the merge" in text
    assert "Policy sets that pass" not in text
    text = render_comment(comment_of(view, rule_changes=("workflows",), policy_statuses=(failing,)))
    step = (
        "Because the rules change, get an approving review of this commit by its owners: `user:ann` (policy set "
        "`security`)."
    )
    assert step in text
    assert "then merge." not in text
    approved = standing(SetState.APPROVED, rules=("workflows",), approved_by=("ann",))
    text = render_comment(comment_of(view, rule_changes=("workflows",), policy_statuses=(approved,)))
    assert "approved by `ann`" in text
    assert "then merge." in text
