"""Work that makes very many values, without the garbage collector looking at all of them again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: Values that take longer to look through than they are worth. Fewer are looked at as ever, lest nobody ever does.
_MANY = 100_000


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave the collection of cycles for afterwards; what nobody refers to is freed all the same.

    A file of 10,000 directories becomes a million values, nearly all of which stay: to look through them again and
    again takes longer than to make them. So many count as old afterwards, as what stays does in the end.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_count()[0] > _MANY:
                gc.freeze()
                gc.unfreeze()  # Puts them where the oldest are, and looks at none.
            gc.enable()
