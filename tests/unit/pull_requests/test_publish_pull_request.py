"""What a pull request shows: one comment for each stack and check runs, once each, whatever happens in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_plan, any_pull_request_record, sha
from tests.fakes.overridden import With
from tests.fakes.ports import changed
from tests.unit.pull_requests.publishing_scenario import (
    HEAD,
    PULL,
    REFUSING,
    REVISION,
    WHERE,
    Scenario,
    in_state,
    planned,
)
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.policies.rules.policy import PolicySetStatus
from tidegate.ports import Change
from tidegate.pull_requests.publish_pull_request import ask_for_publication, publish_pull_request
from tidegate.pull_requests.pull_request_checks import show_layer, show_verdict
from tidegate.pull_requests.pull_request_view import pull_request_page
from tidegate.pull_requests.rules.record import LetPass, PullRequestState, VerdictKind, anew
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.check_run import Conclusion
from tidegate.vcs.rules.pull_request import PullRequestReview, ReviewVerdict


def test_while_a_root_is_planned_there_is_no_verdict():
    planning = in_state("network", LayerState.PLANNING)
    scenario = Scenario(planned("db"), planning)
    assert show_verdict(scenario.ports, scenario.record, scenario.layers.many(scenario.record.layers), "", ()) is None


def test_each_stack_has_one_comment_and_the_whole_one_check_run():
    scenario = Scenario(planned("a", stack="dev"), planned("b", stack="prod"), in_state("c", LayerState.NO_CHANGES))
    assert scenario.publish() == "shown"
    assert [stack for stack, _ in scenario.record.comments] == ["default", "dev", "prod"]
    assert len(scenario.texts) == 3
    assert scenario.check("tidegate/plan").conclusion is Conclusion.SUCCESS
    assert scenario.record.state is PullRequestState.IDLE


def test_what_is_shown_is_not_shown_again():
    scenario = Scenario(planned())
    scenario.publish()
    scenario.forge.failures.append(ForgeUnavailable("nobody may call"))
    assert scenario.publish() == "shown"


def test_a_newer_revision_changes_the_comment_in_place():
    scenario = Scenario(planned())
    scenario.publish()
    for number in range(10, 30):
        spec = scenario.push(number)
        scenario.discovered(replace(planned(), id=f"layer-{number}", sha=sha(number)), spec=spec)
        scenario.publish(spec.revision)
    assert len(scenario.texts) == 1
    assert scenario.forge.edits == [1] * 20
    assert f"`{sha(29)[:7]}`" in scenario.texts[0]


def test_an_older_revision_is_not_shown():
    scenario = Scenario(planned())
    scenario.discovered(spec=scenario.push(9))
    assert scenario.publish() == "overtaken"
    assert ask_for_publication(scenario.ports, PULL, REVISION) == "overtaken"
    assert not scenario.texts
    assert not scenario.event_publisher.ended


@pytest.mark.parametrize("stacks", [("dev",), ("dev", "prod")])
def test_a_revision_that_is_overtaken_meanwhile_stops(stacks):
    scenario = Scenario(*(planned("a", stack=stack) for stack in stacks))
    write = scenario.forge.comment

    def overtaken(*about):
        scenario.records.save(replace(scenario.record, spec=scenario.push(9)))
        return write(*about)

    ports = changed(scenario.ports, forge=With(scenario.forge, comment=overtaken))
    assert scenario.publish(ports=ports) == "overtaken"
    assert len(scenario.texts) == 1
    assert scenario.record.comments == (("dev", 1),)
    assert not scenario.record.commented


def test_what_an_earlier_execution_asks_for_is_not_shown_while_another_plans_the_same_commit():
    scenario = Scenario(planned("a"), in_state("b", LayerState.PLANNING))
    assert scenario.publish() == "overtaken"
    assert (scenario.forge.comments, scenario.record.commented) == ([], "")


def test_what_is_overtaken_before_the_check_runs_is_not_recorded_as_shown():
    scenario = Scenario()
    create = scenario.forge.create_check_run

    def overtaken(*about):
        scenario.records.save(replace(scenario.record, spec=scenario.push(9)))
        return create(*about)

    ports = changed(scenario.ports, forge=With(scenario.forge, create_check_run=overtaken))
    assert scenario.publish(ports=ports) == "overtaken"
    assert not scenario.record.commented


def test_a_closed_or_unknown_pull_request_shows_nothing():
    scenario = Scenario(planned())
    scenario.records.save(replace(scenario.record, closed_at=NOW))
    assert scenario.publish() == "overtaken"
    assert publish_pull_request(scenario.ports, "acme/infra#99", REVISION) == "overtaken"


def test_asking_asks_once_for_the_newest_revision():
    scenario = Scenario(planned())
    assert ask_for_publication(scenario.ports, PULL, REVISION, "TidegateFailed", "cause") == "shown"
    assert scenario.event_publisher.ended == [(PULL, REVISION, "TidegateFailed", "cause")]


def test_no_roots_give_a_green_check_and_no_comment():
    scenario = Scenario()
    scenario.publish()
    assert not scenario.texts
    assert scenario.check("tidegate/plan").conclusion is Conclusion.SUCCESS


def test_a_stack_that_is_not_changed_any_more_says_so():
    scenario = Scenario(planned("a", stack="dev"), planned("b", stack="prod"))
    scenario.publish()
    spec = scenario.push(9)
    scenario.discovered(replace(planned("a", stack="dev"), id="newer"), spec=spec)
    scenario.publish(spec.revision)
    assert "nothing of stack `prod` would change" in scenario.texts[1]
    assert len(scenario.texts) == 2


def test_a_fork_gets_a_comment_and_a_neutral_check_and_later_the_plan_in_its_place():
    spec = replace(any_pull_request_record().spec, from_fork=True)
    scenario = Scenario(spec=spec, notice="It comes from a fork.")
    scenario.publish()
    assert "It comes from a fork" in scenario.texts[0]
    assert scenario.check("tidegate/plan").conclusion is Conclusion.NEUTRAL
    newer = replace(scenario.push(9), from_fork=False)
    scenario.discovered(replace(planned(stack="prod"), id="newer"), spec=newer, notice="")
    scenario.publish(newer.revision)
    assert len(scenario.texts) == 1
    assert "## Tidegate: stack `prod`" in scenario.texts[0]
    assert scenario.record.comments == (("prod", 1),)


def test_a_fork_that_is_pushed_to_costs_one_check_run_for_each_commit_and_no_comment():
    spec = replace(any_pull_request_record().spec, from_fork=True)
    scenario = Scenario(spec=spec, notice="It comes from a fork.")
    scenario.publish()
    for number in range(10, 30):
        newer = scenario.push(number)
        scenario.discovered(spec=newer)
        assert scenario.publish(newer.revision) == "shown"
    assert (len(scenario.texts), scenario.forge.edits) == (1, [])
    assert (len(scenario.forge.check_runs), scenario.forge.updates) == (21, [])
    scenario.discovered(spec=scenario.push(30), notice="The event contains another text than")
    scenario.publish(scenario.record.spec.revision)
    assert scenario.forge.edits == [1]


def locked(scenario):
    """Let somebody lock the conversation: the forge takes no comments of ours, and no edits."""
    scenario.forge.silence = ForgeRefused(403, "Unable to create comment because issue is locked.")


@pytest.mark.parametrize("stacks", [("default",), ("dev", "prod")])
def test_comments_that_the_forge_refuses_hold_up_no_verdict_and_the_check_says_so(stacks):
    scenario = Scenario(*(planned(stack, stack=stack) for stack in stacks))
    locked(scenario)
    assert scenario.publish() == "shown"
    check = scenario.check("tidegate/plan")
    assert check.conclusion is Conclusion.SUCCESS
    assert "**The comments could not be written.** The VCS provider refused the request \\(403\\)" in check.summary
    assert scenario.record.state is PullRequestState.IDLE
    scenario.forge.silence = None
    spec = scenario.push(9)
    scenario.discovered(replace(planned(), id="newer"), spec=spec)
    scenario.publish(spec.revision)
    assert "could not be written" not in scenario.check("tidegate/plan").summary
    assert len(scenario.texts) == 1


def test_comments_that_the_forge_refuses_hold_up_nothing_of_an_apply():
    scenario = Scenario(planned())
    scenario.publish()
    scenario.forge.comments.clear()
    locked(scenario)
    scenario.show_again()
    assert scenario.texts == []


@pytest.mark.parametrize("marker", ["<!-- tidegate:plan zz -->", "<!-- tidegate:plan ff -->", "<!-- tidegate:plan -->"])
def test_a_comment_of_ours_that_somebody_edited_is_no_stacks_any_more(marker):
    scenario = Scenario(planned())
    scenario.forge.comments.append((WHERE[1], f"{marker}\nmine"))
    assert scenario.publish() == "shown"
    assert len(scenario.texts) == 2
    assert scenario.texts[0].endswith("mine")


def test_a_notice_stands_in_the_oldest_comment_and_the_others_point_to_it():
    scenario = Scenario(planned("a", stack="dev"), planned("b", stack="prod"))
    scenario.publish()
    spec = scenario.push(9)
    scenario.discovered(spec=spec, notice="The file cannot be used.")
    scenario.publish(spec.revision)
    first, second = scenario.texts
    assert "The file cannot be used" in first
    assert "is not planned.**\n\nTidegate's oldest comment" in second


def test_a_comment_that_holds_a_notice_says_when_nothing_would_change():
    scenario = Scenario(notice="The file cannot be used.")
    scenario.publish()
    spec = scenario.push(9)
    scenario.discovered(spec=spec, notice="")
    scenario.publish(spec.revision)
    assert "nothing would change" in scenario.texts[0]


def test_a_deleted_comment_is_written_again():
    scenario = Scenario(planned())
    scenario.publish()
    scenario.forge.deleted.add(1)
    spec = scenario.push(9)
    scenario.discovered(replace(planned(), id="newer"), spec=spec)
    scenario.publish(spec.revision)
    assert len(scenario.texts) == 2
    assert scenario.record.comments == (("default", 2),)


def test_a_comment_that_was_not_remembered_is_found_and_one_of_somebody_else_is_not():
    scenario = Scenario(planned())
    scenario.publish()
    ours = scenario.texts[0]
    scenario.forge.comments.insert(0, (5, ours))
    scenario.forge.foreign.add(1)
    scenario.records.save(replace(scenario.record, comments=(), commented=""))
    scenario.publish()
    assert scenario.forge.edits == [2]
    assert scenario.record.comments == (("default", 2),)


def test_a_fault_of_tidegate_is_shown_with_what_is_known():
    scenario = Scenario(planned(), in_state("db", LayerState.PLANNING))
    assert scenario.publish(error="TidegateFailed", cause='{"errorMessage": "out of memory"}') == "shown"
    assert "out of memory" in scenario.texts[0]
    assert scenario.check("tidegate/plan").title == "Internal error"


def test_a_fault_before_anything_was_discovered_is_shown():
    scenario = Scenario()
    scenario.records.save(replace(scenario.record, discovered="", commented=""))
    assert scenario.publish() == "overtaken"
    assert scenario.publish(error="States.Timeout", cause="") == "shown"
    assert "is not planned" in scenario.texts[0]
    assert not scenario.record.commented


@pytest.mark.parametrize("key", ["plans/gone.txt", None])
def test_a_plan_whose_text_is_gone_or_altered_is_not_shown(key):
    scenario = Scenario(planned())
    if key is None:
        scenario.artifacts.put(any_plan().text.key, b"another")
    else:
        scenario.artifacts.remove([any_plan().text.key])
    scenario.publish()
    assert "has expired" in scenario.texts[0]


def test_of_very_many_roots_no_plan_is_read():
    scenario = Scenario(*(planned(f"r{number}") for number in range(101)))
    scenario.artifacts.objects.clear()
    scenario.publish()
    assert "| Root | Plan | |" in scenario.texts[0]


def test_a_refused_layer_gets_its_check_run_too():
    refused = in_state("db", LayerState.REFUSED)
    scenario = Scenario(refused, in_state("app", LayerState.CANCELLED))
    scenario.publish()
    assert scenario.event_publisher.layers == [refused]
    show_layer(scenario.ports, refused.id)
    assert scenario.check("tidegate/plan: db").conclusion is Conclusion.FAILURE


def test_a_merge_conflict_is_one_comment_that_says_so_and_what_to_do():
    why = {"reason": "Both change a.tf. Rebase it.", "conflict": True, "policy_sets": (PolicySetStatus("security"),)}
    stacks = [in_state("db", LayerState.FAILED, stack=stack, **why) for stack in ("dev", "prod")]
    scenario = Scenario(*stacks, notice="Not logs.")
    scenario.publish()
    (text,) = scenario.texts
    assert text.partition("\n")[2] == (
        f"## Tidegate\n\n**Commit `{HEAD[:7]}` is not planned.**\n\nBoth change a\\.tf\\. Rebase it\\.\n\nNot logs\\."
        "\n\n[All roots](https://tidegate.example/pulls/acme/infra/5)"
    )
    assert scenario.check("tidegate/plan").title == "Conflicts with main"
    verdict = scenario.record.verdict
    assert (verdict.kind, verdict.title) == (VerdictKind.CONFLICT, "Conflicts with main")


def test_of_several_comments_one_tells_of_a_merge_conflict():
    scenario = Scenario(*(planned("db", stack=stack) for stack in ("dev", "prod", "test")))
    scenario.publish()
    why, spec = {"reason": "Both change a.tf.", "conflict": True}, scenario.push(9)
    layers = [in_state("cache", LayerState.FAILED, stack=stack, **why) for stack in ("dev", "prod", "test")]
    scenario.discovered(*layers, spec=spec)
    scenario.publish(spec.revision)
    assert ["Both change a" in text for text in scenario.texts] == [True, False, False]


def test_a_policy_set_is_not_blamed_where_there_was_no_plan():
    scenario = Scenario(in_state("db", LayerState.FAILED, reason="No.", policy_sets=(PolicySetStatus("security"),)))
    scenario.publish()
    whole = scenario.check("tidegate/plan")
    assert (whole.title, whole.conclusion) == ("1 failed", Conclusion.FAILURE)
    assert "policy set" not in whole.summary
    assert scenario.check("tidegate/policy: security").conclusion is Conclusion.FAILURE
    assert "policy set" not in scenario.texts[0].lower()


def test_what_tidegate_fails_on_hides_a_merge_conflict():
    scenario = Scenario(in_state("db", LayerState.FAILED, reason="Both change a.tf.", conflict=True))
    scenario.publish(error="KeyError")
    assert "**Internal error** during planning: KeyError" in scenario.texts[0]


def test_policies_have_a_check_run_each_and_hold_up_the_whole():
    held = PolicySetStatus("security")
    scenario = Scenario(planned(policy_sets=(held,), verdicts=(REFUSING,)))
    scenario.publish()
    assert scenario.check("tidegate/policy: security").conclusion is Conclusion.FAILURE
    assert "blocked by 1 policy set" in scenario.check("tidegate/plan").title


def test_a_merge_queue_hears_the_same():
    scenario = Scenario(planned(), queued=sha(77))
    scenario.publish()
    assert {each.sha for each in scenario.forge.check_runs.values() if each.name == "tidegate/plan"} == {HEAD, sha(77)}


def test_calls_to_the_forge_are_a_constant_and_two_for_each_root_at_most():
    scenario = Scenario(*(planned(f"r{number}") for number in range(50)))
    calls = []
    scenario.ports = changed(scenario.ports, forge=_Counted(scenario.forge, calls))
    scenario.begin()
    for layer in scenario.layers.many(scenario.record.layers):
        show_layer(scenario.ports, layer.id)
    scenario.publish()
    assert len(calls) <= 50 + 10


class _Counted:
    def __init__(self, forge, calls):
        self._forge, self._calls = forge, calls

    def __getattr__(self, name):
        self._calls.append(name)
        return getattr(self._forge, name)


def test_all_is_linked_on_tidegates_page_or_else_on_the_forges():
    scenario = Scenario()
    assert pull_request_page(scenario.ports, scenario.record.spec) == "https://tidegate.example/pulls/acme/infra/5"
    without = changed(scenario.ports, web_url="")
    assert pull_request_page(without, scenario.record.spec) == "https://github.com/acme/infra/pull/5/checks"


def test_the_record_keeps_the_verdict_that_was_shown():
    held = PolicySetStatus("security", owners=("user:ann",))
    scenario = Scenario(planned("a", verdicts=(REFUSING,), policy_sets=(held,)), in_state("b", LayerState.FAILED))
    scenario.publish()
    verdict = scenario.record.verdict
    assert (verdict.title, verdict.conclusion) == (scenario.check("tidegate/plan").title, Conclusion.FAILURE)
    assert (verdict.kind, verdict.blocking) == (VerdictKind.FAILED, ("security",))
    scenario.publish(error="States.Timeout")
    assert scenario.record.verdict.title == "Internal error"


def test_the_verdict_tells_whose_approvals_let_a_policy_set_pass():
    held = PolicySetStatus("security", owners=("user:ann",))
    scenario = Scenario(planned("a", verdicts=(REFUSING,), policy_sets=(held,)))
    spec = scenario.record.spec
    scenario.forge.readers.add("ann")
    scenario.forge.changes[spec.base_sha, spec.head_sha] = Change(sha(1), Authors(("writer",)))
    scenario.forge.reviewed[spec.number] = [PullRequestReview("ann", ReviewVerdict.APPROVED, spec.head_sha, NOW)]
    scenario.publish()
    assert (scenario.record.verdict.blocking, scenario.record.verdict.passed) == ((), (LetPass("security", ("ann",)),))


def test_a_newer_attempt_has_no_verdict_yet():
    scenario = Scenario(planned("a"))
    scenario.publish()
    assert scenario.record.verdict.conclusion is Conclusion.SUCCESS
    assert anew(scenario.record).verdict is None
