from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from tests.builders import NOW, amended, any_artifact, any_deployment, any_lock, any_plan, any_root, deployment_in
from tests.fakes import MemoryCheckRuns
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.check_runs.shown_check_runs import move, publish, titles
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.check_runs.check_run_view import PLAN_START
from tidegate.check_runs.publish_check_run import publish_check_run
from tidegate.deploys.rules.queue_snapshot import Named, Shown, Standing
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate
from tidegate.ports import PublishedCheckRun
from tidegate.rules.errors import ForgeUnavailable, NotFound, NotYet
from tidegate.vcs.rules.check_run import Button, CheckRun, Conclusion, digest_of


@pytest.fixture
def scenario():
    return Scenario()


def test_the_first_state_makes_a_check_run_on_the_commit(scenario):
    deployment = scenario.put(any_deployment())
    publish(scenario, deployment)
    (check_run,) = scenario.forge.check_runs.values()
    assert (check_run.sha, check_run.external_id) == (deployment.revision.sha, deployment.id)
    digest = digest_of(check_run)
    published = PublishedCheckRun(deployment.id, 1, 0, closed=False, digest=digest)
    assert scenario.check_runs.published(deployment.id) == published


def test_a_further_state_updates_it(scenario):
    deployment = scenario.put(any_deployment())
    publish(scenario, deployment)
    move(scenario, deployment, State.PLANNING)
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Planning"}


def test_a_version_that_is_shown_is_not_shown_again(scenario):
    deployment = scenario.put(any_deployment())
    publish(scenario, deployment)
    publish(scenario, deployment)
    assert scenario.forge.updates == []


def test_a_version_that_is_shown_is_drawn_again_when_its_surroundings_changed(scenario):
    deployment = scenario.put(any_deployment())
    publish(scenario, deployment)
    publish(scenario, deployment, again=True)
    assert len(scenario.forge.updates) == 1


def test_a_completed_check_run_is_never_reopened(scenario):
    deployment = scenario.put(deployment_in(State.AWAITING_REVIEW))
    publish(scenario, deployment)
    move(scenario, deployment, State.APPROVED)
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Continued in a newer check", 2: "Approved"}
    old = scenario.forge.check_runs[1]
    assert (old.status, old.conclusion, old.actions) == ("completed", Conclusion.NEUTRAL, ())
    assert "https://github.com/acme/infra/runs/2" in old.summary


def test_a_completed_check_run_that_stays_completed_is_updated_in_place(scenario):
    deployment = scenario.put(deployment_in(State.AWAITING_REVIEW))
    publish(scenario, deployment)
    move(scenario, deployment, State.REJECTED)
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Rejected"}


def test_one_that_steps_aside_gets_no_check_run_that_could_hide_the_one_it_is_run_again_by(scenario):
    deployment = scenario.put(deployment_in(State.BLOCKED, gate=Gate("job", NOW)))
    publish(scenario, deployment)
    gate = Gate("job", NOW, AfterGate.SUPERSEDED, by="alice")
    scenario.deployments.save(replace(deployment, state=State.GATED, gate=gate))
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Superseded"}


def test_the_last_message_shows_the_final_state_whatever_came_between(scenario):
    deployment = scenario.put(any_deployment())
    publish(scenario, deployment)
    for state in (State.PLANNING, State.AWAITING_REVIEW, State.APPROVED, State.APPLYING, State.APPLIED):
        move(scenario, deployment, state)
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Applied"}


def test_a_check_run_that_was_made_and_not_remembered_is_gone_on_with(scenario):
    deployment = scenario.put(any_deployment())
    publish(scenario, deployment)
    scenario.check_runs._published.clear()
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Queued"}


def test_a_second_check_run_that_was_made_and_not_remembered_is_gone_on_with(scenario):
    deployment = scenario.put(deployment_in(State.AWAITING_REVIEW))
    publish(scenario, deployment)
    before = scenario.check_runs.published(deployment.id)
    move(scenario, deployment, State.APPROVED)
    publish(scenario, deployment)
    scenario.check_runs.remember(before)
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Continued in a newer check", 2: "Approved"}
    assert scenario.check_runs.published(deployment.id).id == 2


