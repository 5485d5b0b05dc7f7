"""What no machine here does: it makes Nodes and Deployments ready, by their status alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from tests.kubernetes.servers import Cluster

Object = dict[str, Any]
#: Makes a status of an object, and of whether it is well: "True" or "False", as conditions have it.
Rule = Callable[[Object, str], Object]


def condition(kind: str, well: str) -> Object:
    """Return a condition as the API has it, with no instants: the same state is the same status."""
    return {"type": kind, "status": well, "reason": "Simulated", "message": "This is simulated."}


def node(_: Object, well: str) -> Object:
    return {"conditions": [condition("Ready", well)]}


def deployment(found: Object, well: str) -> Object:
    wanted = found["spec"].get("replicas", 1)
    ready = wanted if well == "True" else 0
    return {
        "observedGeneration": found["metadata"]["generation"],
        "replicas": wanted,
        "updatedReplicas": wanted,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "conditions": [condition("Available", well)],
    }


#: Each kind's address, and its rule. Custom resources may be added: they need a status of their own.
RULES: dict[str, Rule] = {"/api/v1/nodes": node, "/apis/apps/v1/deployments": deployment}


class Simulator:
    """Follows a cluster's objects, also over restarts. What ``failing`` names is observed, and is not well."""

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self._ended = threading.Event()

    def follow(self, cluster: Cluster, address: str, rule: Rule) -> None:
        """Give all objects of a kind their status, until the end."""
        with cluster.client() as client:
            while not self._ended.is_set():
                try:
                    self._watch(client, address, rule)
                except httpx.HTTPError:
                    # The server is away for a moment, or for good.
                    self._ended.wait(0.1)

    def end(self) -> None:
        self._ended.set()

    def _watch(self, client: httpx.Client, address: str, rule: Rule) -> None:
        # Each watch begins with all that is there. It is short: the end, and what begins to fail, are seen soon.
        with client.stream("GET", address, params={"watch": "true", "timeoutSeconds": 1}) as events:
            for line in events.iter_lines():
                event = json.loads(line)
                if event["type"] in {"ADDED", "MODIFIED"}:
                    self._observe(client, address, rule, event["object"])

    def _observe(self, client: httpx.Client, address: str, rule: Rule, found: Object) -> None:
        name, namespace = found["metadata"]["name"], found["metadata"].get("namespace")
        status = rule(found, str(name not in self.failing))
        if _holds(found.get("status", {}), status):
            return
        group, _, kind = address.rpartition("/")
        place = f"{group}/namespaces/{namespace}/{kind}" if namespace else address
        client.patch(
            f"{place}/{name}/status",
            # Deleted or changed meanwhile, it is of no interest, or comes again.
            content=json.dumps(
                {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "status": status}
            ),
            headers={"content-type": "application/merge-patch+json"},
        )


@contextmanager
def simulated(cluster: Cluster, rules: Mapping[str, Rule] = RULES) -> Iterator[Simulator]:
    """Make a cluster's objects ready as they appear."""
    simulator = Simulator()
    threads = [threading.Thread(target=simulator.follow, args=(cluster, *each)) for each in rules.items()]
    for thread in threads:
        thread.start()
    try:
        yield simulator
    finally:
        simulator.end()
        for thread in threads:
            thread.join()


def _holds(status: Any, wanted: Any) -> bool:
    """Return whether all that is wanted is there; the server may have added to it."""
    if isinstance(wanted, dict):
        return isinstance(status, dict) and all(_holds(status.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(status, list) and len(status) == len(wanted) and all(map(_holds, status, wanted))
    return bool(status == wanted)
