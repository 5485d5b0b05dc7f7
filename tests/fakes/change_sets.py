"""Which deployments belong to one change, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.ports import Enrolled


class MemoryChangeSets:
    """The port ``ChangeSets``."""

    def __init__(self) -> None:
        self._members: dict[str, dict[tuple[str, str], Enrolled]] = {}

    def enroll(self, change_set: str, deployments: Sequence[Enrolled]) -> None:
        members = self._members.setdefault(change_set, {})
        for one in deployments:
            known = members.get((one.stack, one.root))
            if known is None or known.requested_at < one.requested_at:
                members[one.stack, one.root] = one

    def deployments(self, change_set: str) -> Sequence[Enrolled]:
        members = self._members.get(change_set, {})
        return [members[key] for key in sorted(members)]