def test_a_deployment_that_ended_before_the_next_attempt_ends_on_the_newest_check_run(scenario):
    deployment = scenario.put(deployment_in(State.AWAITING_REVIEW))
    publish(scenario, deployment)
    before = scenario.check_runs.published(deployment.id)
    move(scenario, deployment, State.APPROVED)
    publish(scenario, deployment)
    scenario.check_runs.remember(before)
    for state in (State.APPLYING, State.APPLIED):
        move(scenario, deployment, state)
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Continued in a newer check", 2: "Applied"}


@pytest.mark.parametrize("calls", range(3))
def test_after_a_forge_that_fails_at_any_call_the_next_attempt_gets_it_right(scenario, calls):
    deployment = scenario.put(deployment_in(State.AWAITING_REVIEW))
    publish(scenario, deployment)
    move(scenario, deployment, State.APPROVED)

    class FailsAfter:
        left = calls

        def __getattr__(self, name):
            call = getattr(scenario.forge, name)
            if name == "check_run_url":
                return call

            def counted(*arguments):
                if self.left == 0:
                    raise ForgeUnavailable("down", 30)
                self.left -= 1
                return call(*arguments)

            return counted

    with pytest.raises(ForgeUnavailable):
        publish_check_run(changed(scenario.ports, forge=FailsAfter()), deployment.id)
    publish(scenario, deployment)
    assert titles(scenario) == {1: "Continued in a newer check", 2: "Approved"}


def test_an_unknown_deployment_is_not_published(scenario):
    with pytest.raises(NotFound):
        publish(scenario, any_deployment())


def test_a_plan_is_shown_from_its_artifact(scenario):
    publish(scenario, scenario.put(deployment_in(State.AWAITING_REVIEW)), bucket="artifacts")
    assert "+   resource" in scenario.forge.check_runs[1].text
    assert "s3://artifacts/" in scenario.forge.check_runs[1].text


def test_a_plan_that_has_expired_is_left_out(scenario):
    scenario.artifacts.objects.clear()
    publish(scenario, scenario.put(deployment_in(State.APPLIED)))
    assert scenario.forge.check_runs[1].text == ""


def test_a_plan_without_changes_is_not_fetched(scenario):
    publish(scenario, scenario.put(deployment_in(State.NO_CHANGES)))
    assert scenario.forge.check_runs[1].text == ""


def test_of_a_huge_plan_only_the_start_is_read(scenario):
    content = b"z" * (PLAN_START + 1000)
    text = any_artifact(key="plans/network-plan-1/plan.txt", sha256=sha256(content).hexdigest())
    deployment = scenario.put(deployment_in(State.AWAITING_REVIEW, plan=any_plan(text=text)))
    scenario.artifacts.put(text.key, content)
    publish(scenario, deployment)
    text = scenario.forge.check_runs[1].text
    assert f"{PLAN_START + 1000 - text.count('z'):,} bytes omitted" in text


def test_an_altered_plan_text_is_not_shown_and_cannot_be_approved(scenario):
    deployment = scenario.put(deployment_in(State.AWAITING_REVIEW))
    scenario.artifacts.put(deployment.planned.plan.text.key, b"No changes.")
    publish(scenario, deployment)
    shown = scenario.forge.check_runs[1]
    assert "No changes." not in shown.text
    assert "modified after" in shown.summary
    assert "Reject it. Re-run this check" in shown.summary
    assert [action.button for action in shown.actions] == [Button.REJECT]


def test_a_plan_text_altered_later_is_not_shown_either(scenario):
    deployment = scenario.put(deployment_in(State.APPLIED))
    scenario.artifacts.put(deployment.planned.plan.text.key, b"No changes.")
    publish(scenario, deployment)
    assert "modified after" in scenario.forge.check_runs[1].summary
    assert "Reject" not in scenario.forge.check_runs[1].summary


