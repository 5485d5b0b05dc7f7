"""Puts what waits for each other in an order, and in layers."""

from __future__ import annotations

import heapq
from collections.abc import Iterator


class CycleError(Exception):
    """Nodes that wait for each other: each for the next, and the last for the first."""

    def __init__(self, nodes: list[int]) -> None:
        super().__init__(f"{len(nodes)} nodes wait for each other")
        self.nodes = nodes


class WaitGraph:
    """Who waits for whom. The first ``members`` nodes are things in order, those after them only stand between.

    Where many wait for many, one node between them takes the place of a pair for each two.
    """

    def __init__(self, members: int) -> None:
        self.members = members
        self._followers: list[list[int]] = [[] for _ in range(members)]
        self._layered: list[list[int]] = [[] for _ in range(members)]

    def between(self) -> int:
        """Return a new node that only stands between others."""
        self._followers.append([])
        self._layered.append([])
        return len(self._followers) - 1

    def wait(self, node: int, before: int, *, layered: bool = True) -> None:
        """Let a node come after another one; ``layered`` tells whether it is in a later layer, too."""
        (self._layered if layered else self._followers)[before].append(node)

    def ordered(self) -> tuple[list[int], list[int]]:
        """Return the members in an order that keeps all of it, and the layer of each member, from 1.

        Where there is a choice, the smallest comes first. A layer is the longest way to a member, counted in members.
        Raise CycleError.
        """
        walk = _Walk(self)
        walk.go()
        if len(walk.order) < self.members:
            raise CycleError(self._cycle(walk.pending))
        return walk.order, walk.layers[: self.members]

    def stuck(self) -> dict[int, list[int]]:
        """Return for each member that no order has a place for the members of the circle that it waits for.

        A member of the circle has it as well. Each waits for the next, and the last for the first.
        """
        walk = _Walk(self)
        walk.go()
        left = [node for node, count in enumerate(walk.pending) if count]
        circles = self._circles(left, left)
        return {node: circles[node] for node in left if node < self.members}

    def after(self, node: int) -> Iterator[int]:
        """Return what waits for a node."""
        yield from self._followers[node]
        yield from self._layered[node]

    def layered_after(self, node: int) -> list[int]:
        """Return what waits for a node, in a later layer."""
        return self._layered[node]

    def __len__(self) -> int:
        return len(self._followers)

    def _cycle(self, pending: list[int]) -> list[int]:
        """Return nodes that wait for each other: from the first that is left, always to one that it waits for."""
        left = [node for node, count in enumerate(pending) if count]
        return self._circles(left[:1], left)[left[0]]

    def _circles(self, starts: list[int], left: list[int]) -> dict[int, list[int]]:
        """Return the circles that some nodes lead into, for each node on the ways there; all wait for ones left."""
        awaited: dict[int, int] = {}
        for node in left:
            for follower in self.after(node):
                awaited.setdefault(follower, node)
        circles: dict[int, list[int]] = {}
        for start in starts:
            way: dict[int, int] = {}
            node = start
            while node not in circles and node not in way:
                way[node] = len(way)
                node = awaited[node]
            circle = circles[node] if node in circles else list(way)[way[node] :]
            circles.update(dict.fromkeys(way, circle))
        return circles


class _Walk:
    """One way through a graph: how many each node still waits for, and the layer of each so far."""

    def __init__(self, graph: WaitGraph) -> None:
        self._graph = graph
        self.order: list[int] = []
        self.layers = [0] * len(graph)
        self.pending = [0] * len(graph)
        self._ready: list[int] = []
        for node in range(len(graph)):
            for follower in graph.after(node):
                self.pending[follower] += 1

    def go(self) -> None:
        for node in [node for node, count in enumerate(self.pending) if not count]:
            self._free(node)
        while self._ready:
            node = heapq.heappop(self._ready)
            self.order.append(node)
            self.layers[node] += 1
            self._pass(node)

    def _free(self, node: int) -> None:
        """Take what waits for nothing any more: a member in its turn, a node between at once."""
        if node < self._graph.members:
            heapq.heappush(self._ready, node)
        else:
            self._pass(node)

    def _pass(self, node: int) -> None:
        for follower in self._graph.layered_after(node):
            self.layers[follower] = max(self.layers[follower], self.layers[node])
        for follower in self._graph.after(node):
            self.pending[follower] -= 1
            if not self.pending[follower]:
                self._free(follower)
