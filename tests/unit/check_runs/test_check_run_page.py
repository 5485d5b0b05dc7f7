"""docs/check-runs.md says what check runs look like: held against every state as it is drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders import NOW, any_lock, any_review, deployment_in
from tests.instants import utc
from tests.unit.clusters.cluster_scenario import MANAGEMENT
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.freeze import Freeze, Hold, missing
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval, Gate
from tidegate.deploys.rules.workflow import STEP_FAILED, RunSettings
from tidegate.deploys.texts.presentation import (
    Mark,
    PendingDependency,
    QueuePosition,
    View,
    WaitedFor,
    WorkflowProgress,
)
from tidegate.deploys.texts.text import render

PAGE = (Path(__file__).parents[3] / "docs/check-runs.md").read_text(encoding="utf-8")
FROZEN = missing([Hold(Freeze(reason="quarter end"), utc("2026-03-02T16:50"))], ())
CLUSTER = RunSettings(cluster=MANAGEMENT)
LOCKS = View(locks=True, lock=any_lock())


def in_line(number):
    return View(place=QueuePosition(number, NOW, running=Mark("running")))


EXAMPLES = [
    (deployment_in(State.QUEUED), View()),
    (deployment_in(State.QUEUED), in_line(1)),
    (deployment_in(State.QUEUED), in_line(3)),
    (deployment_in(State.QUEUED), View(lock=any_lock())),
    (
        deployment_in(State.GATED, plan=None, layer=2, layers=3, waits=Waits(roots=("network",))),
        View(waited_for=WaitedFor((PendingDependency("network", "prod", State.PLANNING),))),
    ),
    (
        deployment_in(State.BLOCKED),
        View(waited_for=WaitedFor((PendingDependency("network", "dev", State.PLAN_FAILED),))),
    ),
    (deployment_in(State.BLOCKED, gate=Gate("plan", NOW, cycle="They wait for each other.")), View()),
    (deployment_in(State.REJECTED, error="CommitLeftBranch"), View()),
    (deployment_in(State.AWAITING_REQUIREMENTS, missing=FROZEN.sentences, frozen=FROZEN.frozen), View()),
    (deployment_in(State.GATE_EXPIRED, error="GateBlocked", reason="It waited often."), View()),
    (deployment_in(State.GATE_EXPIRED, missing=("1 approval is required.",)), View()),
    *(
        (deployment_in(state), View())
        for state in State
        if state not in {State.QUEUED, State.OUTCOME_UNKNOWN, State.BLOCKED}
    ),
    (
        deployment_in(
            State.AWAITING_REVIEW,
            review=any_review(approvals=(Approval("reviewer", NOW),)),
            review_rule=ReviewRule(approvals=2),
        ),
        View(),
    ),
    *(
        (deployment_in(state, error=error), View())
        for state in (State.PLAN_FAILED, State.ENGINE_FAULT)
        for error in ("States.Timeout", "States.HeartbeatTimeout")
    ),
    (deployment_in(State.APPLIED, last_lines=f"tidegate: {STEP_FAILED}[tell] ended with code 3."), View()),
    (deployment_in(State.APPLYING, run=CLUSTER), View(workflow=WorkflowProgress("3 of 8 tasks done", ""))),
    (
        deployment_in(State.APPLY_FAILED, run=CLUSTER),
        View(workflow=WorkflowProgress("3 of 8 tasks done", "", "The workflow failed at Upgrade the cluster")),
    ),
    (deployment_in(State.OUTCOME_UNKNOWN), LOCKS),
    (deployment_in(State.OUTCOME_UNKNOWN, error="States.HeartbeatTimeout"), LOCKS),
    (deployment_in(State.OUTCOME_UNKNOWN), View()),
]
DRAWN = [render(deployment, view) for deployment, view in EXAMPLES]


def on_github(check_run):
    """Return the words of the page for a status, a conclusion and the buttons."""
    words = (check_run.conclusion or check_run.status).replace("_", " ")
    buttons = ", ".join(f"**{action.button.value}**" for action in check_run.actions)
    return f"{words}: {buttons}" if buttons else words


@pytest.mark.parametrize("check_run", DRAWN, ids=lambda check_run: check_run.title)
def test_the_page_has_each_state_with_its_conclusion_and_its_buttons(check_run):
    assert f"| {check_run.title} | {on_github(check_run)} |" in PAGE


def test_the_page_has_no_state_that_is_none():
    rows = set(re.findall(r"^\| (.+?) \| .+ \| .+ \|$", PAGE, re.MULTILINE)) - {"Title"}
    assert rows == {check_run.title for check_run in DRAWN}
