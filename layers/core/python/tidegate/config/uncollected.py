"""Work that makes very many values, without the garbage collector looking at all of them again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave the collection of cycles for afterwards; what nobody refers to is freed all the same.

    A file of 10,000 directories becomes a million values, nearly all of which stay: to look through them again and
    again takes longer than to make them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
