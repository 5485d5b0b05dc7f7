"""What a pull request shows: one comment for each stack and check runs, once each, whatever happens in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_plan, any_pull_request_record, sha
from tests.fakes.overridden import With
from tests.fakes.ports import changed
from tests.unit.usecases.publishing_world import HEAD, PULL, REFUSING, REVISION, WHERE, World, in_state, planned
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
    world = World(planned("db"), planning)
    assert show_verdict(world.ports, world.record, world.layers.many(world.record.layers), "", ()) is None


def test_each_stack_has_one_comment_and_the_whole_one_check_run():
    world = World(planned("a", stack="dev"), planned("b", stack="prod"), in_state("c", LayerState.NO_CHANGES))
    assert world.publish() == "shown"
    assert [stack for stack, _ in world.record.comments] == ["default", "dev", "prod"]
    assert len(world.texts) == 3
    assert world.check("tidegate/plan").conclusion is Conclusion.SUCCESS
    assert world.record.state is PullRequestState.IDLE


def test_what_is_shown_is_not_shown_again():
    world = World(planned())
    world.publish()
    world.forge.failures.append(ForgeUnavailable("nobody may call"))
    assert world.publish() == "shown"


def test_a_newer_revision_changes_the_comment_in_place():
    world = World(planned())
    world.publish()
    for number in range(10, 30):
        spec = world.push(number)
        world.discovered(replace(planned(), id=f"layer-{number}", sha=sha(number)), spec=spec)
        world.publish(spec.revision)
    assert len(world.texts) == 1
    assert world.forge.edits == [1] * 20
    assert f"`{sha(29)[:7]}`" in world.texts[0]


def test_an_older_revision_is_not_shown():
    world = World(planned())
    world.discovered(spec=world.push(9))
    assert world.publish() == "overtaken"
    assert ask_for_publication(world.ports, PULL, REVISION) == "overtaken"
    assert not world.texts
    assert not world.event_publisher.ended


@pytest.mark.parametrize("stacks", [("dev",), ("dev", "prod")])
def test_a_revision_that_is_overtaken_meanwhile_stops(stacks):
    world = World(*(planned("a", stack=stack) for stack in stacks))
    write = world.forge.comment

    def overtaken(*about):
        world.records.save(replace(world.record, spec=world.push(9)))
        return write(*about)

    ports = changed(world.ports, forge=With(world.forge, comment=overtaken))
    assert world.publish(ports=ports) == "overtaken"
    assert len(world.texts) == 1
    assert world.record.comments == (("dev", 1),)
    assert not world.record.commented


def test_what_an_earlier_execution_asks_for_is_not_shown_while_another_plans_the_same_commit():
    world = World(planned("a"), in_state("b", LayerState.PLANNING))
    assert world.publish() == "overtaken"
    assert (world.forge.comments, world.record.commented) == ([], "")


def test_what_is_overtaken_before_the_check_runs_is_not_recorded_as_shown():
    world = World()
    create = world.forge.create_check_run

    def overtaken(*about):
        world.records.save(replace(world.record, spec=world.push(9)))
        return create(*about)

    ports = changed(world.ports, forge=With(world.forge, create_check_run=overtaken))
    assert world.publish(ports=ports) == "overtaken"
    assert not world.record.commented


def test_a_closed_or_unknown_pull_request_shows_nothing():
    world = World(planned())
    world.records.save(replace(world.record, closed_at=NOW))
    assert world.publish() == "overtaken"
    assert publish_pull_request(world.ports, "acme/infra#99", REVISION) == "overtaken"


def test_asking_asks_once_for_the_newest_revision():
    world = World(planned())
    assert ask_for_publication(world.ports, PULL, REVISION, "TidegateFailed", "cause") == "shown"
    assert world.event_publisher.ended == [(PULL, REVISION, "TidegateFailed", "cause")]


def test_no_roots_give_a_green_check_and_no_comment():
    world = World()
    world.publish()
    assert not world.texts
    assert world.check("tidegate/plan").conclusion is Conclusion.SUCCESS


def test_a_stack_that_is_not_changed_any_more_says_so():
    world = World(planned("a", stack="dev"), planned("b", stack="prod"))
    world.publish()
    spec = world.push(9)
    world.discovered(replace(planned("a", stack="dev"), id="newer"), spec=spec)
    world.publish(spec.revision)
    assert "nothing of stack `prod` would change" in world.texts[1]
    assert len(world.texts) == 2


def test_a_fork_gets_a_comment_and_a_neutral_check_and_later_the_plan_in_its_place():
    spec = replace(any_pull_request_record().spec, from_fork=True)
    world = World(spec=spec, notice="It comes from a fork.")
    world.publish()
    assert "It comes from a fork" in world.texts[0]
    assert world.check("tidegate/plan").conclusion is Conclusion.NEUTRAL
    newer = replace(world.push(9), from_fork=False)
    world.discovered(replace(planned(stack="prod"), id="newer"), spec=newer, notice="")
    world.publish(newer.revision)
    assert len(world.texts) == 1
    assert "## Tidegate: stack `prod`" in world.texts[0]
    assert world.record.comments == (("prod", 1),)


def test_a_fork_that_is_pushed_to_costs_one_check_run_for_each_commit_and_no_comment():
    spec = replace(any_pull_request_record().spec, from_fork=True)
    world = World(spec=spec, notice="It comes from a fork.")
    world.publish()
    for number in range(10, 30):
        newer = world.push(number)
        world.discovered(spec=newer)
        assert world.publish(newer.revision) == "shown"
    assert (len(world.texts), world.forge.edits) == (1, [])
    assert (len(world.forge.check_runs), world.forge.updates) == (21, [])
    world.discovered(spec=world.push(30), notice="The event contains another text than")
    world.publish(world.record.spec.revision)
    assert world.forge.edits == [1]


def locked(world):
    """Let somebody lock the conversation: the forge takes no comments of ours, and no edits."""
    world.forge.silence = ForgeRefused(403, "Unable to create comment because issue is locked.")


@pytest.mark.parametrize("stacks", [("default",), ("dev", "prod")])
def test_comments_that_the_forge_refuses_hold_up_no_verdict_and_the_check_says_so(stacks):
    world = World(*(planned(stack, stack=stack) for stack in stacks))
    locked(world)
    assert world.publish() == "shown"
    check = world.check("tidegate/plan")
    assert check.conclusion is Conclusion.SUCCESS
    assert "**The comments could not be written.** The VCS provider refused the request \\(403\\)" in check.summary
    assert world.record.state is PullRequestState.IDLE
    world.forge.silence = None
    spec = world.push(9)
    world.discovered(replace(planned(), id="newer"), spec=spec)
    world.publish(spec.revision)
    assert "could not be written" not in world.check("tidegate/plan").summary
    assert len(world.texts) == 1


def test_comments_that_the_forge_refuses_hold_up_nothing_of_an_apply():
    world = World(planned())
    world.publish()
    world.forge.comments.clear()
    locked(world)
    world.show_again()
    assert world.texts == []


@pytest.mark.parametrize("marker", ["<!-- tidegate:plan zz -->", "<!-- tidegate:plan ff -->", "<!-- tidegate:plan -->"])
def test_a_comment_of_ours_that_somebody_edited_is_no_stacks_any_more(marker):
    world = World(planned())
    world.forge.comments.append((WHERE[1], f"{marker}\nmine"))
    assert world.publish() == "shown"
    assert len(world.texts) == 2
    assert world.texts[0].endswith("mine")


def test_a_notice_stands_in_the_comments_that_there_are():
    world = World(planned("a", stack="dev"), planned("b", stack="prod"))
    world.publish()
    spec = world.push(9)
    world.discovered(spec=spec, notice="The file cannot be used.")
    world.publish(spec.revision)
    assert len(world.texts) == 2
    assert all("The file cannot be used" in text for text in world.texts)


def test_a_comment_that_holds_a_notice_says_when_nothing_would_change():
    world = World(notice="The file cannot be used.")
    world.publish()
    spec = world.push(9)
    world.discovered(spec=spec, notice="")
    world.publish(spec.revision)
    assert "nothing would change" in world.texts[0]


def test_a_deleted_comment_is_written_again():
    world = World(planned())
    world.publish()
    world.forge.deleted.add(1)
    spec = world.push(9)
    world.discovered(replace(planned(), id="newer"), spec=spec)
    world.publish(spec.revision)
    assert len(world.texts) == 2
    assert world.record.comments == (("default", 2),)


def test_a_comment_that_was_not_remembered_is_found_and_one_of_somebody_else_is_not():
    world = World(planned())
    world.publish()
    ours = world.texts[0]
    world.forge.comments.insert(0, (5, ours))
    world.forge.foreign.add(1)
    world.records.save(replace(world.record, comments=(), commented=""))
    world.publish()
    assert world.forge.edits == [2]
    assert world.record.comments == (("default", 2),)


def test_a_fault_of_tidegate_is_shown_with_what_is_known():
    world = World(planned(), in_state("db", LayerState.PLANNING))
    assert world.publish(error="TidegateFailed", cause='{"errorMessage": "out of memory"}') == "shown"
    assert "out of memory" in world.texts[0]
    assert world.check("tidegate/plan").title == "Internal error"


def test_a_fault_before_anything_was_discovered_is_shown():
    world = World()
    world.records.save(replace(world.record, discovered="", commented=""))
    assert world.publish() == "overtaken"
    assert world.publish(error="States.Timeout", cause="") == "shown"
    assert "is not planned" in world.texts[0]
    assert not world.record.commented


@pytest.mark.parametrize("key", ["plans/gone.txt", None])
def test_a_plan_whose_text_is_gone_or_altered_is_not_shown(key):
    world = World(planned())
    if key is None:
        world.artifacts.put(any_plan().text.key, b"another")
    else:
        world.artifacts.remove([any_plan().text.key])
    world.publish()
    assert "has expired" in world.texts[0]


def test_of_very_many_roots_no_plan_is_read():
    world = World(*(planned(f"r{number}") for number in range(101)))
    world.artifacts.objects.clear()
    world.publish()
    assert "| Root | Plan | |" in world.texts[0]


def test_a_refused_layer_gets_its_check_run_too():
    refused = in_state("db", LayerState.REFUSED)
    world = World(refused, in_state("app", LayerState.CANCELLED))
    world.publish()
    assert world.event_publisher.layers == [refused]
    show_layer(world.ports, refused.id)
    assert world.check("tidegate/plan: db").conclusion is Conclusion.FAILURE


def test_a_merge_conflict_is_one_comment_that_says_so_and_what_to_do():
    why = {"reason": "Both change a.tf. Rebase it.", "conflict": True, "policy_sets": (PolicySetStatus("security"),)}
    stacks = [in_state("db", LayerState.FAILED, stack=stack, **why) for stack in ("dev", "prod")]
    world = World(*stacks, notice="Not logs.")
    world.publish()
    (text,) = world.texts
    assert text.partition("\n")[2] == (
        f"## Tidegate\n\n**Commit `{HEAD[:7]}` is not planned.**\n\nBoth change a\\.tf\\. Rebase it\\.\n\nNot logs\\."
        "\n\n[All roots](https://tidegate.example/pulls/acme/infra/5)"
    )
    assert world.check("tidegate/plan").title == "Conflicts with main"
    verdict = world.record.verdict
    assert (verdict.kind, verdict.title) == (VerdictKind.CONFLICT, "Conflicts with main")


def test_what_tidegate_fails_on_hides_a_merge_conflict():
    world = World(in_state("db", LayerState.FAILED, reason="Both change a.tf.", conflict=True))
    world.publish(error="KeyError")
    assert "**Internal error** during planning: KeyError" in world.texts[0]


def test_policies_have_a_check_run_each_and_hold_up_the_whole():
    held = PolicySetStatus("security")
    world = World(planned(policy_sets=(held,), verdicts=(REFUSING,)))
    world.publish()
    assert world.check("tidegate/policy: security").conclusion is Conclusion.FAILURE
    assert "blocked by 1 policy set" in world.check("tidegate/plan").title


def test_a_merge_queue_hears_the_same():
    world = World(planned(), queued=sha(77))
    world.publish()
    assert {each.sha for each in world.forge.check_runs.values() if each.name == "tidegate/plan"} == {HEAD, sha(77)}


def test_calls_to_the_forge_are_a_constant_and_two_for_each_root_at_most():
    world = World(*(planned(f"r{number}") for number in range(50)))
    calls = []
    world.ports = changed(world.ports, forge=_Counted(world.forge, calls))
    world.begin()
    for layer in world.layers.many(world.record.layers):
        show_layer(world.ports, layer.id)
    world.publish()
    assert len(calls) <= 50 + 10


class _Counted:
    def __init__(self, forge, calls):
        self._forge, self._calls = forge, calls

    def __getattr__(self, name):
        self._calls.append(name)
        return getattr(self._forge, name)


def test_all_is_linked_on_tidegates_page_or_else_on_the_forges():
    world = World()
    assert pull_request_page(world.ports, world.record.spec) == "https://tidegate.example/pulls/acme/infra/5"
    without = changed(world.ports, web_url="")
    assert pull_request_page(without, world.record.spec) == "https://github.com/acme/infra/pull/5/checks"


def test_the_record_keeps_the_verdict_that_was_shown():
    held = PolicySetStatus("security", owners=("user:ann",))
    world = World(planned("a", verdicts=(REFUSING,), policy_sets=(held,)), in_state("b", LayerState.FAILED))
    world.publish()
    verdict = world.record.verdict
    assert (verdict.title, verdict.conclusion) == (world.check("tidegate/plan").title, Conclusion.FAILURE)
    assert (verdict.kind, verdict.blocking) == (VerdictKind.FAILED, ("security",))
    world.publish(error="States.Timeout")
    assert world.record.verdict.title == "Internal error"


def test_the_verdict_tells_whose_approvals_let_a_policy_set_pass():
    held = PolicySetStatus("security", owners=("user:ann",))
    world = World(planned("a", verdicts=(REFUSING,), policy_sets=(held,)))
    spec = world.record.spec
    world.forge.readers.add("ann")
    world.forge.changes[spec.base_sha, spec.head_sha] = Change(sha(1), Authors(("writer",)))
    world.forge.reviewed[spec.number] = [PullRequestReview("ann", ReviewVerdict.APPROVED, spec.head_sha, NOW)]
    world.publish()
    assert (world.record.verdict.blocking, world.record.verdict.passed) == ((), (LetPass("security", ("ann",)),))


def test_a_newer_attempt_has_no_verdict_yet():
    world = World(planned("a"))
    world.publish()
    assert world.record.verdict.conclusion is Conclusion.SUCCESS
    assert anew(world.record).verdict is None
