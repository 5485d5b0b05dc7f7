"""Look at a deployment's gate: its dependencies, and whether the wave that it belongs to lets it begin its apply."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from tidegate.changes.rules.wave import Admission
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, Dependencies, Dependency, held_by_wave, looked_at
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.deploys.waves import Waves

#: What lets a deployment wait before its review: it would ask people for nothing.
_BEFORE_REVIEW = frozenset({Admission.FAILURES, Admission.STOPPED})


def look_at_gate(
    waves: Waves, deployment: Deployment, dependencies: Collection[Dependency] | Dependencies, at: datetime
) -> Deployment:
    """Return the record after a look at its gate. One that goes on to its apply has a place in its wave then.

    Raise Conflict after concurrent writes of the wave.
    """
    gate = deployment.gate
    if not deployment.change.has_wave or gate is None or gate.next is not None or deployment.state not in WAITING:
        return looked_at(deployment, dependencies, at)
    looked = looked_at(replace(deployment, gate=replace(gate, wave="")), dependencies, at)
    next_ = looked.gate.next if looked.gate else None
    verdict = waves.admit(deployment) if next_ is AfterGate.APPLY else waves.check(deployment)
    if verdict.admission is Admission.STOPPED:
        return held_by_wave(deployment, gate, verdict, at)
    is_held = not verdict.begins if next_ is AfterGate.APPLY else verdict.admission in _BEFORE_REVIEW
    if next_ in {AfterGate.APPLY, AfterGate.REVIEW} and is_held:
        return held_by_wave(deployment, gate, verdict, at)
    return looked
