from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.builders import NOW
from tests.instants import utc
from tests.unit.usecases.press_world import ANSWERS, LATER, PressedWorld
from tidegate.deploys.rules.review import Answer, decided
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval
from tidegate.rules.access import Access
from tidegate.rules.errors import Conflict
from tidegate.rules.timestamp import timestamp_text
from tidegate.vcs.rules.check_run import Button, Conclusion


@pytest.mark.parametrize(
    ("button", "state", "approved"),
    [(Button.CONFIRM, State.APPROVED, True), (Button.REJECT, State.REJECTED, False)],
)
def test_a_press_decides_settles_and_is_announced(button, state, approved):
    world = PressedWorld()
    assert world.press(button) == "decided"
    assert (world.now.state, world.now.review.by, world.now.review.at) == (state, "reviewer", LATER)
    assert world.workflows.settled == {"token": {"approved": approved, "by": "reviewer", "at": timestamp_text(LATER)}}
    assert world.states() == [state]


def test_one_confirmation_of_two_is_shown_and_the_second_decides():
    world = PressedWorld(review_rule=ReviewRule(approvals=2))
    world.press()
    world.publish()
    assert "Confirmed so far by `reviewer`" in world.shown.summary
    assert world.workflows.settled == {}
    world.press(by="maintainer", at=NOW)
    assert world.now.state is State.APPROVED
    assert world.now.review.approvals == (Approval("reviewer", LATER), Approval("maintainer", NOW))


def test_an_author_who_may_not_confirm_hears_why_and_the_buttons_stay():
    world = PressedWorld(review_rule=ReviewRule(exclude_authors=True), authors=("reviewer",))
    assert world.press().startswith("refused")
    assert "reviewer authored or requested this change" in world.shown.summary
    assert len(world.shown.actions) == 2
    assert world.now == world.deployment


def test_the_same_press_delivered_twice_settles_again_and_decides_once():
    world = PressedWorld()
    world.press()
    world.workflows.waiting.add("token")
    world.workflows.settled.clear()
    before = world.now
    world.press()
    assert world.now == before
    assert "token" in world.workflows.settled
    assert "no effect" not in world.shown.summary


@pytest.mark.parametrize("button", ANSWERS)
def test_a_press_that_died_after_saving_is_settled_though_a_newer_check_run_was_published_meanwhile(button):
    world = PressedWorld()
    world.deployments.save(decided(world.now, ANSWERS[button], "reviewer", LATER))
    world.publish()
    assert world.press(button) == "decided"
    assert world.workflows.settled == {
        "token": {"approved": button is Button.CONFIRM, "by": "reviewer", "at": timestamp_text(LATER)}
    }


def test_a_press_that_died_after_saving_is_settled_though_a_refused_press_overlapped_it():
    world = PressedWorld()

    class DecidedMeanwhile:
        reads = 0

        def get(self, deployment):
            self.reads += 1
            found = world.deployments.get(deployment)
            if self.reads == 1:
                world.deployments.save(decided(found, Answer.APPROVE, "reviewer", LATER))
            return found

    assert "write access" in world.press(by="mallory", deployments=DecidedMeanwhile())
    assert world.forge.check_runs[2].title.startswith("Approved")
    assert world.press() == "decided"
    assert "token" in world.workflows.settled


@pytest.mark.parametrize("by", ["reviewer", "maintainer"])
def test_a_second_press_has_no_effect_and_hears_who_decided(by):
    world = PressedWorld()
    world.press(Button.CONFIRM)
    before = world.now
    world.press(Button.REJECT, by=by, at=utc("2026-03-02T11:00"))
    assert world.now == before
    assert len(world.workflows.settled) == 1
    assert "reviewer already confirmed this plan" in world.shown.summary
    assert (world.shown.status, world.shown.conclusion, world.shown.actions) == ("completed", Conclusion.NEUTRAL, ())
    assert world.forge.check_runs[2].title.startswith("Approved")


def test_the_loser_of_a_race_hears_who_decided_also_once_a_newer_check_run_goes_on():
    world = PressedWorld()
    world.press(Button.CONFIRM)
    world.publish()
    assert world.press(Button.REJECT, by="maintainer") == "refused: outdated"
    assert "reviewer already confirmed this plan on 2026" in world.shown.summary
    assert "https://github.com/acme/infra/runs/2" in world.shown.summary
    assert world.now.state is State.APPROVED


def test_an_old_check_run_that_is_told_to_go_on_says_who_decided():
    world = PressedWorld()
    world.press(Button.CONFIRM)
    world.press(Button.REJECT, by="maintainer")
    world.publish()
    assert world.shown.title == "Continued in a newer check"
    assert "Confirmed by `reviewer` on 2026-03-02 10:00 UTC." in world.shown.summary


def test_a_press_after_a_rejection_hears_of_it():
    world = PressedWorld()
    world.press(Button.REJECT)
    world.press(Button.CONFIRM, by="maintainer")
    assert "reviewer already rejected this plan" in world.shown.summary
    assert world.shown.conclusion is Conclusion.CANCELLED


