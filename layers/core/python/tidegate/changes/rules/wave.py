"""Waves: one stack of one change, rolled out a few deployments at a time, and stopped after some failures.

The members of a stack ask before each apply. A wave is one record, so that of two that ask at once the second sees the
first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from tidegate.texts.sentences import listed

#: Failures that a reason names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class WaveRules:
    """How a stack is rolled out: how many at once, and after how many failures no further one begins."""

    max_concurrent: int | None = None
    stop_on_failures: int | None = None

    @property
    def any(self) -> bool:
        return self.max_concurrent is not None or self.stop_on_failures is not None


@dataclass(frozen=True, slots=True)
class WaveFailure:
    """A root whose newest deployment of the change failed, or ended with an unknown outcome."""

    root: str
    deployment: str


@dataclass(frozen=True, slots=True)
class WaveDecision:
    """A person's word about a wave: who, when, and why."""

    by: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Wave:
    """A stack of a change as it is rolled out.

    ``running`` are the ids of deployments from the beginning of their apply to their outcome. ``accepted`` are failed
    deployments in spite of which a person let it continue (``continued``). Once somebody has ``stopped`` it, nothing
    begins any more.
    """

    change: str
    stack: str
    running: tuple[str, ...] = ()
    failed: tuple[WaveFailure, ...] = ()
    accepted: tuple[str, ...] = ()
    continued: WaveDecision | None = None
    stopped: WaveDecision | None = None
    version: int = 0

    @property
    def counted(self) -> tuple[WaveFailure, ...]:
        """The failures that nobody has accepted."""
        return tuple(each for each in self.failed if each.deployment not in self.accepted)


class Admission(StrEnum):
    """Whether a member of a wave may begin its apply."""

    BEGIN = "begin"
    WAIT = "wait"
    FAILURES = "failures"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """Whether a member may begin its apply, and why not."""

    admission: Admission
    reason: str = ""
    #: Who stopped the wave.
    by: str = ""

    @property
    def begins(self) -> bool:
        return self.admission is Admission.BEGIN


def admission(rules: WaveRules, wave: Wave, root: str, deployment: str) -> AdmissionVerdict:
    """Decide whether a member may begin its apply now. One that has a place keeps it, unless too much failed meanwhile.

    Failures do not hold back the root that failed: it is run again.
    """
    if wave.stopped is not None:
        by = wave.stopped.by
        return AdmissionVerdict(Admission.STOPPED, f"{by} stopped stack {wave.stack} of this change.", by)
    if is_held_by_failures(rules, wave) and root not in {each.root for each in wave.failed}:
        names = listed(sorted(each.root for each in wave.counted), _NAMED)
        reason = f"Stack {wave.stack} does not continue after {_failures(len(wave.counted))}: {names}."
        return AdmissionVerdict(Admission.FAILURES, reason)
    has_room = rules.max_concurrent is None or len(wave.running) < rules.max_concurrent
    if not has_room and deployment not in wave.running:
        reason = f"Stack {wave.stack} applies at most {rules.max_concurrent} at the same time."
        return AdmissionVerdict(Admission.WAIT, reason)
    return AdmissionVerdict(Admission.BEGIN)


def is_held_by_failures(rules: WaveRules, wave: Wave) -> bool:
    """Tell whether so many members failed that no further one begins until a person decides."""
    return rules.stop_on_failures is not None and len(wave.counted) >= rules.stop_on_failures


def begun(wave: Wave, deployment: str) -> Wave:
    """Return the wave with one more that is running."""
    return wave if deployment in wave.running else replace(wave, running=(*wave.running, deployment))


def released(wave: Wave, deployment: str) -> Wave:
    """Return the wave without a deployment that does not begin its apply after all."""
    return replace(wave, running=tuple(each for each in wave.running if each != deployment))


def ended(rules: WaveRules, wave: Wave, root: str, deployment: str, *, is_done: bool, has_failed: bool) -> Wave:
    """Return the wave after a member ended. A root's failure counts until it is done, or fails again.

    Failures are written down only where they count.
    """
    after = released(wave, deployment)
    others = tuple(each for each in wave.failed if each.root != root)
    if has_failed and rules.stop_on_failures is not None:
        return replace(after, failed=(*others, WaveFailure(root, deployment)))
    return replace(after, failed=others) if is_done else after


def continued(wave: Wave, decision: WaveDecision) -> Wave:
    """Return the wave that continues in spite of its failures so far."""
    accepted = tuple(each.deployment for each in wave.failed)
    return replace(wave, accepted=accepted, continued=decision)


def stopped(wave: Wave, decision: WaveDecision) -> Wave:
    """Return the wave of which nothing begins any more. The first decision counts."""
    return wave if wave.stopped else replace(wave, stopped=decision)


def _failures(count: int) -> str:
    return "1 failure" if count == 1 else f"{count} failures"
