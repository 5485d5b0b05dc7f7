"""A change whose stacks are rolled out as waves, with the steps that the state machines take."""

from __future__ import annotations

from typing import Any

from tests.unit.gates.gate_scenario import CHANGE, GateScenario
from tidegate.changes.rules.waits import Waits
from tidegate.changes.rules.wave import Wave, WaveRules
from tidegate.deploys.queue.record_outcome import record_outcome
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State, is_final
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.record_result import record_result
from tidegate.messages import BeginJob, RecordOutcome, RecordResult
from tidegate.rules.errors import GateShut

NO_WAITS = Waits()
UNREVIEWED = ReviewRule(when=PlanReview.NEVER)
ONE_AT_A_TIME = WaveRules(max_concurrent=1)
STOPS_AT_ONCE = WaveRules(stop_on_failures=1)


class WaveScenario(GateScenario):
    """Plans are applied without a review, unless a test says otherwise."""

    def coming(
        self, root: str, stack: str = "prod", wave: WaveRules = ONE_AT_A_TIME, waits: Waits = NO_WAITS, **fields: Any
    ) -> Deployment:
        """A planned member that comes to its gate next."""
        return self.planned(root, stack, waits, **{"wave": wave, "review_rule": UNREVIEWED, **fields})

    def comes(self, deployment: Deployment) -> str:
        """Let it wait at its gate; return what the machine was answered, if it was."""
        self.waits(deployment, deployment.id)
        return self.answers.get(deployment.id, "")

    def begins(self, deployment: Deployment) -> bool:
        """Let the machine begin its apply; tell whether it did."""
        try:
            begin_job(self.ports, BeginJob(deployment=deployment.id, phase="apply", attempt=1))
        except GateShut:
            self.workflows.settled.pop(deployment.id, None)
            return False
        return True

    def applies(self, *roots: str, **fields: Any) -> list[Deployment]:
        """Members that come to their gates in turn; those that may begin do."""
        members = [self.coming(root, **fields) for root in roots]
        for each in members:
            if self.comes(each) == "apply":
                assert self.begins(each)
        return [self.now(each) for each in members]

    def finishes(self, deployment: Deployment, state: State = State.APPLIED) -> Deployment:
        """Let it end, as both machines record it, and evaluate the gates of whoever then may go on."""
        error = None if state is State.APPLIED else "TerraformClientError"
        if not is_final(self.now(deployment).state):
            message = {"state": state.value, "error": error, "cause": None, "last_lines": ""}
            record_result(self.ports, RecordResult(deployment=deployment.id, **message))
        record_outcome(self.ports, RecordOutcome(queue=deployment.queue, deployment=deployment.id, error=None))
        self.look()
        return self.now(deployment)

    def wave(self, stack: str = "prod") -> Wave:
        return self.change_sets.wave(CHANGE, stack)
