from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.builders import NOW
from tests.instants import utc
from tests.unit.requests.buttons import ANSWERS, LATER, PressedScenario
from tidegate.deploys.rules.request import Trigger
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
    [(Button.APPROVE, State.APPROVED, True), (Button.REJECT, State.REJECTED, False)],
)
def test_a_press_decides_settles_and_is_announced(button, state, approved):
    scenario = PressedScenario()
    assert scenario.click(button) == "decided"
    assert (scenario.now.state, scenario.now.review.by, scenario.now.review.at) == (state, "reviewer", LATER)
    assert scenario.workflows.settled == {
        "token": {"approved": approved, "by": "reviewer", "at": timestamp_text(LATER)}
    }
    assert scenario.states() == [state]


def test_a_check_run_that_still_shows_the_earlier_button_is_decided_by_it():
    scenario = PressedScenario()
    assert scenario.click("Confirm") == "decided"
    assert scenario.now.state is State.APPROVED


def test_one_approval_of_two_is_shown_and_the_second_decides():
    scenario = PressedScenario(review_rule=ReviewRule(approvals=2))
    scenario.click()
    scenario.publish()
    assert "Approved so far by `reviewer`" in scenario.shown.summary
    assert scenario.workflows.settled == {}
    scenario.click(by="maintainer", at=NOW)
    assert scenario.now.state is State.APPROVED
    assert scenario.now.review.approvals == (Approval("reviewer", LATER), Approval("maintainer", NOW))


def test_an_author_who_may_not_approve_hears_why_and_the_buttons_stay():
    scenario = PressedScenario(review_rule=ReviewRule(exclude_authors=True), authors=("reviewer",))
    assert scenario.click().startswith("refused")
    assert "reviewer authored or requested this change" in scenario.shown.summary
    assert len(scenario.shown.actions) == 2
    assert scenario.now == scenario.deployment


def test_the_same_press_delivered_twice_settles_again_and_decides_once():
    scenario = PressedScenario()
    scenario.click()
    scenario.workflows.waiting.add("token")
    scenario.workflows.settled.clear()
    before = scenario.now
    scenario.click()
    assert scenario.now == before
    assert "token" in scenario.workflows.settled
    assert "no effect" not in scenario.shown.summary


@pytest.mark.parametrize("button", ANSWERS)
def test_a_press_that_died_after_saving_is_settled_though_a_newer_check_run_was_published_meanwhile(button):
    scenario = PressedScenario()
    scenario.deployments.save(decided(scenario.now, ANSWERS[button], "reviewer", LATER))
    scenario.publish()
    assert scenario.click(button) == "decided"
    assert scenario.workflows.settled == {
        "token": {"approved": button is Button.APPROVE, "by": "reviewer", "at": timestamp_text(LATER)}
    }


def test_a_press_that_died_after_saving_is_settled_though_a_refused_press_overlapped_it():
    scenario = PressedScenario()

    class DecidedMeanwhile:
        reads = 0

        def get(self, deployment):
            self.reads += 1
            found = scenario.deployments.get(deployment)
            if self.reads == 1:
                scenario.deployments.save(decided(found, Answer.APPROVE, "reviewer", LATER))
            return found

    assert "write access" in scenario.click(by="mallory", deployments=DecidedMeanwhile())
    assert scenario.forge.check_runs[2].title.startswith("Approved")
    assert scenario.click() == "decided"
    assert "token" in scenario.workflows.settled


@pytest.mark.parametrize("by", ["reviewer", "maintainer"])
def test_a_second_press_has_no_effect_and_hears_who_decided(by):
    scenario = PressedScenario()
    scenario.click(Button.APPROVE)
    before = scenario.now
    scenario.click(Button.REJECT, by=by, at=utc("2026-03-02T11:00"))
    assert scenario.now == before
    assert len(scenario.workflows.settled) == 1
    assert "reviewer already approved this plan" in scenario.shown.summary
    assert (scenario.shown.status, scenario.shown.conclusion, scenario.shown.actions) == (
        "completed",
        Conclusion.NEUTRAL,
        (),
    )
    assert scenario.forge.check_runs[2].title.startswith("Approved")


def test_the_loser_of_a_race_hears_who_decided_also_once_a_newer_check_run_goes_on():
    scenario = PressedScenario()
    scenario.click(Button.APPROVE)
    scenario.publish()
    assert scenario.click(Button.REJECT, by="maintainer") == "refused: outdated"
    assert "reviewer already approved this plan on 2026" in scenario.shown.summary
    assert "https://github.com/acme/infra/runs/2" in scenario.shown.summary
    assert scenario.now.state is State.APPROVED


def test_an_old_check_run_that_is_told_to_go_on_says_who_decided():
    scenario = PressedScenario()
    scenario.click(Button.APPROVE)
    scenario.click(Button.REJECT, by="maintainer")
    scenario.publish()
    assert scenario.shown.title == "Continued in a newer check"
    assert "Approved by `reviewer` on 2026-03-02 10:00 UTC." in scenario.shown.summary


def test_a_press_after_a_rejection_hears_of_it():
    scenario = PressedScenario()
    scenario.click(Button.REJECT)
    scenario.click(Button.APPROVE, by="maintainer")
    assert "reviewer already rejected this plan" in scenario.shown.summary
    assert scenario.shown.conclusion is Conclusion.CANCELLED