def stand(scenario, deployment, standing, *names):
    scenario.boards.write(deployment.queue, {deployment.id: Shown(standing, NOW, names)}, ())


def test_a_place_in_line_is_shown_as_it_was_read_for_the_whole_line(scenario):
    deployment = any_deployment(3)
    scenario.queues.enqueue(deployment)
    standing = Standing(2, "running", reviewing=True, behind="before")
    stand(scenario, deployment, standing, Named("running", "a" * 40, 41), Named("before", "b" * 40))
    publish(scenario, deployment, web="https://web.example")
    summary = scenario.forge.check_runs[1].summary
    assert "[`aaaaaaa`](https://github.com/acme/infra/runs/41) waits for a review" in summary
    assert "waits for [`bbbbbbb`](https://web.example/deployments/before)" in summary
    assert "(https://web.example/queue?repository=acme%2Finfra&root=network)" in summary


def test_a_deployment_in_line_without_web_pages_names_who_runs_without_a_link(scenario):
    deployment = any_deployment(3)
    scenario.queues.enqueue(deployment)
    stand(scenario, deployment, Standing(1, "running"), Named("running", "a" * 40))
    publish(scenario, deployment)
    assert "* `aaaaaaa` is running." in scenario.forge.check_runs[1].summary


def test_a_deployment_that_was_just_taken_is_not_behind_anybody(scenario):
    publish(scenario, scenario.put(any_deployment()))
    assert scenario.forge.check_runs[1].title == "Queued"


@pytest.mark.parametrize(
    ("scope", "words"), [("*", "All roots of this repository are locked"), ("prod", "`prod` is locked")]
)
def test_the_lock_of_a_stack_or_repository_says_what_is_locked_and_until_when(scenario, scope, words):
    deployment = any_deployment()
    scenario.queues.enqueue(deployment)
    lock = replace(any_lock(), scope=scope, expires_at=utc("2026-03-02T10:00"), revision="")
    stand(scenario, deployment, Standing(1, lock=lock))
    publish(scenario, deployment)
    shown = scenario.forge.check_runs[1]
    assert words in shown.summary
    assert "10:00" in shown.summary
    assert [each.button for each in shown.actions] == [Button.CANCEL], "one root does not unlock it"


def test_a_lock_is_shown_to_those_who_wait_with_the_deployment_that_put_it_there(scenario):
    deployment = any_deployment()
    scenario.queues.enqueue(deployment)
    lock = any_lock(deployment="by-hand")
    stand(scenario, deployment, Standing(1, lock=lock), Named("by-hand", check_run=9))
    publish(scenario, deployment)
    assert scenario.forge.check_runs[1].title == "Blocked: the queue is locked"
    assert "https://github.com/acme/infra/runs/9" in scenario.forge.check_runs[1].summary


def test_who_waits_is_published_with_four_reads_however_long_the_line(scenario):
    deployment = any_deployment(3)
    scenario.queues.enqueue(deployment)
    stand(scenario, deployment, Standing(150, "running", behind="before"))

    class NotRead:
        def __getattr__(self, name):
            raise AssertionError(name)

    class OnlyItsOwn(MemoryCheckRuns):
        def many(self, deployments):
            raise AssertionError(deployments)

    ports = changed(scenario.ports, queues=NotRead(), check_runs=OnlyItsOwn(), artifacts=NotRead())
    publish_check_run(ports, deployment.id)
    assert scenario.forge.check_runs[1].title == "Queued: position 150"


def test_what_looks_as_before_costs_no_call_when_only_news_is_asked_for(scenario):
    deployment = scenario.put(any_deployment())
    publish(scenario, deployment)
    publish_check_run(scenario.ports, deployment.id, again=True, if_new=True)
    assert scenario.forge.updates == []
    stand(scenario, deployment, Standing(1))
    publish_check_run(scenario.ports, deployment.id, again=True, if_new=True)
    assert [identifier for identifier, _ in scenario.forge.updates] == [1]


