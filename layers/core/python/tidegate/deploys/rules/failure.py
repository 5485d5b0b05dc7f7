"""Failures of state-machine states, as text for people."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tidegate.deploys.rules.policy_status import POLICIES_REFUSED

#: Characters of the engine's last lines, and of an error's message, that the record keeps.
KEPT_LAST_LINES = 12_000


KEPT_MESSAGE = 1_000


#: Messages for errors that people may meet; any other error shows its name.
_WORDS = {
    "TerraformClientError": "",
    POLICIES_REFUSED: "",
    "NoFreePlanSlot": "",
    "NoFreeSlot": "",
    "TooManyWait": "",
    "RunnerNotOffered": "",
    "RunnerFault": "",
    "PlanAltered": "",
    "ApplyNotStarted": "",
    "States.HeartbeatTimeout": "The runner sent no heartbeat for 1 minute. ",
    "States.Timeout": "The time limit was exceeded. ",
    "RunnerStopped": "The runner stopped: ",
    "Interrupted": "The runner was interrupted: ",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure: a sentence or two, and the engine's last lines.

    ``refused`` tells that the code may not be run and was not, ``conflict`` that a person must merge first, ``ended``
    that the engine exited with an error after it was interrupted.
    """

    message: str = ""
    last_lines: str = ""
    refused: bool = False
    conflict: bool = False
    ended: bool = False


def read_cause(cause: str | None) -> Failure:
    """Read the cause of a failed state: a runner's or a Lambda function's JSON, or any text."""
    try:
        document = json.loads(cause or "")
    except (ValueError, RecursionError):
        return Failure(message=(cause or "")[:KEPT_MESSAGE])
    if not isinstance(document, dict):
        return Failure(message=str(document)[:KEPT_MESSAGE])
    message = document.get("message") or document.get("errorMessage") or ""
    last_lines = str(document.get("last_lines") or "")[-KEPT_LAST_LINES:]
    marks = (document.get(mark) is True for mark in ("refused", "conflict", "ended"))
    return Failure(str(message)[:KEPT_MESSAGE], last_lines, *marks)


def in_words(error: str, failure: Failure) -> str:
    """Return the message for a failed state of a state machine."""
    words = _WORDS.get(error, f"{error}: ")
    if error in START_REFUSED:
        words = f"AWS did not start a runner, even after ten retries over several minutes ({error}): "
    # A workflow of a cluster has put its first error into words before.
    return f"{words}{failure.message.removeprefix(words)}".rstrip(" :")


#: Errors that *Start a runner …* retries. ECS uses these names for throttling and missing capacity, and for requests
#: that stay wrong. The state machine sees only the names, so it retries both for some minutes.
START_REFUSED = frozenset(
    {
        "ECS.ThrottlingException",
        "ECS.ServerException",
        "ECS.AmazonECSException",
        "ECS.ClientException",
        "ECS.InvalidParameterException",
        "ECS.LimitExceededException",
        "AmazonECS.Unknown",
    }
)
