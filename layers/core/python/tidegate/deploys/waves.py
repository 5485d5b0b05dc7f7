"""Let members of a wave begin their applies, by the rules of their stack, and record how they end.

A member takes its place with a conditional write of the wave, before its apply begins; whoever leaves one wakes the
gates of the change afterwards. A waiting member is stored as such before it asks. So one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.changes.rules.wave import (
    Admission,
    AdmissionVerdict,
    Wave,
    admission,
    begun,
    ended,
    released,
)
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.overview import is_done
from tidegate.deploys.rules.slots import needs_slot
from tidegate.deploys.rules.state import FAILED
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import Conflict


class Waves:
    """The waves of a change. Each is read once, unless others write it meanwhile."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._known: dict[tuple[str, str], Wave] = {}

    def of(self, deployment: Deployment) -> Wave:
        """Return the wave of a deployment."""
        key = deployment.change.id, deployment.stack
        if key not in self._known:
            self._known[key] = self._ports.change_sets.wave(*key)
        return self._known[key]

    def check(self, deployment: Deployment) -> AdmissionVerdict:
        """Return whether a deployment could begin its apply now, without letting it."""
        if not deployment.change.has_wave:
            return AdmissionVerdict(Admission.BEGIN)
        return admission(deployment.change.wave, self.of(deployment), deployment.root.name, deployment.id)

    def is_stopped(self, deployment: Deployment) -> bool:
        """Tell whether somebody stopped the wave of a deployment."""
        return self.check(deployment).admission is Admission.STOPPED

    def admit(self, deployment: Deployment) -> AdmissionVerdict:
        """Let a deployment begin its apply if its wave allows; a repeated call is harmless.

        Raise Conflict after repeated concurrent writes.
        """
        return deciding_again(lambda: self._admit(deployment))

    def _admit(self, deployment: Deployment) -> AdmissionVerdict:
        verdict = self.check(deployment)
        if verdict.begins and deployment.change.has_wave and deployment.change.wave.max_concurrent is not None:
            before = self.of(deployment)
            self._save(before, begun(before, deployment.id))
        return verdict

    def read(self, change: str, records: Mapping[str, Deployment]) -> None:
        """Read all waves of a change, without members that have left: whoever should say so may have died.

        ``records`` are of the change. A wave is read before the members that may have left it are read again.
        """
        for wave in self._ports.change_sets.waves(change):
            self._known[change, wave.stack] = wave
            doubtful = [each for each in wave.running if each not in records or not needs_slot(records[each])]
            fresh = self._ports.deployments.many(doubtful) if doubtful else {}
            after = wave
            for each in doubtful:
                if each not in fresh or not needs_slot(fresh[each]):
                    after = released(after, each)
            try:
                self._save(wave, after)
            except Conflict:
                continue  # It is read again when it is needed.

    def _save(self, before: Wave, after: Wave) -> None:
        key = before.change, before.stack
        if after == before:
            return
        try:
            self._known[key] = self._ports.change_sets.save_wave(after)
        except Conflict:
            del self._known[key]
            raise


def leave_wave(ports: Ports, deployment: Deployment) -> None:
    """Give back the place of a deployment that does not begin its apply now. A repeated call is harmless."""
    if deployment.change.has_wave and deciding_again(lambda: _left(ports, deployment)):
        ports.event_publisher.change_moved(deployment.change.id)


def _left(ports: Ports, deployment: Deployment) -> bool:
    wave = ports.change_sets.wave(deployment.change.id, deployment.stack)
    after = released(wave, deployment.id)
    if after != wave:
        ports.change_sets.save_wave(after)
    return after != wave


def end_in_wave(ports: Ports, deployment: Deployment) -> None:
    """Record in its wave that a deployment ended. The caller wakes the gates. A repeated call is harmless."""
    if deployment.change.has_wave:
        deciding_again(lambda: _ended(ports, deployment))


def _ended(ports: Ports, deployment: Deployment) -> None:
    wave = ports.change_sets.wave(deployment.change.id, deployment.stack)
    after = ended(
        deployment.change.wave,
        wave,
        deployment.root.name,
        deployment.id,
        is_done=is_done(deployment),
        has_failed=deployment.state in FAILED and not is_done(deployment),
    )
    if after != wave:
        ports.change_sets.save_wave(after)
