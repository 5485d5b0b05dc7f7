"""The provider ``simulated``: clusters that are a JSON object in the bucket. For tests, demos and measurements.

Its section of the cluster's file: ``fail: {TASK: MESSAGE}`` lets a task fail until the file says so no more,
``unreachable: {TASK: MESSAGE}`` lets it end as if nothing had answered, ``delay: {TASK: SECONDS}`` lets it take time.
"""

from __future__ import annotations

import json
import re
from typing import Any

from runner.clusters.providers.options import mapping, refuse_unknown, wrong
from runner.clusters.providers.protocol import Status
from runner.clusters.work import Work
from runner.faults import ClusterUnreachable, TaskFailed
from tidegate.clusters.rules.context import Access, ClusterReference, Key
from tidegate.clusters.rules.plan import VersionChange

_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?")
_OPTIONS = ("fail", "unreachable", "delay")
_MOST_SECONDS = 3600


class Simulated:
    """See the module. The state is ``{"fence": n, "clusters": {KEY: {...}}}``."""

    deletes_from_outside = False

    def __init__(self, work: Work) -> None:
        self._work = work

    def validate(self) -> None:
        refuse_unknown(self._work, self._work.options, _OPTIONS)
        for option in _OPTIONS:
            mapping(self._work, option)
        self.act()

    def act(self) -> None:
        """Take time, and fail, as the cluster's file says of this task."""
        work, task = self._work, self._work.order.hook or self._work.order.task
        said = str(mapping(work, "delay").get(task, "0"))
        seconds = float(said) if _NUMBER.fullmatch(said) else -1.0
        if not 0 <= seconds <= _MOST_SECONDS:
            raise wrong(work, f"provider.delay.{task} is no number of seconds up to {_MOST_SECONDS}")
        while seconds > 0:
            work.tools.interruption.check()
            work.pause(min(seconds, 1.0))
            seconds -= 1.0
        if message := mapping(work, "unreachable").get(task):
            raise ClusterUnreachable(str(message))
        if message := mapping(work, "fail").get(task):
            raise TaskFailed(str(message))

    def status(self, key: Key) -> Status:
        found = self._read()["clusters"].get(key)
        if found is None:
            return Status(None, why="There is no such cluster.", gone=True)
        return Status(self._reference(key), ready=True, observed=found["hash"])

    def create(self, key: Key) -> ClusterReference:
        self.act()
        self._make(key)
        return self._reference(key)

    def upgrade(self, key: Key) -> None:
        self.act()
        self._make(key)

    def delete(self, key: Key) -> None:
        self.act()
        state = self._read()
        state["clusters"].pop(key, None)
        self._write(state)

    def install(self, key: Key) -> tuple[VersionChange, ...]:
        return self.components(key, {"simulated-controllers": "1"})

    def components(self, key: Key, versions: dict[str, str]) -> tuple[VersionChange, ...]:
        """Install components on a simulated cluster, and return what has changed."""
        state = self._read()
        cluster = state["clusters"].get(key)
        if cluster is None:
            raise TaskFailed(f"The simulated cluster {key} does not exist: nothing can be installed on it.")
        before = cluster["components"]
        changed = [
            VersionChange(name, before.get(name, ""), to) for name, to in versions.items() if before.get(name) != to
        ]
        if changed:
            before.update(versions)
            self._write(state)
        return tuple(changed)

    def install_resources(self, _key: Key) -> None:
        self.act()

    def move(self, _source: Key, target: Key) -> bool:
        self.act()
        state = self._read()
        if state["owner"] != target:
            state["owner"] = target
            self._write(state)
        return True

    def diagnose(self, key: Key) -> bytes | None:
        return json.dumps(self._read()["clusters"].get(key), indent=1).encode()

    def _make(self, key: Key) -> None:
        state = self._read()
        made = {"hash": self._work.plan.spec_hash, "kubernetes": str(self._work.spec.get("kubernetes", ""))}
        components = state["clusters"].get(key, {}).get("components", {})
        state["clusters"][key] = {**made, "components": components}
        self._write(state)

    def _reference(self, key: Key) -> ClusterReference:
        name = self._work.name if key is self._work.own_key else f"{self._work.name}-{key}"
        return ClusterReference(name, Access.SIMULATED)

    def _read(self) -> dict[str, Any]:
        stored = self._work.bucket.stored(self._key)
        state: dict[str, Any] = json.loads(stored) if stored else {"fence": 0, "clusters": {}, "owner": ""}
        if state["fence"] > self._work.order.fence:
            raise TaskFailed(
                "A later workflow has changed this cluster: this one has lost its lock. Nothing was changed."
            )
        return state

    def _write(self, state: dict[str, Any]) -> None:
        content = json.dumps({**state, "fence": self._work.order.fence}, sort_keys=True)
        self._work.bucket.store(self._key, content.encode())

    @property
    def _key(self) -> str:
        return self._work.bucket.key("simulated.json")
