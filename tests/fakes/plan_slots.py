"""The places for speculative plans, in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from dataclasses import replace

from tidegate.deploys.rules.plan_slots import Precedence, SlotUsage, handed_over, joined, left, taken
from tidegate.rules.errors import Conflict, NotFound


class MemoryPlanSlots:
    """The port ``PlanSlots``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[str, SlotUsage] = {}
        self._tokens: dict[tuple[str, str], tuple[str, str]] = {}
        self._busy: set[str] = set()

    def read(self, repository: str) -> SlotUsage:
        with self._lock:
            return self._places.get(repository, SlotUsage(repository))

    def take(self, repository: str, layer: str, limit: int) -> SlotUsage:
        with self._lock:
            return self._put(taken(self._known(repository), layer, limit))

    def join(self, repository: str, layer: str, precedence: Precedence = Precedence.PLAN) -> SlotUsage:
        with self._lock:
            return self._put(joined(self._known(repository), layer, precedence))

    def hand_over(self, repository: str, layer: str, limit: int) -> bool:
        with self._lock:
            after = handed_over(self._known(repository), layer, limit)
            if after is not None:
                self._put(after)
            return after is not None

    def leave(self, repository: str, layers: Collection[str]) -> SlotUsage:
        with self._lock:
            self._places[repository] = left(self._known(repository), layers)
            return self._places[repository]

    def free(self, seen: SlotUsage, layer: str) -> SlotUsage:
        with self._lock:
            known = self._known(seen.repository)
            if known.version != seen.version:
                raise Conflict(f"The places of {seen.repository}")
            self._places[seen.repository] = replace(left(known, [layer]), version=known.version + 1)
            return self._places[seen.repository]

    def keep_token(self, repository: str, layer: str, token: str, attempt: str = "") -> bool:
        with self._lock:
            _, before = self._tokens.get((repository, layer), ("", ""))
            if attempt < before:
                return False
            self._tokens[repository, layer] = (token, attempt)
            return True

    def token(self, repository: str, layer: str) -> str:
        with self._lock:
            if (repository, layer) not in self._tokens:
                raise NotFound("token of a place for", layer)
            return self._tokens[repository, layer][0]

    def busy(self) -> Iterable[str]:
        with self._lock:
            return sorted(self._busy)

    def rest(self, repository: str) -> None:
        with self._lock:
            if self._known(repository).is_quiet:
                self._busy.discard(repository)

    def _known(self, repository: str) -> SlotUsage:
        return self._places.get(repository, SlotUsage(repository))

    def _put(self, places: SlotUsage) -> SlotUsage:
        self._places[places.repository] = places
        if not places.is_quiet:
            self._busy.add(places.repository)
        return places
