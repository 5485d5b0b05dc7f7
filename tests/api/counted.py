"""How many reads a page takes."""

from __future__ import annotations

STORES = (
    "change_sets",
    "clusters",
    "config_updates",
    "deployments",
    "drifts",
    "insights",
    "pull_requests",
    "queues",
    "repository_index",
    "sign_outs",
)


class Counted:
    """Counts the calls of a store, each of which is one read or at most so many as its hundreds of items."""

    def __init__(self, port, calls):
        self._port, self._calls = port, calls

    def __getattr__(self, name):
        method = getattr(self._port, name)

        def call(*given, **named):
            many = len(given[0]) if name == "many" else 1
            self._calls.append((name, max(1, -(-many // 100))))
            return method(*given, **named)

        return call