def test_many_presses_at_once_have_one_effect():
    world = PressedWorld()
    people = [f"person-{number}" for number in range(8)]
    world.forge.writers |= set(people)
    start = threading.Barrier(len(people))

    def press(number):
        start.wait()
        return world.press(Button.CONFIRM if number % 2 else Button.REJECT, by=people[number])

    with ThreadPoolExecutor(len(people)) as pool:
        answers = list(pool.map(press, range(len(people))))
    assert answers.count("decided") == 1
    assert world.now.review.by == people[answers.index("decided")]
    assert world.workflows.settled["token"]["approved"] is (world.now.state is State.APPROVED)


def test_a_press_that_never_gets_through_is_delivered_again():
    world = PressedWorld()

    class AlwaysBehind:
        get = world.deployments.get

        def save(self, deployment):
            raise Conflict(deployment.id)

    with pytest.raises(Conflict):
        world.press(deployments=AlwaysBehind())


def test_somebody_without_write_permission_decides_nothing_hears_why_and_the_buttons_stay():
    world = PressedWorld()
    world.press(by="mallory")
    assert world.now == world.deployment
    assert "mallory needs write access to" in world.shown.summary
    assert len(world.shown.actions) == 2
    assert world.workflows.settled == {}


@pytest.mark.parametrize(("by", "answer"), [("maintainer", "decided"), ("reviewer", "refused: Only user:maintainer")])
def test_who_decides_is_whom_access_control_lets_decide(by, answer):
    world = PressedWorld(access=Access(review=("user:maintainer",)))
    assert world.press(by=by).startswith(answer)


def test_a_plan_whose_text_was_altered_since_it_was_shown_cannot_be_confirmed():
    world = PressedWorld()
    world.artifacts.put(world.deployment.planned.plan.text.key, b"No changes.")
    assert "was modified after" in world.press(Button.CONFIRM)
    assert world.now == world.deployment
    assert "No changes." not in world.shown.text
    assert [action.button for action in world.shown.actions] == [Button.REJECT]


def test_a_plan_whose_text_was_altered_can_be_rejected():
    world = PressedWorld()
    world.artifacts.put(world.deployment.planned.plan.text.key, b"No changes.")
    assert world.press(Button.REJECT) == "decided"


def test_a_button_of_an_outdated_check_run_points_to_the_newest():
    world = PressedWorld()
    world.press()
    world.publish()
    before = world.now
    assert world.press(Button.UNLOCK, by="maintainer") == "refused: outdated"
    assert world.now == before
    assert "This check is outdated" in world.shown.summary
    assert "https://github.com/acme/infra/runs/2" in world.shown.summary
    assert world.shown.actions == ()


def test_an_old_button_does_not_decide_a_review_that_waits_on_a_newer_check_run():
    world = PressedWorld()
    world.check_runs.remember(replace(world.check_runs.published(world.deployment.id), id=2))
    assert world.press(Button.CONFIRM) == "refused: outdated"
    assert world.now.state is State.AWAITING_REVIEW
    assert "This check is outdated" in world.shown.summary


@pytest.mark.parametrize(
    "foreign",
    [
        {"external_id": "no-such-deployment"},
        {"repository": "mallory/infra"},
        {"sha": "f" * 40},
        {"name": "tidegate/deploy: other"},
    ],
)
def test_a_button_of_a_check_run_that_is_not_ours_does_nothing_and_says_so(foreign):
    world = PressedWorld()
    assert world.press(**foreign) == "refused: foreign"
    assert world.now == world.deployment
    assert "belongs to no deployment" in world.shown.summary


def test_a_press_before_the_check_run_was_remembered_counts():
    world = PressedWorld()
    world.check_runs._published.clear()
    world.press()
    assert world.now.state is State.APPROVED


def test_an_unknown_button_is_refused():
    world = PressedWorld()
    assert "Unknown button" in world.press("Destroy")
    assert world.now == world.deployment


def test_a_press_after_the_review_expired_hears_so():
    world = PressedWorld(State.REVIEW_EXPIRED)
    world.press()
    assert "The review expired after 7 days" in world.shown.summary


@pytest.mark.parametrize("state", [State.NO_CHANGES, State.PLAN_FAILED, State.REFUSED, State.ENGINE_FAULT])
def test_a_press_in_a_state_that_waits_for_nobody_hears_so(state):
    world = PressedWorld(state)
    world.press()
    assert "does not wait for a review" in world.shown.summary
    assert world.now.state is state


def test_a_refusal_stays_until_the_deployment_goes_on():
    world = PressedWorld()
    world.press(by="mallory")
    world.publish()
    assert "had no effect" in world.shown.summary
    world.press()
    world.publish()
    assert not any("had no effect" in run.summary for run in world.forge.check_runs.values())
