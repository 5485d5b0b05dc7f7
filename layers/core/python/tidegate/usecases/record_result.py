"""Record how a deployment ended, show it, and audit it if an apply had begun."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from tidegate.domain.audit import is_audited
from tidegate.domain.deployment import Deployment, State, ends_without_result, is_final
from tidegate.domain.errors import AuditUnavailable, CloudUnavailable
from tidegate.messages import RecordResult, ResultRecorded
from tidegate.ports import Announcements, AuditLog, Clock, Deployments, Jobs

#: Characters of the engine's last lines, and of an error's message, that the record keeps.
KEPT_LAST_LINES = 12_000
KEPT_MESSAGE = 1_000
#: Nothing reports a result any more in these: what ended depends on whether a runner took the apply.
_WITHOUT_RESULT = frozenset({State.ENGINE_FAULT, State.OUTCOME_UNKNOWN})
#: What people read for the errors that they may meet; every other shows its name.
_WORDS = {
    "TerraformClientError": "",
    "States.HeartbeatTimeout": "The runner sent no sign of life for a minute. ",
    "States.Timeout": "The time limit was over. ",
    "RunnerStopped": "The runner stopped: ",
    "Interrupted": "The runner was told to stop: ",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known of a failure: a sentence or two, and the engine's last lines."""

    message: str = ""
    last_lines: str = ""


@dataclass(frozen=True, slots=True)
class ResultRecorder:
    """Records results. A deployment that has ended stays as it is; it is shown and audited again."""

    deployments: Deployments
    jobs: Jobs
    audit: AuditLog
    announcements: Announcements
    clock: Clock

    def record(self, message: RecordResult) -> ResultRecorded:
        """End the deployment. Raise CloudUnavailable when the audit topic does not take the message: try again."""
        deployment = self.deployments.get(message.deployment)
        if not is_final(deployment.state):
            deployment = self.deployments.save(self._ended(deployment, message))
        self.announcements.changed(deployment)
        self._audit(deployment)
        return ResultRecorded(state=deployment.state.value)

    def _ended(self, deployment: Deployment, message: RecordResult) -> Deployment:
        failure = read_cause(message.cause)
        state = State(message.state)
        if state in _WITHOUT_RESULT:
            taken = deployment.apply_job is not None and self.jobs.close(deployment.apply_job)
            state = ends_without_result(deployment.state, apply_was_taken=taken)
        last_lines = (message.last_lines or failure.last_lines)[-KEPT_LAST_LINES:]
        ended = deployment.moved(state, self.clock.now(), _reason(deployment, state, message, failure))
        return replace(ended, last_lines=last_lines)

    def _audit(self, deployment: Deployment) -> None:
        if not is_audited(deployment):
            return
        try:
            self.audit.record(deployment)
        except AuditUnavailable as error:
            raise CloudUnavailable("SNS", str(error)) from error


def read_cause(cause: str | None) -> Failure:
    """Read the cause of a failed state: a runner's or a Lambda function's JSON, or any text."""
    try:
        document = json.loads(cause or "")
    except ValueError:
        return Failure(message=(cause or "")[:KEPT_MESSAGE])
    if not isinstance(document, dict):
        return Failure(message=str(document)[:KEPT_MESSAGE])
    message = document.get("message") or document.get("errorMessage") or ""
    return Failure(str(message)[:KEPT_MESSAGE], str(document.get("last_lines") or "")[-KEPT_LAST_LINES:])


def _reason(deployment: Deployment, state: State, message: RecordResult, failure: Failure) -> str:
    if state is State.REVIEW_EXPIRED:
        review = deployment.review
        late = review is not None and review.approved is not None
        return f"The decision by {review.by} came when the time was over." if late and review else ""
    if message.error is None or state is State.APPLIED:
        return ""
    words = _WORDS.get(message.error, f"{message.error}: ")
    return f"{words}{failure.message}".rstrip(" :")
