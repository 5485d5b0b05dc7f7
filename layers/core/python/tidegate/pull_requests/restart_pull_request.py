"""Put another execution in place of one that ended without a result, once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tidegate.deploys.rules.temporary_layer import LayerState, TemporaryLayer
from tidegate.ports import Announcements, Clock, PullRequestChecks, PullRequests, TemporaryLayers, Workflows
from tidegate.pull_requests.close_pull_request import PullRequestStopper
from tidegate.pull_requests.rules.record import PullRequestRecord, PullRequestState, judged, restarted
from tidegate.rules.errors import Conflict, NotFound

_AGAIN = "What worked on it ended without a result; it is planned again."
_GIVEN_UP = (
    "What worked on this commit ended twice without a result. Push another commit, or write `tidegate plan` in a "
    "comment, to plan it again; if that fails as well, tell who operates Tidegate."
)


@dataclass(frozen=True, slots=True)
class PullRequestRestarter:
    """Restarts what is to be done for open pull requests. Whoever dies in between does it all again."""

    records: PullRequests
    layers: TemporaryLayers
    workflows: Workflows
    checks: PullRequestChecks
    announcements: Announcements
    stopper: PullRequestStopper
    clock: Clock

    def restart(self, record: PullRequestRecord) -> bool:
        """See to it that something works on a record, if there is something to be done. Return whether nothing did."""
        if record.state is PullRequestState.IDLE or self._runs(record):
            return False
        try:
            self._restart(as_now(record, self.layers.many(record.layers), self.clock.now()))
        except Conflict:
            return False  # Somebody else works on it.
        return True

    def _runs(self, record: PullRequestRecord) -> bool:
        """Tell whether the execution runs. One that was never started is started."""
        try:
            return self.workflows.pull_request_ending(record.execution) is None
        except NotFound:
            self._start(record)
            return True

    def _restart(self, record: PullRequestRecord) -> None:
        if record.state is PullRequestState.COMMENT_NEEDED:
            self.announcements.pull_request_ended(record.spec.id, record.spec.revision)
        elif record.restarted:
            self._give_up(record)
        else:
            self.stopper.stop(record, _AGAIN)
            again = self.records.save(judged(restarted(record), (), self.clock.now()))
            self.checks.show(again)
            self._start(again)

    def _give_up(self, record: PullRequestRecord) -> None:
        """Show what there is, and that there will be no more."""
        layers = self.stopper.stop(record, _GIVEN_UP)
        revision = record.spec.revision
        known = record.layers if record.discovered == revision else ()
        ended = replace(record, discovered=revision, layers=known, notice=_GIVEN_UP)
        self.records.save(judged(ended, layers, self.clock.now()))
        self.announcements.pull_request_ended(record.spec.id, revision)

    def _start(self, record: PullRequestRecord) -> None:
        self.workflows.start_pull_request(record.execution, record.spec.id, record.spec.revision)


def as_now(record: PullRequestRecord, layers: Collection[TemporaryLayer], at: str) -> PullRequestRecord:
    """Return the record as its layers are now, ``at`` in ISO 8601.

    One that was cancelled has no plan to be shown: whoever cancelled it died before the record was saved.
    """
    if any(layer.state is LayerState.CANCELLED for layer in layers):
        return record
    return judged(record, layers, at)
