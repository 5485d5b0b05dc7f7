"""Whatever is announced, pushed, judged, paused or dies in between: what must always hold of a config repository."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.fakes import MemoryClock, MemoryForge
from tests.fakes.config_updates import MemoryConfigBranches
from tests.fakes.ports import memory_ports
from tests.unit.config_updates.worker import BEGAN, CONFIG, FILE, dying_after_the_push
from tidegate.config_updates.adapters.replays import result_text
from tidegate.config_updates.announce import announce_images
from tidegate.config_updates.evict import evict_entry
from tidegate.config_updates.hold import release_set
from tidegate.config_updates.pause import pause_queue, resume_queue
from tidegate.config_updates.queue.begin_replay import begin_replay
from tidegate.config_updates.queue.claim_update import claim_update
from tidegate.config_updates.queue.land_update import land_update
from tidegate.config_updates.queue.push_replay import fail_replay, push_replay
from tidegate.config_updates.queue.push_untested import push_untested
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.rules.announcing import Announced
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.rules.replay import Outcome, Replayed, State, bundle_key, result_key
from tidegate.messages.config_updates import (
    BeginReplay,
    ClaimUpdate,
    FailReplay,
    LandUpdate,
    PushReplay,
    PushUntested,
    UpdateClaimed,
)
from tidegate.ports import Moved
from tidegate.vcs.rules.check_report import CheckReport, Source
from tidegate.vcs.rules.comparison import Comparison

#: When a worker dies.
DEATHS = ("before the job", "after the job", "after the push", "before the landing", "between the pushes")
ENTRIES = st.integers(min_value=0, max_value=7)


@dataclass(frozen=True)
class Commit:
    """A commit: what is below it, its images in staging, and the entry that it was made for."""

    parent: str
    images: str
    entry: str = ""


@dataclass
class Repository(MemoryConfigBranches):
    """Branches on a history of commits; every place where the default branch has been is remembered."""

    commits: dict[str, Commit] = field(default_factory=dict)
    been: list[str] = field(default_factory=list)

    def commit(self, parent: str, images: str, entry: str = "") -> str:
        sha = f"{len(self.commits) + 1:040x}"
        self.commits[sha] = Commit(parent, images, entry)
        return sha

    def below(self, sha: str) -> list[str]:
        """Return a commit and all of its ancestors, the newest first."""
        found = []
        while sha:
            found.append(sha)
            sha = self.commits[sha].parent
        return found

    def file_content(self, repository: str, commit: str, path: str) -> bytes | None:
        if path == "tidegate.yaml":
            return FILE
        return self.commits[commit].images.encode() if path == "images/staging.json" else b"{}"

    def move(self, repository: str, branch: str, old: str, new: str) -> Moved:
        moved = super().move(repository, branch, old, new)
        if branch == "main" and moved.done:
            self.been.append(new)
        return moved

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        if base == head:
            return Comparison.IDENTICAL
        return Comparison.AHEAD if base in self.below(head) else Comparison.DIVERGED

    def verdict(self, sha: str) -> str:
        reports = self.reports.get(sha, [])
        return reports[-1].result if reports else ""


class History(MemoryForge):
    """A forge that compares commits by their history."""

    __slots__ = ("repository",)

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        known: Repository = self.repository
        return known.compare(repository, base, head)


class ConfigRepositoryMachine(RuleBasedStateMachine):
    """A config repository, its worker, CI, and people."""

    @initialize()
    def begin(self) -> None:
        self.clock = MemoryClock()
        self.repository = Repository()
        first = self.repository.commit("", "first")
        self.repository.heads["main"] = first
        self.repository.been.append(first)
        forge = History()
        forge.repository = self.repository
        self.ports = memory_ports(config_branches=self.repository, clock=self.clock, forge=forge)
        self.accepted: list[str] = []
        self.evicted: set[str] = set()
        self.builds = 0

    # People and CI

    @rule()
    def announce(self) -> None:
        self.builds += 1
        app_sha = f"{self.builds:040x}"
        images = {
            "web": {"Tag": f"docker.example.com/web:{app_sha}", "Digest": f"docker.example.com/web@sha256:{'0' * 64}"}
        }
        announced = announce_images(self.ports, CONFIG, "shop", app_sha, images, sequence=self.builds, by="acme-ci")
        if announced.result is Announced.ACCEPTED:
            self.accepted.append(announced.entry.id)

    @rule()
    def push_something_else(self) -> None:
        self._push(self.repository.commits[self._main].images)

    @rule()
    def push_other_images(self) -> None:
        self._push(f"by hand {len(self.repository.commits)}")

    def _push(self, images: str) -> None:
        self.repository.heads["main"] = self.repository.commit(self._main, images)
        self.repository.been.append(self._main)
        wake_worker(self.ports, CONFIG)

    @rule(at=ENTRIES, result=st.sampled_from(["success", "failure", "cancelled", "timed_out"]), tells=st.booleans())
    def check(self, at: int, result: str, *, tells: bool) -> None:
        stack = self._head.stack
        if not stack:
            return
        reports = self.repository.reports.setdefault(stack[at % len(stack)].sha, [])
        reports.append(CheckReport(Source.CHECK_RUN, "check", "github-actions", result, len(reports) + 1))
        if tells:
            wake_worker(self.ports, CONFIG)

    @rule(at=ENTRIES)
    def evict(self, at: int) -> None:
        if self._head.open:
            entry = self._head.open[at % len(self._head.open)]
            self.evicted.add(entry)
            evict_entry(self.ports, CONFIG, entry, "operator")

    @rule()
    def pause(self) -> None:
        pause_queue(self.ports, CONFIG, "operator")

    @rule()
    def resume(self) -> None:
        resume_queue(self.ports, CONFIG, "operator")

    @rule()
    def release(self) -> None:
        release_set(self.ports, CONFIG, "shop", "operator")

    @rule()
    def delete_the_auto_branch(self) -> None:
        self.repository.heads.pop("auto", None)

    @rule(minutes=st.integers(min_value=1, max_value=70))
    def wait(self, minutes: int) -> None:
        self.clock.advance(60 * minutes)

    # The worker

    @rule(dies=st.sampled_from(["", *DEATHS]))
    def work(self, dies: str = "") -> None:
        claimed = self._claim()
        of_worker = {"repository": CONFIG, "execution": self._execution}
        if claimed.step in {"align", "apply", "evict"} and dies != "before the job":
            self._replay(of_worker, dies)
        elif claimed.step == "land" and dies != "before the landing":
            land_update(self.ports, LandUpdate(**of_worker, commit=claimed.commit))
        elif claimed.step == "test" and dies == "between the pushes":
            self.repository.move(CONFIG, "auto", self.repository.heads["auto"], claimed.untested[0])
        elif claimed.step == "test":
            push_untested(self.ports, PushUntested(**of_worker, commits=claimed.untested))

    @rule()
    def lose_a_runner(self) -> None:
        if self._claim().step in {"align", "apply", "evict"}:
            lost = FailReplay(repository=CONFIG, execution=self._execution, error="RunnerStopped", cause="")
            fail_replay(self.ports, lost)

    def _claim(self) -> UpdateClaimed:
        wake_worker(self.ports, CONFIG)
        claim = ClaimUpdate(repository=CONFIG, execution=self._execution, rounds=0, started=BEGAN)
        return claim_update(self.ports, claim)

    def _replay(self, of_worker: Mapping[str, str], dies: str) -> None:
        begun, result = begin_replay(self.ports, BeginReplay(**of_worker)), ""
        if begun.commands:
            result = self._make(begun.job)
        if dies != "after the job":
            with dying_after_the_push(self.repository) if dies else nullcontext():
                push_replay(self.ports, PushReplay(**of_worker, result=result))

    def _make(self, job: str) -> str:
        """Make the commits as a runner does; return the digest of their result."""
        replaying = self._head.replaying
        assert replaying is not None
        tip, outcomes = replaying.base, list[Outcome]()
        for entry in replaying.entries:
            images = f"images of {entry}"
            if self.repository.commits[tip].images == images:
                outcomes.append(Outcome(entry, State.NOOP))
            else:
                tip = self.repository.commit(tip, images, entry)
                outcomes.append(Outcome(entry, State.COMMITTED, tip))
        text = result_text(Replayed(tip, tuple(outcomes)))
        self.ports.artifacts.put(result_key(job), text)
        self.ports.artifacts.put(bundle_key(job), b"bundle")
        return hashlib.sha256(text).hexdigest()

    # What always holds

    @invariant()
    def the_default_branch_only_moves_forward(self) -> None:
        been = self.repository.been
        assert all(old in self.repository.below(new) for old, new in pairwise(been))

    @invariant()
    def every_landed_commit_of_ours_was_tested(self) -> None:
        for place in self.repository.been:
            if self.repository.commits[place].entry:
                assert self.repository.verdict(place) == "success" or "success" in {
                    each.result for each in self.repository.reports[place]
                }

    @invariant()
    def no_accepted_entry_is_lost(self) -> None:
        entries = self.ports.config_updates.entries(CONFIG, self.accepted)
        for each in self.accepted:
            assert each in self._head.open or (entries[each].is_ended and entries[each].reason)

    @invariant()
    def nothing_is_in_the_queue_twice(self) -> None:
        assert len(set(self._head.open)) == len(self._head.open)

    @invariant()
    def the_stack_is_a_chain_on_the_base(self) -> None:
        below = self._head.base
        for each in self._head.stack:
            assert self.repository.commits[each.sha] == Commit(below, f"images of {each.entry}", each.entry)
            below = each.sha

    def teardown(self) -> None:
        """Whatever happened, the queue empties once CI reports and people let it."""
        if not hasattr(self, "ports"):
            return
        resume_queue(self.ports, CONFIG, "operator")
        for _ in range(60):
            release_set(self.ports, CONFIG, "shop", "operator")
            self._pass(self._head.stack)
            self.clock.advance(60 * 11)
            self.work()
            if not self._head.open:
                break
        assert self._head.open == ()
        entries: Sequence[str] = self.accepted
        known = self.ports.config_updates.entries(CONFIG, entries)
        assert all(known[each].state is not EntryState.EVICTED or known[each].reason for each in entries)

    def _pass(self, stack: Sequence[object]) -> None:
        for each in self._head.stack:
            reports = self.repository.reports.setdefault(each.sha, [])
            reports.append(CheckReport(Source.CHECK_RUN, "check", "github-actions", "success", len(reports) + 1))

    @property
    def _head(self):  # type: ignore[no-untyped-def]
        return self.ports.config_updates.head(CONFIG)

    @property
    def _main(self) -> str:
        return self.repository.heads["main"]

    @property
    def _execution(self) -> str:
        worker = self._head.worker
        return worker.execution if worker else "none"


TestConfigRepository = ConfigRepositoryMachine.TestCase
