"""How sentences name several things."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def listed(names: Sequence[str], most: int = sys.maxsize) -> str:
    """Return names, of which there is one at least, as ``a, b and c``; beyond ``most``, how many more there are."""
    shown = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
