"""Answers of the forge that are used again for some time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
#: Seconds that an answer of the forge is used again for reading. Who may act is always asked anew.
REMEMBERED_SECONDS = 60.0
#: Answers that are kept at once.
REMEMBERED = 5000


class Remembered(Generic[Value]):
    """Answers of the forge, each used again for some time; the oldest goes when there are too many."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._known: OrderedDict[tuple[str, ...], tuple[float, Value]] = OrderedDict()

    def known(self, key: tuple[str, ...], seconds: float = REMEMBERED_SECONDS) -> Value | None:
        """Return the answer for ``key`` if it is not older than that."""
        at = self._known.get(key)
        return at[1] if at is not None and self._monotonic() < at[0] + seconds else None

    def get(self, key: tuple[str, ...], ask: Callable[[], Value], *, anew: bool = False) -> Value:
        """Return the answer for ``key``, which ``ask`` gives. ``anew``: do not use an older one."""
        known = None if anew else self.known(key)
        return self.put(key, ask()) if known is None else known

    def put(self, key: tuple[str, ...], value: Value) -> Value:
        """Remember an answer, and return it."""
        self._known.pop(key, None)
        self._known[key] = (self._monotonic(), value)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return value

    def forget(self, key: tuple[str, ...]) -> None:
        self._known.pop(key, None)

    def __len__(self) -> int:
        return len(self._known)