def test_many_presses_at_once_have_one_effect():
    scenario = PressedScenario()
    people = [f"person-{number}" for number in range(8)]
    scenario.forge.writers |= set(people)
    start = threading.Barrier(len(people))

    def click(number):
        start.wait()
        return scenario.click(Button.APPROVE if number % 2 else Button.REJECT, by=people[number])

    with ThreadPoolExecutor(len(people)) as pool:
        answers = list(pool.map(click, range(len(people))))
    assert answers.count("decided") == 1
    assert scenario.now.review.by == people[answers.index("decided")]
    assert scenario.workflows.settled["token"]["approved"] is (scenario.now.state is State.APPROVED)


def test_a_press_that_never_gets_through_is_delivered_again():
    scenario = PressedScenario()

    class AlwaysBehind:
        get = scenario.deployments.get

        def save(self, deployment):
            raise Conflict(deployment.id)

    with pytest.raises(Conflict):
        scenario.click(deployments=AlwaysBehind())


def test_somebody_without_write_permission_decides_nothing_hears_why_and_the_buttons_stay():
    scenario = PressedScenario()
    scenario.click(by="mallory")
    assert scenario.now == scenario.deployment
    assert "mallory needs write access to" in scenario.shown.summary
    assert len(scenario.shown.actions) == 2
    assert scenario.workflows.settled == {}


@pytest.mark.parametrize(("by", "answer"), [("maintainer", "decided"), ("reviewer", "refused: Only user:maintainer")])
def test_who_decides_is_whom_access_control_lets_decide(by, answer):
    scenario = PressedScenario(access=Access(review=("user:maintainer",)))
    assert scenario.click(by=by).startswith(answer)


def test_a_plan_whose_text_was_altered_since_it_was_shown_cannot_be_approved():
    scenario = PressedScenario()
    scenario.artifacts.put(scenario.deployment.planned.plan.text.key, b"No changes.")
    assert "was modified after" in scenario.click(Button.APPROVE)
    assert scenario.now == scenario.deployment
    assert "No changes." not in scenario.shown.text
    assert [action.button for action in scenario.shown.actions] == [Button.REJECT]


def test_a_plan_whose_text_was_altered_can_be_rejected():
    scenario = PressedScenario()
    scenario.artifacts.put(scenario.deployment.planned.plan.text.key, b"No changes.")
    assert scenario.click(Button.REJECT) == "decided"


def test_a_button_of_an_outdated_check_run_points_to_the_newest():
    scenario = PressedScenario()
    scenario.click()
    scenario.publish()
    before = scenario.now
    assert scenario.click(Button.UNLOCK, by="maintainer") == "refused: outdated"
    assert scenario.now == before
    assert "This check is outdated" in scenario.shown.summary
    assert "https://github.com/acme/infra/runs/2" in scenario.shown.summary
    assert scenario.shown.actions == ()


def test_an_old_button_does_not_decide_a_review_that_waits_on_a_newer_check_run():
    scenario = PressedScenario()
    scenario.check_runs.remember(replace(scenario.check_runs.published(scenario.deployment.id), id=2))
    assert scenario.click(Button.APPROVE) == "refused: outdated"
    assert scenario.now.state is State.AWAITING_REVIEW
    assert "This check is outdated" in scenario.shown.summary


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
    scenario = PressedScenario()
    assert scenario.click(**foreign) == "refused: foreign"
    assert scenario.now == scenario.deployment
    assert "has no deployment for this" in scenario.shown.summary


def test_a_press_before_the_check_run_was_remembered_counts():
    scenario = PressedScenario()
    scenario.check_runs._published.clear()
    scenario.click()
    assert scenario.now.state is State.APPROVED


def test_an_unknown_button_is_refused():
    scenario = PressedScenario()
    assert "Unknown button" in scenario.click("Destroy")
    assert scenario.now == scenario.deployment


def test_a_press_after_the_review_expired_hears_so():
    scenario = PressedScenario(State.REVIEW_EXPIRED)
    scenario.click()
    assert "The review expired after 7 days" in scenario.shown.summary
    assert "Re-run" in scenario.shown.summary


def test_of_a_pull_requests_head_whose_review_expired_the_command_is_named():
    scenario = PressedScenario(State.REVIEW_EXPIRED, trigger=Trigger.MANUAL, pull_request=5)
    scenario.click()
    assert "Comment `tidegate deploy` again" in scenario.shown.summary
    assert "e-run" not in scenario.shown.summary


@pytest.mark.parametrize("state", [State.NO_CHANGES, State.PLAN_FAILED, State.REFUSED, State.ENGINE_FAULT])
def test_a_press_in_a_state_that_waits_for_nobody_hears_so(state):
    scenario = PressedScenario(state)
    scenario.click()
    assert "does not wait for a review" in scenario.shown.summary
    assert scenario.now.state is state


def test_a_refusal_stays_until_the_deployment_goes_on():
    scenario = PressedScenario()
    scenario.click(by="mallory")
    scenario.publish()
    assert "had no effect" in scenario.shown.summary
    scenario.click()
    scenario.publish()
    assert not any("had no effect" in run.summary for run in scenario.forge.check_runs.values())
