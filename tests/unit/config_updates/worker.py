"""One config repository and the worker of its queue, in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from tests.fakes import MemoryClock, MemoryEventPublisher, MemoryForge, MemoryWorkflows
from tests.fakes.config_updates import MemoryConfigBranches
from tests.instants import utc
from tidegate.config_updates.adapters.replays import result_text
from tidegate.config_updates.queue.begin_replay import begin_replay
from tidegate.config_updates.queue.claim_update import claim_update
from tidegate.config_updates.queue.land_update import land_update
from tidegate.config_updates.queue.push_replay import push_replay
from tidegate.config_updates.queue.push_untested import push_untested
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry, entry_id
from tidegate.config_updates.rules.queue import UpdateHead
from tidegate.config_updates.rules.replay import Outcome, Replayed, State, bundle_key, result_key
from tidegate.messages.config_updates import (
    BeginReplay,
    BranchMoved,
    ClaimUpdate,
    LandUpdate,
    PushReplay,
    PushUntested,
    UpdateClaimed,
)
from tidegate.ports import Ports
from tidegate.vcs.rules.check_report import CheckReport, Source

CONFIG = "acme/shop-config"
FILE = b"""\
config_updates:
  required_checks: [{name: check, app: github-actions}]
  sets:
    - name: shop
      app: {repository: acme/shop}
      environments:
        - {name: staging, file: images/staging.json, targets: [{name: staging-eu}]}
        - {name: production, file: images/production.json, targets: [{name: production-eu}]}
"""
BEGAN = utc("2026-11-27T10:00")


class _DiedError(Exception):
    """A step that died."""


@contextmanager
def dying_after_the_push(branches: MemoryConfigBranches) -> Iterator[None]:
    """Let a step die as soon as the auto branch has moved."""

    def dies_after(move: Any) -> Any:
        def moved(*where: Any) -> None:
            move(*where)
            raise _DiedError

        return moved

    with (
        patch.object(branches, "push", dies_after(branches.push)),
        patch.object(branches, "move", dies_after(branches.move)),
        suppress(_DiedError),
    ):
        yield


@dataclass
class Worker:
    """One config repository and the worker of its queue. Commits are counted: c1, c2 …"""

    ports: Ports
    branches: MemoryConfigBranches
    forge: MemoryForge
    clock: MemoryClock
    workflows: MemoryWorkflows
    publisher: MemoryEventPublisher
    made: int = 0
    files: bytes = FILE
    result: str = ""
    trail: list[str] = field(default_factory=list)

    @property
    def head(self) -> UpdateHead:
        return self.ports.config_updates.head(CONFIG)

    @property
    def execution(self) -> str:
        worker = self.head.worker
        return worker.execution if worker else "none"

    def at(self, branch: str) -> str:
        return self.branches.heads.get(branch, "")

    def put(self, sha: str, **files: str) -> str:
        """Give a commit its files: ``tidegate.yaml``, and images by environment."""
        self.branches.files[sha, "tidegate.yaml"] = self.files
        for name, content in files.items():
            self.branches.files[sha, f"images/{name}.json"] = content.encode()
        return sha

    def announce(self, number: int) -> str:
        app_sha = f"{number:040x}"
        entry = UpdateEntry(
            entry_id(EntryKind.ANNOUNCEMENT, CONFIG, "shop", app_sha),
            CONFIG,
            "shop",
            "staging",
            EntryKind.ANNOUNCEMENT,
            BEGAN + timedelta(minutes=number),
            "acme-ci",
            app_sha=app_sha,
            sequence=number,
        )
        self.ports.artifacts.put(entry.images_key, b"{}")
        head = self.head
        self.ports.config_updates.commit(head, replace(head, waiting=(*head.waiting, entry.id)), [entry])
        wake_worker(self.ports, CONFIG)
        return entry.id

    def claim(self) -> UpdateClaimed:
        return claim_update(
            self.ports, ClaimUpdate(repository=CONFIG, execution=self.execution, rounds=0, started=BEGAN)
        )

    def step(self, *, fails: tuple[str, ...] = (), same: tuple[str, ...] = (), undone: int = 0) -> str:
        """Carry out the worker's next step as the machine does; return its name."""
        claimed = self.claim()
        of_worker = {"repository": CONFIG, "execution": self.execution}
        if claimed.step in {"align", "apply", "evict"}:
            begun, self.result = begin_replay(self.ports, BeginReplay(**of_worker)), ""
            if begun.commands:
                self.run(begun.job, fails, same, undone)
            self.push()
        elif claimed.step == "test":
            push_untested(self.ports, PushUntested(**of_worker, commits=claimed.untested))
        elif claimed.step == "land":
            land_update(self.ports, LandUpdate(**of_worker, commit=claimed.commit))
        self.trail.append(claimed.step)
        return claimed.step

    def run(self, job: str, fails: tuple[str, ...] = (), same: tuple[str, ...] = (), undone: int = 0) -> None:
        """Make the commits as a runner does: but for those that fail, change nothing, or come too late."""
        replaying = self.head.replaying
        assert replaying is not None
        outcomes, tip = [], replaying.base
        for each in replaying.entries[: len(replaying.entries) - undone]:
            if each in fails:
                outcomes.append(Outcome(each, State.FAILED, reason="make failed with exit code 2."))
            elif each in same:
                outcomes.append(Outcome(each, State.NOOP))
            else:
                self.made += 1
                tip = self.put(f"c{self.made}", staging=f"images of {each}")
                outcomes.append(Outcome(each, State.COMMITTED, tip))
        self.tell(job, Replayed(tip, tuple(outcomes)))
        self.ports.artifacts.put(bundle_key(job), b"bundle")

    def tell(self, job: str, replayed: Replayed) -> None:
        """Store a result, and answer with its digest, as a runner does."""
        text = result_text(replayed)
        self.ports.artifacts.put(result_key(job), text)
        self.result = hashlib.sha256(text).hexdigest()

    def push(self) -> BranchMoved:
        """Push what the last runner told, if there was any."""
        return push_replay(self.ports, PushReplay(repository=CONFIG, execution=self.execution, result=self.result))

    def until_waiting(self) -> list[str]:
        """Carry out steps until the worker waits; return them."""
        steps = []
        while (step := self.step()) != "wait":
            steps.append(step)
            assert len(steps) < 20
        return steps

    def checked(self, entry: str, result: str, app: str = "github-actions") -> None:
        """Let CI report the required check of an entry's commit."""
        sha = next(each.sha for each in self.head.stack if each.entry == entry)
        reports = self.branches.reports.setdefault(sha, [])
        reports.append(CheckReport(Source.CHECK_RUN, "check", app, result, len(reports) + 1))
        wake_worker(self.ports, CONFIG)

    def state(self, entry: str) -> EntryState:
        return self.ports.config_updates.entry(CONFIG, entry).state

    def later(self, time: timedelta) -> None:
        self.clock.advance(time.total_seconds())
