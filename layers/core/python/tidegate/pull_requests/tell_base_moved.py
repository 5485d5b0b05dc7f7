"""Tell pull requests that their base branch moved on, and changed roots of theirs: their plans are older than it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.ports import (
    Announcements,
    Clock,
    Deliveries,
    Delivery,
    Forge,
    KnownRepository,
    PullRequests,
    TemporaryLayers,
)
from tidegate.pull_requests.rules.record import PullRequestRecord, PullRequestState, judged
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

#: What a delivery says that asks for pull requests to be planned again.
BASE_MOVED = "base_moved"
#: Pull requests that one push has planned again; the others only say that they are older.
REPLANNED = 20


@dataclass(frozen=True, slots=True)
class BaseTeller:
    """Marks records, and has what is marked shown. The same push once more changes nothing."""

    records: PullRequests
    layers: TemporaryLayers
    forge: Forge
    announcements: Announcements
    deliveries: Deliveries
    clock: Clock

    def tell(
        self, repository: KnownRepository, touched: Collection[str] | None, rules: ApplyRules, *, replans: bool
    ) -> None:
        """Tell the open pull requests that go to the default branch, which moved to the newest commit ``seen``.

        ``touched`` are the names of the roots that this changed, None for all; ``rules`` say where pull requests are
        applied now. ``replans`` asks for another plan, too: not at once, but with the next run of the reconciler, so
        that many pushes are one plan.
        Raise ForgeUnavailable and ForgeRefused.
        """
        numbers = [number for name, number in self.records.opened() if name == repository.name]
        marked = [
            record
            for number in numbers
            if (record := deciding_again(partial(self._marked, repository, number, touched, rules))) is not None
        ]
        for record in marked:
            if record.state is PullRequestState.COMMENT_NEEDED:
                self.announcements.pull_request_ended(record.spec.id, record.spec.revision)
        older = [record for record in marked if record.overtaken]
        for record in older[:REPLANNED] if replans else ():
            self.deliveries.store(_delivery(record, self.clock.now()))

    def _marked(
        self, repository: KnownRepository, number: int, touched: Collection[str] | None, rules: ApplyRules
    ) -> PullRequestRecord | None:
        """Return the record as it is saved, None if it has nothing new to say."""
        try:
            record = self.records.get(repository.name, number)
        except NotFound:
            return None
        spec = record.spec
        is_meant = record.is_open and spec.base == repository.default_branch and record.discovered == spec.revision
        if not is_meant or spec.base_sha == repository.seen:
            return None
        layers = self.layers.many(record.layers)
        overtaken = _overtaken(record, [each.root.name for each in layers], touched)
        if (overtaken, rules) == (record.overtaken, record.rules):
            return None
        if not self._is_open(record):
            return None  # Its own merge moved the branch, and nobody has told of its end yet.
        older = replace(record, overtaken=overtaken, base_now=repository.seen, rules=rules, commented="")
        return self.records.save(judged(older, layers, self.clock.now()))

    def _is_open(self, record: PullRequestRecord) -> bool:
        spec = record.spec
        try:
            return self.forge.seen_pull_request(*spec.where, spec.number).is_open
        except NotFound:
            return False


def _overtaken(record: PullRequestRecord, roots: Sequence[str], touched: Collection[str] | None) -> tuple[str, ...]:
    found = {name for name in roots if touched is None or name in touched}
    return tuple(sorted({*record.overtaken, *found}))


def _delivery(record: PullRequestRecord, at: str) -> Delivery:
    spec = record.spec
    fields = {
        "repository": spec.repository,
        "pull_request": spec.number,
        "installation": spec.installation,
        "action": BASE_MOVED,
    }
    digest = hashlib.sha256(f"{spec.id} {record.base_now} {record.overtaken}".encode()).hexdigest()[:32]
    return Delivery(f"base-{digest}", "pull_request", fields, at)
