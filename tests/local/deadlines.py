"""Wait for what the local cloud does by itself."""

from __future__ import annotations

from functools import partial

from tests.e2e.deadlines import eventually

#: Return the first truthy answer of what is asked, within five minutes.
until = partial(eventually, deadline=300.0)