def test_progress_is_published_once_its_time_has_come(scenario):
    deployment = scenario.put(any_deployment())
    later = int(scenario.clock.now().timestamp()) + 7
    with pytest.raises(NotYet) as refused:
        publish_check_run(scenario.ports, deployment.id, not_before=later)
    assert 6 <= refused.value.retry_after <= 7
    assert scenario.forge.check_runs == {}
    scenario.clock.advance(8)
    publish_check_run(scenario.ports, deployment.id, not_before=later)
    assert list(scenario.forge.check_runs) == [1]


def test_an_end_that_is_shown_is_remembered_and_what_goes_on_is_not(scenario):
    waits, ended = scenario.put(any_deployment(1)), scenario.put(deployment_in(State.APPLIED, 2))
    publish(scenario, waits)
    publish(scenario, ended)
    assert list(scenario.deployments.unshown()) == [waits.id]


def test_an_end_that_the_forge_did_not_take_is_not_shown(scenario):
    ended = scenario.put(deployment_in(State.APPLIED))
    scenario.forge.failures.append(ForgeUnavailable("down"))
    with pytest.raises(ForgeUnavailable):
        publish(scenario, ended)
    assert list(scenario.deployments.unshown()) == [ended.id]


def test_a_re_run_links_to_what_it_repeats_and_has_that_point_to_it(scenario):
    first = scenario.put(deployment_in(State.PLAN_FAILED))
    publish(scenario, first)
    again = scenario.put(any_deployment(1, id="again", rerun_of=first.id, trigger=Trigger.RERUN))
    publish(scenario, again)
    assert (
        f"This is a re-run of [`{first.id}`](https://github.com/acme/infra/runs/1)"
        in scenario.forge.check_runs[2].summary
    )
    assert scenario.event_publisher.repeats == [(first.id, "again")]
    publish_check_run(scenario.ports, first.id, again=True, repeated_by="again")
    assert "[`again`](https://github.com/acme/infra/runs/2)" in scenario.forge.check_runs[1].summary
    publish(scenario, first, again=True)
    assert "[`again`](https://github.com/acme/infra/runs/2)" in scenario.forge.check_runs[1].summary


def test_a_deployment_by_hand_that_ended_without_a_change_offers_no_unlock_while_its_lock_goes(scenario):
    deployment = scenario.put(deployment_in(State.REJECTED, trigger=Trigger.MANUAL))
    head, _ = scenario.queues.read(deployment.queue)
    scenario.queues.commit(head, replace(head, in_flight=deployment.id, lock=any_lock(deployment=deployment.id)))
    publish(scenario, deployment)
    assert scenario.forge.check_runs[1].actions == ()


def test_unlock_is_offered_once_the_queue_is_locked_and_not_before(scenario):
    deployment = scenario.put(deployment_in(State.OUTCOME_UNKNOWN))
    head, _ = scenario.queues.read(deployment.queue)
    head = scenario.queues.commit(head, replace(head, in_flight=deployment.id))
    publish(scenario, deployment)
    assert scenario.forge.check_runs[1].actions == ()
    assert "is being locked" in scenario.forge.check_runs[1].summary
    lock = any_lock(deployment=deployment.id)
    scenario.queues.commit(head, replace(head, in_flight=None, lock=lock))
    publish(scenario, deployment, again=True)
    assert [action.button for action in scenario.forge.check_runs[1].actions] == [Button.UNLOCK]
    assert "is being locked" not in scenario.forge.check_runs[1].summary


def test_a_link_leads_to_the_change_that_a_deployment_is_part_of(scenario):
    publish(scenario, scenario.put(any_deployment(1)), web="https://web.example")
    publish(scenario, scenario.put(deployment_in(State.PLANNING, 2, change_set="change/1")), web="https://web.example")
    assert "[Change]" not in scenario.forge.check_runs[1].summary
    assert "[Change](https://web.example/changes/change%2F1)" in scenario.forge.check_runs[2].summary


