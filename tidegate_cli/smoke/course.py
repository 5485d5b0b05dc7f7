"""The course of a smoke test: steps in order, each with its time limit, and the cleanup."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import httpx
from botocore.exceptions import BotoCoreError, ClientError

from tidegate_cli.problems import Problem

Found = TypeVar("Found")
Verdict = Literal["passed", "failed", "skipped"]
_PERMISSIONS = "docs/smoke.md lists the permissions that the caller needs."


class StepFailed(Exception):
    """A step did not see what it should: ``seen`` is what it saw instead, ``look_at`` where to look."""

    def __init__(self, seen: str, look_at: str = "") -> None:
        super().__init__(seen)
        self.seen, self.look_at = seen, look_at


class StepSkipped(Exception):
    """A step has nothing to do in this installation; the message says why."""


class Within:
    """The time that a step has. ``pause`` is how long it waits between two looks, in seconds."""

    def __init__(self, seconds: float, pause: float) -> None:
        self.seconds, self._pause = seconds, pause
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._end - time.monotonic())

    def until(self, look: Callable[[], Found | None], seen: Callable[[], str], look_at: str) -> Found:
        """Return the first answer of ``look`` that is not None. Raise StepFailed, with what is ``seen`` at the end."""
        while (found := look()) is None:
            if not self.left:
                raise StepFailed(f"Not within {self.seconds / 60:g} min. {seen()}", look_at)
            time.sleep(self._pause)
        return found


@dataclass(frozen=True, slots=True)
class Step:
    """A step: ``act`` does it within a time, and returns what it saw. Raise StepFailed, StepSkipped."""

    name: str
    minutes: float
    act: Callable[[Within], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended. ``said`` is what was seen, ``look_at`` where to look after a failure."""

    step: str
    verdict: Verdict
    seconds: float = 0.0
    said: str = ""
    look_at: str = ""


def run(
    steps: Sequence[Step], cleaning: Sequence[Step], pause: float, tell: Callable[[Step, Outcome | None], None]
) -> list[Outcome]:
    """Take the steps until one fails, then clean, whatever happened. ``tell`` hears of each begin and end.

    Ctrl-C ends the step that is being taken, and the cleaning begins. A second one ends that, too.
    """
    outcomes: list[Outcome] = []
    for step in steps:
        if any(outcome.verdict == "failed" for outcome in outcomes):
            outcomes.append(Outcome(step.name, "skipped", said="An earlier step failed."))
            tell(step, outcomes[-1])
        else:
            outcomes.append(_take(step, pause, tell))
    return outcomes + [_take(step, pause, tell, is_cleaning=True) for step in cleaning]


def _take(
    step: Step, pause: float, tell: Callable[[Step, Outcome | None], None], *, is_cleaning: bool = False
) -> Outcome:
    tell(step, None)
    begun = time.monotonic()
    try:
        verdict, said, look_at = _tried(step, Within(step.minutes * 60, pause))
    except KeyboardInterrupt:
        if is_cleaning:
            raise
        verdict, said, look_at = "failed", "You pressed Ctrl-C.", ""
    outcome = Outcome(step.name, verdict, time.monotonic() - begun, said, look_at)
    tell(step, outcome)
    return outcome


def _tried(step: Step, within: Within) -> tuple[Verdict, str, str]:
    try:
        return "passed", step.act(within), ""
    except StepSkipped as reason:
        return "skipped", str(reason), ""
    except Exception as error:  # noqa: BLE001 - nothing that a step meets may keep the rest from being cleaned.
        return "failed", *_told(error)


def _told(error: Exception) -> tuple[str, str]:
    """Return what was seen, and where to look."""
    match error:
        case StepFailed():
            return error.seen, error.look_at
        case Problem():
            return error.message, error.hint
        case BotoCoreError() | ClientError():
            return f"AWS answered: {error}", _PERMISSIONS
        case httpx.HTTPError():
            return f"GitHub did not answer ({type(error).__name__}).", "Check the network, and try again."
        case OSError():
            return f"This machine failed: {error}", ""
    return f"Internal error ({type(error).__name__}: {error})"[:300], "Please report it."
