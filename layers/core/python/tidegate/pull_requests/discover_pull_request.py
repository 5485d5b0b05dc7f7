"""Find what a revision of a pull request changes, and store a temporary layer for each root that it affects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from tidegate.deploys.rules.temporary_layer import TemporaryLayer
from tidegate.ports import Clock, PullRequestChecks, PullRequests, TemporaryLayers
from tidegate.pull_requests.affected_layers import Affected, LayerFinder
from tidegate.pull_requests.close_pull_request import PullRequestCloser
from tidegate.pull_requests.rules.record import PullRequestRecord, judged
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

#: What the pull request's machine does next.
Next = Literal["plan", "comment", "nothing", "stop"]
_STOP: tuple[Next, tuple[str, ...]] = ("stop", ())
#: Names of layers that a record may have room for: many pushes in a hurry may each leave some that were removed.
_MOST_NAMED = 2000


@dataclass(frozen=True, slots=True)
class PullRequestDiscoverer:
    """Discovers pull requests. Once more is harmless: layers have the same ids, and the record is saved last."""

    records: PullRequests
    layers: TemporaryLayers
    finder: LayerFinder
    closer: PullRequestCloser
    checks: PullRequestChecks
    clock: Clock

    def discover(self, pull_request: str, revision: str) -> tuple[Next, tuple[str, ...]]:
        """Return what is to be done about a revision of ``OWNER/REPO#NUMBER``, and the layers to be planned.

        ``plan``: plan these layers; ``comment``: only show what is known; ``nothing``: everything is shown, as the
        pull request changes no root; ``stop``: it is closed, or at another revision by now. Raise ForgeUnavailable and
        ForgeRefused.
        """
        record = self._record(pull_request, revision)
        if record is None:
            return _STOP
        if record.discovered == revision:
            return self._next(record)
        try:
            affected = self.finder.find(record, self.clock.now(), self.layers.many(record.layers))
        except NotFound:
            return _STOP  # A forced push took the commit away: an event tells of the one that took its place.
        if affected.examined:
            self.checks.configuration(record, affected.mistakes, affected.warnings)
        ids = tuple(layer.id for layer in affected.layers)
        if not deciding_again(partial(self._expect, pull_request, revision, ids)):
            return _STOP
        self.layers.create(affected.layers)
        saved = deciding_again(partial(self._save, pull_request, revision, affected))
        if saved is None:
            self.layers.remove(ids)
            return _STOP
        return self._next(saved)

    def _record(self, pull_request: str, revision: str) -> PullRequestRecord | None:
        """Return the record if it is open, and still at this revision."""
        repository, _, number = pull_request.rpartition("#")
        record = self.records.get(repository, int(number))
        return record if record.is_open and record.spec.revision == revision else None

    def _expect(self, pull_request: str, revision: str, layers: tuple[str, ...]) -> bool:
        """Let the record name layers before there are any: so whoever overtakes or closes it finds and removes them."""
        record = self._record(pull_request, revision)
        if record is None:
            return False
        named = tuple(dict.fromkeys((*record.layers, *layers)))
        if len(named) > _MOST_NAMED:
            there = {layer.id for layer in self.layers.many(record.layers)}
            named = tuple(each for each in named if each in there or each in layers)
        if named != record.layers:
            self.records.save(replace(record, layers=named))
        return True

    def _save(self, pull_request: str, revision: str, affected: Affected) -> PullRequestRecord | None:
        """Save what is affected; the layers of an older revision, which have all ended, go before."""
        record = self._record(pull_request, revision)
        if record is None:
            return None
        ids = tuple(layer.id for layer in affected.layers)
        self._remove([each for each in record.layers if each not in ids])
        known = replace(
            record,
            discovered=revision,
            layers=ids,
            stacks=tuple(sorted({each.stack for each in affected.layers})),
            notice=affected.notice,
            notes=affected.notes,
            skipped=affected.skipped,
            guarded=affected.guarded,
            rules=affected.rules,
            rule_changes=affected.rule_changes,
            commented="" if ids or affected.pressing or record.comments else revision,
        )
        return self.records.save(judged(known, affected.layers, self.clock.now()))

    def _remove(self, layers: Sequence[str]) -> None:
        if layers:
            self.closer.remove(self.layers.many(layers))
            self.layers.remove(layers)

    def _next(self, record: PullRequestRecord) -> tuple[Next, tuple[str, ...]]:
        waiting = _undone(self.layers.many(record.layers), record.layers)
        if waiting:
            return "plan", waiting
        if record.commented != record.discovered:
            return "comment", ()
        self.checks.show(record)
        return "nothing", ()


def _undone(layers: Sequence[TemporaryLayer], order: Sequence[str]) -> tuple[str, ...]:
    """Return those that have not ended, in the order in which a merge would deploy them."""
    undone = {layer.id for layer in layers if not layer.is_done}
    return tuple(name for name in order if name in undone)
