from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from tests.builders import NOW, amended, any_artifact, any_deployment, any_lock, any_plan, any_root, deployment_in
from tests.fakes import MemoryCheckRuns
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.usecases.shown_check_runs import move, publish, titles
from tests.unit.usecases.terraform_world import World
from tidegate.check_runs.check_run_view import PLAN_START
from tidegate.check_runs.publish_check_run import publish_check_run
from tidegate.deploys.rules.queue_snapshot import Named, Shown, Standing
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate
from tidegate.ports import PublishedCheckRun
from tidegate.rules.errors import ForgeUnavailable, NotFound
from tidegate.vcs.rules.check_run import Button, CheckRun, Conclusion, digest_of


@pytest.fixture
def world():
    return World()


def test_the_first_state_makes_a_check_run_on_the_commit(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    (check_run,) = world.forge.check_runs.values()
    assert (check_run.sha, check_run.external_id) == (deployment.revision.sha, deployment.id)
    digest = digest_of(check_run)
    published = PublishedCheckRun(deployment.id, 1, 0, closed=False, digest=digest)
    assert world.check_runs.published(deployment.id) == published


def test_a_further_state_updates_it(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    move(world, deployment, State.PLANNING)
    publish(world, deployment)
    assert titles(world) == {1: "Planning"}


def test_a_version_that_is_shown_is_not_shown_again(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    publish(world, deployment)
    assert world.forge.updates == []


def test_a_version_that_is_shown_is_drawn_again_when_its_surroundings_changed(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    publish(world, deployment, again=True)
    assert len(world.forge.updates) == 1


def test_a_completed_check_run_is_never_reopened(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    move(world, deployment, State.APPROVED)
    publish(world, deployment)
    assert titles(world) == {1: "Continued in a newer check", 2: "Approved"}
    old = world.forge.check_runs[1]
    assert (old.status, old.conclusion, old.actions) == ("completed", Conclusion.NEUTRAL, ())
    assert "https://github.com/acme/infra/runs/2" in old.summary


def test_a_completed_check_run_that_stays_completed_is_updated_in_place(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    move(world, deployment, State.REJECTED)
    publish(world, deployment)
    assert titles(world) == {1: "Rejected"}


def test_one_that_steps_aside_gets_no_check_run_that_could_hide_the_one_it_is_run_again_by(world):
    deployment = world.put(deployment_in(State.BLOCKED, gate=Gate("job", NOW)))
    publish(world, deployment)
    gate = Gate("job", NOW, AfterGate.SUPERSEDED, by="alice")
    world.deployments.save(replace(deployment, state=State.GATED, gate=gate))
    publish(world, deployment)
    assert titles(world) == {1: "Superseded"}


def test_the_last_message_shows_the_final_state_whatever_came_between(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    for state in (State.PLANNING, State.AWAITING_REVIEW, State.APPROVED, State.APPLYING, State.APPLIED):
        move(world, deployment, state)
    publish(world, deployment)
    assert titles(world) == {1: "Applied"}


def test_a_check_run_that_was_made_and_not_remembered_is_gone_on_with(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    world.check_runs._published.clear()
    publish(world, deployment)
    assert titles(world) == {1: "Queued"}


def test_a_second_check_run_that_was_made_and_not_remembered_is_gone_on_with(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    before = world.check_runs.published(deployment.id)
    move(world, deployment, State.APPROVED)
    publish(world, deployment)
    world.check_runs.remember(before)
    publish(world, deployment)
    assert titles(world) == {1: "Continued in a newer check", 2: "Approved"}
    assert world.check_runs.published(deployment.id).id == 2


def test_a_deployment_that_ended_before_the_next_attempt_ends_on_the_newest_check_run(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    before = world.check_runs.published(deployment.id)
    move(world, deployment, State.APPROVED)
    publish(world, deployment)
    world.check_runs.remember(before)
    for state in (State.APPLYING, State.APPLIED):
        move(world, deployment, state)
    publish(world, deployment)
    assert titles(world) == {1: "Continued in a newer check", 2: "Applied"}


@pytest.mark.parametrize("calls", range(3))
def test_after_a_forge_that_fails_at_any_call_the_next_attempt_gets_it_right(world, calls):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    move(world, deployment, State.APPROVED)

    class FailsAfter:
        left = calls

        def __getattr__(self, name):
            call = getattr(world.forge, name)
            if name == "check_run_url":
                return call

            def counted(*arguments):
                if self.left == 0:
                    raise ForgeUnavailable("down", 30)
                self.left -= 1
                return call(*arguments)

            return counted

    with pytest.raises(ForgeUnavailable):
        publish_check_run(changed(world.ports, forge=FailsAfter()), deployment.id)
    publish(world, deployment)
    assert titles(world) == {1: "Continued in a newer check", 2: "Approved"}


def test_an_unknown_deployment_is_not_published(world):
    with pytest.raises(NotFound):
        publish(world, any_deployment())


def test_a_plan_is_shown_from_its_artifact(world):
    publish(world, world.put(deployment_in(State.AWAITING_REVIEW)), bucket="artifacts")
    assert "+   resource" in world.forge.check_runs[1].text
    assert "s3://artifacts/" in world.forge.check_runs[1].text


def test_a_plan_that_has_expired_is_left_out(world):
    world.artifacts.objects.clear()
    publish(world, world.put(deployment_in(State.APPLIED)))
    assert world.forge.check_runs[1].text == ""


def test_a_plan_without_changes_is_not_fetched(world):
    publish(world, world.put(deployment_in(State.NO_CHANGES)))
    assert world.forge.check_runs[1].text == ""


def test_of_a_huge_plan_only_the_start_is_read(world):
    content = b"z" * (PLAN_START + 1000)
    text = any_artifact(key="plans/network-plan-1/plan.txt", sha256=sha256(content).hexdigest())
    deployment = world.put(deployment_in(State.AWAITING_REVIEW, plan=any_plan(text=text)))
    world.artifacts.put(text.key, content)
    publish(world, deployment)
    text = world.forge.check_runs[1].text
    assert f"{PLAN_START + 1000 - text.count('z'):,} bytes omitted" in text


def test_an_altered_plan_text_is_not_shown_and_cannot_be_confirmed(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    world.artifacts.put(deployment.planned.plan.text.key, b"No changes.")
    publish(world, deployment)
    shown = world.forge.check_runs[1]
    assert "No changes." not in shown.text
    assert "modified after" in shown.summary
    assert "Reject it and merge again" in shown.summary
    assert [action.button for action in shown.actions] == [Button.REJECT]


def test_a_plan_text_altered_later_is_not_shown_either(world):
    deployment = world.put(deployment_in(State.APPLIED))
    world.artifacts.put(deployment.planned.plan.text.key, b"No changes.")
    publish(world, deployment)
    assert "modified after" in world.forge.check_runs[1].summary
    assert "Reject" not in world.forge.check_runs[1].summary


def stand(world, deployment, standing, *names):
    world.boards.write(deployment.queue, {deployment.id: Shown(standing, NOW, names)}, ())


def test_a_place_in_line_is_shown_as_it_was_read_for_the_whole_line(world):
    deployment = any_deployment(3)
    world.queues.enqueue(deployment)
    standing = Standing(2, "running", reviewing=True, behind="before")
    stand(world, deployment, standing, Named("running", "a" * 40, 41), Named("before", "b" * 40))
    publish(world, deployment, web="https://web.example")
    summary = world.forge.check_runs[1].summary
    assert "[`aaaaaaa`](https://github.com/acme/infra/runs/41) waits for a review" in summary
    assert "waits for [`bbbbbbb`](https://web.example/deployments/before)" in summary
    assert "(https://web.example/queue?repository=acme%2Finfra&root=network)" in summary


def test_a_deployment_in_line_without_web_pages_names_who_runs_without_a_link(world):
    deployment = any_deployment(3)
    world.queues.enqueue(deployment)
    stand(world, deployment, Standing(1, "running"), Named("running", "a" * 40))
    publish(world, deployment)
    assert "* `aaaaaaa` is running." in world.forge.check_runs[1].summary


def test_a_deployment_that_was_just_taken_is_not_behind_anybody(world):
    publish(world, world.put(any_deployment()))
    assert world.forge.check_runs[1].title == "Queued"


@pytest.mark.parametrize(
    ("scope", "words"), [("*", "All roots of this repository are locked"), ("prod", "`prod` is locked")]
)
def test_the_lock_of_a_stack_or_repository_says_what_is_locked_and_until_when(world, scope, words):
    deployment = any_deployment()
    world.queues.enqueue(deployment)
    lock = replace(any_lock(), scope=scope, expires_at=utc("2026-03-02T10:00"), revision="")
    stand(world, deployment, Standing(1, lock=lock))
    publish(world, deployment)
    shown = world.forge.check_runs[1]
    assert words in shown.summary
    assert "10:00" in shown.summary
    assert [each.button for each in shown.actions] == [Button.CANCEL], "one root does not unlock it"


def test_a_lock_is_shown_to_those_who_wait_with_the_deployment_that_put_it_there(world):
    deployment = any_deployment()
    world.queues.enqueue(deployment)
    lock = any_lock(deployment="by-hand")
    stand(world, deployment, Standing(1, lock=lock), Named("by-hand", check_run=9))
    publish(world, deployment)
    assert world.forge.check_runs[1].title == "Blocked: the queue is locked"
    assert "https://github.com/acme/infra/runs/9" in world.forge.check_runs[1].summary


def test_who_waits_is_published_with_four_reads_however_long_the_line(world):
    deployment = any_deployment(3)
    world.queues.enqueue(deployment)
    stand(world, deployment, Standing(150, "running", behind="before"))

    class NotRead:
        def __getattr__(self, name):
            raise AssertionError(name)

    class OnlyItsOwn(MemoryCheckRuns):
        def many(self, deployments):
            raise AssertionError(deployments)

    ports = changed(world.ports, queues=NotRead(), check_runs=OnlyItsOwn(), artifacts=NotRead())
    publish_check_run(ports, deployment.id)
    assert world.forge.check_runs[1].title == "Queued: position 150"


def test_what_looks_as_before_costs_no_call_when_only_news_is_asked_for(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    publish_check_run(world.ports, deployment.id, again=True, if_new=True)
    assert world.forge.updates == []
    stand(world, deployment, Standing(1))
    publish_check_run(world.ports, deployment.id, again=True, if_new=True)
    assert [identifier for identifier, _ in world.forge.updates] == [1]


def test_an_end_that_is_shown_is_remembered_and_what_goes_on_is_not(world):
    waits, ended = world.put(any_deployment(1)), world.put(deployment_in(State.APPLIED, 2))
    publish(world, waits)
    publish(world, ended)
    assert list(world.deployments.unshown()) == [waits.id]


def test_an_end_that_the_forge_did_not_take_is_not_shown(world):
    ended = world.put(deployment_in(State.APPLIED))
    world.forge.failures.append(ForgeUnavailable("down"))
    with pytest.raises(ForgeUnavailable):
        publish(world, ended)
    assert list(world.deployments.unshown()) == [ended.id]


def test_a_re_run_links_to_what_it_repeats_and_has_that_point_to_it(world):
    first = world.put(deployment_in(State.PLAN_FAILED))
    publish(world, first)
    again = world.put(any_deployment(1, id="again", rerun_of=first.id, trigger=Trigger.RERUN))
    publish(world, again)
    assert (
        f"This is a re-run of [`{first.id}`](https://github.com/acme/infra/runs/1)" in world.forge.check_runs[2].summary
    )
    assert world.event_publisher.repeats == [(first.id, "again")]
    publish_check_run(world.ports, first.id, again=True, repeated_by="again")
    assert "[`again`](https://github.com/acme/infra/runs/2)" in world.forge.check_runs[1].summary
    publish(world, first, again=True)
    assert "[`again`](https://github.com/acme/infra/runs/2)" in world.forge.check_runs[1].summary


def test_a_deployment_by_hand_that_ended_without_a_change_offers_no_unlock_while_its_lock_goes(world):
    deployment = world.put(deployment_in(State.REJECTED, trigger=Trigger.MANUAL))
    head, _ = world.queues.read(deployment.queue)
    world.queues.commit(head, replace(head, in_flight=deployment.id, lock=any_lock(deployment=deployment.id)))
    publish(world, deployment)
    assert world.forge.check_runs[1].actions == ()


def test_unlock_is_offered_once_the_queue_is_locked_and_not_before(world):
    deployment = world.put(deployment_in(State.OUTCOME_UNKNOWN))
    head, _ = world.queues.read(deployment.queue)
    head = world.queues.commit(head, replace(head, in_flight=deployment.id))
    publish(world, deployment)
    assert world.forge.check_runs[1].actions == ()
    assert "is being locked" in world.forge.check_runs[1].summary
    lock = any_lock(deployment=deployment.id)
    world.queues.commit(head, replace(head, in_flight=None, lock=lock))
    publish(world, deployment, again=True)
    assert [action.button for action in world.forge.check_runs[1].actions] == [Button.UNLOCK]
    assert "is being locked" not in world.forge.check_runs[1].summary


def test_a_link_leads_to_the_change_that_a_deployment_is_part_of(world):
    publish(world, world.put(any_deployment(1)), web="https://web.example")
    publish(world, world.put(deployment_in(State.PLANNING, 2, change_set="change/1")), web="https://web.example")
    assert "[Change]" not in world.forge.check_runs[1].summary
    assert "[Change](https://web.example/changes/change%2F1)" in world.forge.check_runs[2].summary


def test_links_lead_to_the_log_the_pages_and_the_execution(world):
    links = {"execution": "https://x.example/{deployment}", "web": "https://web.example"}
    queued, applied = any_deployment(1), deployment_in(State.APPLIED, 2)
    failed = deployment_in(State.PLAN_FAILED, 3, plan_job="plan-job")
    for deployment in (queued, applied, failed):
        publish(world, world.put(deployment), **links)
    assert world.forge.check_runs[1].details_url == f"https://web.example/deployments/{queued.id}"
    assert world.forge.check_runs[2].details_url == f"https://web.example/jobs/{applied.apply.job}"
    assert "is in [its log](https://web.example/jobs/network-plan-1)" in world.forge.check_runs[2].text
    assert f"[Execution](https://x.example/{applied.id})" in world.forge.check_runs[2].summary
    assert "Execution" not in world.forge.check_runs[1].summary
    assert "[Log](https://web.example/jobs/plan-job)" in world.forge.check_runs[3].summary


NEWER = utc("2027-03-02T08:00")


@pytest.fixture
def repeated(world):
    """A deployment whose check run comes late, and the one that runs it again, which waits for its review."""
    old = world.put(deployment_in(State.REJECTED))
    new = amended(deployment_in(State.AWAITING_REVIEW), rerun_of=old.id, requested_at=NEWER, trigger=Trigger.RERUN)
    return old, world.put(replace(new, id=f"{old.id.rpartition('-')[0]}-repeats"))


def test_one_that_is_hidden_by_the_check_run_of_an_older_deployment_gets_another(world, repeated):
    old, new = repeated
    publish(world, new)
    publish(world, old)
    assert world.event_publisher.refreshed == [new.id]
    publish(world, new, again=True)
    shown = world.forge.check_runs
    assert (titles(world)[1], shown[3].external_id) == ("Continued in a newer check", new.id)
    assert shown[3].actions
    assert world.check_runs.published(new.id).id == 3
    publish(world, new, again=True)
    assert len(shown) == 3, "it is not hidden any more"


def test_who_hid_one_and_died_says_so_when_it_comes_again(world, repeated):
    old, new = repeated
    publish(world, new)
    made = CheckRun("any", old.revision.sha, old.id, "queued", "Queued", "It waits.")
    world.forge.create_check_run(old.repository, made)
    publish(world, old)
    assert world.event_publisher.refreshed == [new.id]


def test_whoever_comes_in_the_right_order_hides_nobody(world, repeated):
    old, new = repeated
    publish(world, old)
    publish(world, new)
    publish(world, old, again=True)
    assert world.event_publisher.refreshed == []
    assert len(world.forge.check_runs) == 2


@pytest.mark.parametrize("fields", [{"stack": "prod", "shared": True}, {"root": any_root(name="network2")}])
def test_check_runs_of_other_names_hide_nothing(world, repeated, fields):
    old, new = repeated
    world.deployments.save(replace(old, **fields))
    publish(world, new)
    publish(world, old)
    assert world.event_publisher.refreshed == []