def test_links_lead_to_the_log_the_pages_and_the_execution(scenario):
    links = {"execution": "https://x.example/{deployment}", "web": "https://web.example"}
    queued, applied = any_deployment(1), deployment_in(State.APPLIED, 2)
    failed = deployment_in(State.PLAN_FAILED, 3, plan_job="plan-job")
    for deployment in (queued, applied, failed):
        publish(scenario, scenario.put(deployment), **links)
    assert scenario.forge.check_runs[1].details_url == f"https://web.example/deployments/{queued.id}"
    assert scenario.forge.check_runs[2].details_url == f"https://web.example/jobs/{applied.apply.job}"
    assert "is in [its log](https://web.example/jobs/network-plan-1)" in scenario.forge.check_runs[2].text
    assert f"[Execution](https://x.example/{applied.id})" in scenario.forge.check_runs[2].summary
    assert "Execution" not in scenario.forge.check_runs[1].summary
    assert "[Log](https://web.example/jobs/plan-job)" in scenario.forge.check_runs[3].summary


NEWER = utc("2027-03-02T08:00")


@pytest.fixture
def repeated(scenario):
    """A deployment whose check run comes late, and the one that runs it again, which waits for its review."""
    old = scenario.put(deployment_in(State.REJECTED))
    new = amended(deployment_in(State.AWAITING_REVIEW), rerun_of=old.id, requested_at=NEWER, trigger=Trigger.RERUN)
    return old, scenario.put(replace(new, id=f"{old.id.rpartition('-')[0]}-repeats"))


def test_one_that_is_hidden_by_the_check_run_of_an_older_deployment_gets_another(scenario, repeated):
    old, new = repeated
    publish(scenario, new)
    publish(scenario, old)
    assert scenario.event_publisher.refreshed == [new.id]
    publish(scenario, new, again=True)
    shown = scenario.forge.check_runs
    assert (titles(scenario)[1], shown[3].external_id) == ("Continued in a newer check", new.id)
    assert shown[3].actions
    assert scenario.check_runs.published(new.id).id == 3
    publish(scenario, new, again=True)
    assert len(shown) == 3, "it is not hidden any more"


def test_who_hid_one_and_died_says_so_when_it_comes_again(scenario, repeated):
    old, new = repeated
    publish(scenario, new)
    made = CheckRun("any", old.revision.sha, old.id, "queued", "Queued", "It waits.")
    scenario.forge.create_check_run(old.repository, made)
    publish(scenario, old)
    assert scenario.event_publisher.refreshed == [new.id]


def test_whoever_comes_in_the_right_order_hides_nobody(scenario, repeated):
    old, new = repeated
    publish(scenario, old)
    publish(scenario, new)
    publish(scenario, old, again=True)
    assert scenario.event_publisher.refreshed == []
    assert len(scenario.forge.check_runs) == 2


@pytest.mark.parametrize("fields", [{"stack": "prod", "shared": True}, {"root": any_root(name="network2")}])
def test_check_runs_of_other_names_hide_nothing(scenario, repeated, fields):
    old, new = repeated
    scenario.deployments.save(replace(old, **fields))
    publish(scenario, new)
    publish(scenario, old)
    assert scenario.event_publisher.refreshed == []


ERROR = 'Error: Unsupported argument\n\n  on main.tf line 2, in resource "a" "b":\n   2: x = 1\n\nNot expected here.\n'


@pytest.mark.parametrize("state", [State.PLAN_FAILED, State.APPLY_FAILED])
def test_errors_of_a_failure_are_at_their_lines_once(scenario, state):
    one = amended(deployment_in(state, root=any_root(dir="live/app")), last_lines=ERROR)
    publish(scenario, scenario.put(one))
    (note,) = scenario.forge.check_runs[1].annotations
    assert (note.path, note.line, note.message) == ("live/app/main.tf", 2, "Not expected here.")
    publish(scenario, one, again=True)
    assert [check_run.annotations for _, check_run in scenario.forge.updates] == [()]


def test_what_did_not_fail_has_no_errors_at_lines(scenario):
    publish(scenario, scenario.put(amended(deployment_in(State.APPLIED), last_lines=ERROR)))
    assert scenario.forge.check_runs[1].annotations == ()
