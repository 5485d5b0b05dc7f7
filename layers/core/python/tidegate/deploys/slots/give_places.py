"""Give the places for speculative plans back, and hand free ones to those who wait, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.deploys.rules.plan_places import Places, next_turn
from tidegate.ports import PlanPlaces
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound, TooLate

#: Looks at the line in one call: more than there are places. What is left then is done by the next call.
_LOOKS = 200


@dataclass(frozen=True, slots=True)
class PlaceGiver:
    """Gives places. A repository has ``limit`` of them; ``settle`` answers a task token, or raises TooLate.

    Who waits keeps the token, joins the line, and only then looks for a free place; who gives a place back looks at the
    line afterwards. Both change the same item, so one of the two sees the other.
    """

    places: PlanPlaces
    settle: Callable[[str, Mapping[str, Any]], object]
    limit: int

    def leave(self, repository: str, layers: Collection[str]) -> None:
        """Give back the places of layers, also those in line, and hand on what is free. Once more is harmless."""
        if layers:
            self.hand_on(deciding_again(partial(self.places.leave, repository, layers)))

    def hand_on(self, places: Places) -> int:
        """Hand free places to those whose turn it is; return how many were woken."""
        woken = 0
        for _ in range(_LOOKS):
            first = next_turn(places, self.limit).layer
            if first is None:
                break
            if self.places.hand_over(places.repository, first, self.limit):
                woken += self._goes_on(places.repository, first)
            places = self.places.read(places.repository)
        return woken

    def wake(self, repository: str, layer: str) -> bool:
        """Answer the token of a layer that has got a place; return False if nobody waits with it."""
        return self._settled(self._token(repository, layer))

    def _settled(self, token: str) -> bool:
        try:
            if token:
                self.settle(token, {})
        except TooLate:
            return False
        return bool(token)

    def _token(self, repository: str, layer: str) -> str:
        try:
            return self.places.token(repository, layer)
        except NotFound:
            return ""

    def _goes_on(self, repository: str, layer: str) -> bool:
        """Wake a layer. One with which nobody waits any more, as its execution was stopped, needs no place."""
        token = self._token(repository, layer)
        if self._settled(token):
            return True
        deciding_again(lambda: self._drop(repository, layer, token))
        return False

    def _drop(self, repository: str, layer: str, token: str) -> None:
        """Take back the place with whose token nobody waits.

        A retried state keeps a newer token first, and then finds that it has the place: then it goes on by itself.
        """
        seen = self.places.read(repository)
        if self._token(repository, layer) == token:
            self.places.free(seen, layer)
