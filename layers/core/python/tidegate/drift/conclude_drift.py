"""End a run that looked for drift: keep what it found, show it, and ask for deployments that undo it, if configured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidegate.config.rules.drift import DriftFinding, DriftRecord, DriftState, found
from tidegate.deploys.rules.deployment import State
from tidegate.deploys.rules.failure import in_words, read_cause
from tidegate.deploys.rules.temporary_layer import TemporaryLayer
from tidegate.ports import Clock, Deliveries, Delivery, Deployments, DriftEvents, Drifts, EventQueue, TemporaryLayers
from tidegate.roots.rules.root import deployment_id
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused, NotFound

#: Ends by which somebody said that a drift is not to be undone.
_DECLINED = frozenset({State.REJECTED, State.CANCELLED})
#: The kind of delivery that asks for deployments which undo drift.
DRIFT = "drift"


def drift_request(execution: str) -> str:
    """Return what tells the deployments that a run asks for from others of the same commit."""
    return f"drift {execution}"


@dataclass(frozen=True, slots=True)
class DriftConcluder:
    """Concludes runs. Once more is harmless: a run that is concluded already stays as it is.

    ``report`` shows a record on the forge, and returns it with what it is shown by. ``remove_plans`` removes what the
    plans of layers left in the bucket.
    """

    drifts: Drifts
    layers: TemporaryLayers
    deployments: Deployments
    report: Callable[[DriftRecord], DriftRecord]
    remove_plans: Callable[[Iterable[TemporaryLayer]], object]
    told: DriftEvents
    deliveries: Deliveries
    events: EventQueue
    clock: Clock

    def conclude(self, repository: str, schedule: str, execution: str) -> str:
        """Return what was found, in a few words. Raise ForgeUnavailable and CloudUnavailable: then conclude it again.

        What was found is stored before anybody is told, so that it is to be seen while the forge does not answer.
        """
        record = deciding_again(partial(self._found, repository, schedule, execution))
        if record is None:
            return "overtaken"
        self._remove(record.former)
        if record.entry.reconcile:
            self._ask(record)
        shown = self._shown(record)
        self.told.looked_for(shown)
        deciding_again(partial(self._ended, shown))
        return shown.summary

    def fail(self, repository: str, schedule: str, execution: str, error: str, cause: str) -> str:
        """End a run in which Tidegate itself failed, and say so in its record."""
        record = deciding_again(
            partial(self._failed, repository, schedule, execution, in_words(error, read_cause(cause)))
        )
        return "overtaken" if record is None else "failed"

    def _failed(self, repository: str, schedule: str, execution: str, why: str) -> DriftRecord | None:
        record = self._going_on(repository, schedule, execution)
        if record is None:
            return None
        notice = f"Tidegate failed, so nothing was looked at: {why}"
        return self.drifts.save(replace(record, execution="", ended_at=self.clock.now(), notice=notice))

    def _found(self, repository: str, schedule: str, execution: str) -> DriftRecord | None:
        record = self._going_on(repository, schedule, execution)
        if record is None:
            return None
        record = found(record, self.layers.many(record.layers), self.clock.now())
        if record.entry.reconcile:
            record = replace(record, findings=self._with_deployments(record))
        return self.drifts.save(record)

    def _going_on(self, repository: str, schedule: str, execution: str) -> DriftRecord | None:
        """Return the record if this run works on it."""
        try:
            record = self.drifts.get(repository, schedule)
        except NotFound:
            return None
        return record if record.execution == execution else None

    def _with_deployments(self, record: DriftRecord) -> tuple[DriftFinding, ...]:
        """Name the deployment that is to undo each drift: a new one, unless somebody declined the one before."""
        drifted = record.of(DriftState.DRIFTED)
        known = self.deployments.many({each.deployment for each in drifted if each.deployment})
        rejected = {name for name, one in known.items() if one.state in _DECLINED}
        request = drift_request(record.execution)
        return tuple(
            replace(each, deployment=_deployment(record, each, request))
            if each.state is DriftState.DRIFTED and each.deployment not in rejected
            else each
            for each in record.findings
        )

    def _ask(self, record: DriftRecord) -> None:
        """Have deployments enqueued by whoever reads the repository's files. The same run asks once."""
        request = drift_request(record.execution)
        wanted = [
            each for each in record.of(DriftState.DRIFTED) if each.deployment == _deployment(record, each, request)
        ]
        if not wanted:
            return
        fields = {
            "repository": record.repository,
            "installation": record.installation,
            "schedule": record.entry.name,
            "sha": record.sha,
            "branch": record.branch,
            "roots": [list(each.key) for each in wanted],
        }
        delivery = Delivery(f"drift-{record.execution}", DRIFT, fields, self.clock.now())
        self.deliveries.store(delivery)
        self.events.send(delivery)
        self.deliveries.mark_queued(delivery.id)

    def _shown(self, record: DriftRecord) -> DriftRecord:
        """Show it on the forge. What the forge refuses is said on the page: a permission may be missing."""
        try:
            return self.report(record)
        except ForgeRefused as error:
            notice = f"It could not be shown on the forge: {error}"
            return replace(record, notice="\n".join(filter(None, (record.notice, notice))))

    def _ended(self, shown: DriftRecord) -> None:
        """Let the run be over. The file may have changed the schedule meanwhile, or taken it away."""
        now = self._going_on(shown.repository, shown.entry.name, shown.execution)
        if now is not None:
            now = replace(now, notice=shown.notice, issue=shown.issue, is_reported=shown.is_reported)
            self.drifts.save(replace(now, execution="", former=()))

    def _remove(self, layers: Sequence[str]) -> None:
        """Remove the layers of earlier runs: what they found is replaced by now."""
        if layers:
            self.remove_plans(self.layers.many(layers))
            self.layers.remove(layers)


def _deployment(record: DriftRecord, finding: DriftFinding, request: str) -> str:
    apart = finding.stack if finding.shared else ""
    return deployment_id(record.repository, finding.root, record.sha, request, apart)
