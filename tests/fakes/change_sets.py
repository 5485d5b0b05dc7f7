"""Which deployments belong to one change, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.changes.rules.wave import Wave
from tidegate.ports import Enrolled
from tidegate.rules.errors import Conflict


class MemoryChangeSets:
    """The port ``ChangeSets``."""

    def __init__(self) -> None:
        self._members: dict[str, dict[tuple[str, str], Enrolled]] = {}
        self._waves: dict[tuple[str, str], Wave] = {}

    def enroll(self, change_set: str, deployments: Sequence[Enrolled]) -> None:
        members = self._members.setdefault(change_set, {})
        for one in deployments:
            known = members.get((one.stack, one.root))
            if known is None or known.requested_at < one.requested_at:
                members[one.stack, one.root] = one

    def deployments(self, change_set: str) -> Sequence[Enrolled]:
        members = self._members.get(change_set, {})
        return [members[key] for key in sorted(members)]

    def wave(self, change_set: str, stack: str) -> Wave:
        return self._waves.get((change_set, stack), Wave(change_set, stack))

    def waves(self, change_set: str) -> Sequence[Wave]:
        return [wave for key, wave in sorted(self._waves.items()) if key[0] == change_set]

    def save_wave(self, wave: Wave) -> Wave:
        if self.wave(wave.change, wave.stack).version != wave.version:
            raise Conflict(f"The change {wave.change}")
        saved = replace(wave, version=wave.version + 1)
        self._waves[wave.change, wave.stack] = saved
        return saved
