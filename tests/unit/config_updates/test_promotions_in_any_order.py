"""Announcements, landings, reports, holds and lost news in any order."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.unit.config_updates.promotion_scenario import REPOSITORY, Promotions
from tidegate.config_updates.promotions.review_promotions import decided
from tidegate.config_updates.rules.entry import EntryKind, EntryState
from tidegate.config_updates.rules.image_set import identity_of
from tidegate.config_updates.rules.promotion import Stage
from tidegate.reconciler.follow_promotions import follow_promotions
from tidegate.reconciler.reconciler_pass import ReconcilerPass

TARGETS = ("s1", "s2", "s3", "i1", "p1", "p2")
ABOVE = {"internal": "staging", "production": "internal"}


class PromotionsInAnyOrder(RuleBasedStateMachine):
    """The scenario, and what was ever complete in each environment."""

    @initialize()
    def begin(self):
        self.shop = Promotions()
        self.images: dict[str, str] = {}
        self.complete: set[tuple[str, str]] = set()
        self.lost = self.missed = False

    @rule(again=st.booleans())
    def announce(self, again):
        """Announce new images, or those of before with a new commit."""
        number = len(self.images)
        images = f"images {number - 1 if again and number else number}"
        with self._news():
            entry = self.shop.announce(images, number=number)
        self.images[entry.id] = images

    @precondition(lambda self: self.shop.store.head(REPOSITORY).waiting)
    @rule()
    def land(self):
        """Land the first entry, whatever it is."""
        entry = self._first()
        with self._news():
            if entry.state is EntryState.QUEUED:
                entry = self.shop.test(entry)
            self.shop.land(entry, self.images.get(entry.id))

    @precondition(lambda self: self.shop.store.head(REPOSITORY).waiting)
    @rule()
    def evict(self):
        with self._news():
            self.shop.end(self._first(), EntryState.EVICTED, "build failed.")

    @rule()
    def push(self):
        self.shop.push({"README.md": str(len(self.shop.line.commits)).encode()})

    @rule(who=st.sets(st.sampled_from(TARGETS), min_size=1), ago=st.integers(0, 3), succeeded=st.booleans())
    def report(self, who, ago, succeeded):
        """Let targets report a late commit, or the newest one."""
        commits = self.shop.line.commits
        sha = commits[max(0, len(commits) - 1 - ago)]
        for each in sorted(who):
            if (sha, self._file(each)) in self.shop.branches.files:
                self.shop.report(each, sha, succeeded=succeeded)
                self._remember()

    @rule()
    def everybody_reports(self):
        for each in TARGETS:
            if (self.shop.tip, self._file(each)) in self.shop.branches.files:
                self.shop.report(each)
                self._remember()

    @rule()
    def hold(self):
        self.shop.hold("shop")

    @rule()
    def release(self):
        self.shop.hold("shop", hold=False)
        self.reconcile()

    @rule()
    def lose_news(self):
        self.lost = True

    @rule()
    def kill_an_execution(self):
        """End an execution that waits, as an operator may."""
        for each in self.shop.store.open_promotions(REPOSITORY):
            if each.execution in self.shop.machines:
                self.shop.ports.update_workflows.endings[each.execution] = "ABORTED"
                self.shop.machines[each.execution] = ""
                self.shop.workflows.waiting.discard(each.token)
                return

    @rule()
    def reconcile(self):
        clock = self.shop.ports.clock
        turn = ReconcilerPass(clock, clock.now() + timedelta(minutes=3))
        follow_promotions(self.shop.ports, turn)
        assert turn.failures == []
        self.shop.go_on()
        self.missed = False
        self._remember()

    @invariant()
    def an_image_set_is_promoted_once(self):
        made = Counter((each.environment_key, each.source_sha) for each in self._promotions())
        assert all(count == 1 for count in made.values())

    @invariant()
    def what_is_promoted_was_complete_in_the_environment_above(self):
        self._remember()
        for each in self._promotions():
            content = self.shop.branches.files[each.source_sha, self.shop.source_file(each)]
            assert (ABOVE[each.environment], identity_of(content)) in self.complete

    @invariant()
    def nobody_waits_for_what_has_happened(self):
        """Whose news were lost waits until the reconciler looks."""
        if self.missed:
            return
        for each in self.shop.store.open_promotions(REPOSITORY):
            if each.stage is Stage.TARGETS and each.token:
                assert decided(self.shop.ports, each).stage is Stage.TARGETS

    def teardown(self):
        """Once everything is reconciled and reports, nothing is stuck: what is open waits for a known reason."""
        if not hasattr(self, "shop"):
            return
        self.shop.hold("shop", hold=False)
        self.lost = False
        for _ in range(6):
            self.reconcile()
            while self.shop.store.head(REPOSITORY).waiting:
                self.land()
            self.everybody_reports()
        self.reconcile()
        assert [each.stage for each in self.shop.store.open_promotions(REPOSITORY)] == []
        states = {each.name: each for each in self.shop.store.environments(REPOSITORY)}
        assert all(each.is_complete for each in states.values())
        self.an_image_set_is_promoted_once()
        self.what_is_promoted_was_complete_in_the_environment_above()

    def _news(self):
        lost, self.lost = self.lost, False
        self.missed |= lost
        return _Losing(self.shop) if lost else _Losing(None)

    def _first(self):
        return self.shop.store.entry(REPOSITORY, self.shop.store.head(REPOSITORY).waiting[0])

    def _file(self, target):
        return {"s": "staging.json", "i": "internal.json", "p": "production.json"}[target[0]]

    def _promotions(self):
        return [each for each in self.shop.store._entries.values() if each.kind is EntryKind.PROMOTION]

    def _remember(self):
        """Write down which image sets are complete now."""
        self.complete |= {(each.name, each.complete) for each in self.shop.store.environments(REPOSITORY)}


class _Losing:
    """While it lasts, news of entries are lost, and executions do not go on."""

    def __init__(self, shop):
        self.shop = shop

    def __enter__(self):
        if self.shop is not None:
            self.shop.follow = lambda entry: None

    def __exit__(self, *error):
        if self.shop is not None:
            del self.shop.follow


TestPromotionsInAnyOrder = PromotionsInAnyOrder.TestCase
TestPromotionsInAnyOrder.settings = settings(stateful_step_count=20)
