"""Close a pull request: stop what works on it, and remove its temporary layers and their plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tidegate.deploys.rules.judged_plan import judged_plans
from tidegate.deploys.rules.temporary_layer import LayerState, TemporaryLayer
from tidegate.ports import Artifacts, Clock, PullRequestChecks, PullRequests, TemporaryLayers, Workflows
from tidegate.pull_requests.rules.record import Applying, PullRequestRecord, PullRequestState, judged


@dataclass(frozen=True, slots=True)
class PullRequestStopper:
    """Stops what works on a pull request, which others have overtaken. Once more is harmless.

    A runner hears of it at its next heartbeat, and stops its engine: a plan has nothing to lose.
    ``leave`` gives back the places of layers, and their places in line.
    """

    layers: TemporaryLayers
    workflows: Workflows
    checks: PullRequestChecks
    clock: Clock
    leave: Callable[[str, Collection[str]], object]

    def stop(self, record: PullRequestRecord, reason: str) -> Sequence[TemporaryLayer]:
        """Stop the execution, and what of the layers goes on; return all layers. Raise Conflict when one ends now.

        ``reason`` is a sentence, which the layers and the check runs show.
        """
        if record.state is not PullRequestState.IDLE:
            self.workflows.stop_pull_request(record.execution, reason)
        found = self.layers.many(record.layers)
        stopped = [each if each.is_done else self._cancelled(each, reason) for each in found]
        if record.state is not PullRequestState.IDLE:
            self.leave(record.spec.repository, record.layers)
            self.checks.stop(record, stopped, reason)
        return stopped

    def _cancelled(self, layer: TemporaryLayer, reason: str) -> TemporaryLayer:
        at = self.clock.now()
        return self.layers.save(replace(layer, state=LayerState.CANCELLED, reason=reason, changed_at=at))


@dataclass(frozen=True, slots=True)
class PullRequestCloser:
    """Closes pull requests. Whoever dies in between does it all again: the record is saved last."""

    records: PullRequests
    layers: TemporaryLayers
    artifacts: Artifacts
    stopper: PullRequestStopper
    clock: Clock

    def close(self, record: PullRequestRecord, *, merged: bool, merge_sha: str = "") -> PullRequestRecord:
        """Close a record that is open, and return it as it is saved. Raise Conflict when somebody else wrote first.

        ``merge_sha`` is the commit that its merge made, if one did.
        """
        reason = f"The pull request was {'merged' if merged else 'closed'}."
        layers = self.stopper.stop(record, reason)
        if merged:
            record = self._keep(record, layers)
        self.remove(layers)
        self.layers.remove(record.layers)
        at = self.clock.now()
        closed = replace(record, layers=(), closed_at=at, merged=merged, merge_sha=merge_sha, queued="")
        return self.records.save(judged(closed, (), at))

    def _keep(self, record: PullRequestRecord, layers: Sequence[TemporaryLayer]) -> PullRequestRecord:
        """Save what the merge deploys before its layers go: whoever closes it once more finds them gone."""
        deploys = tuple(Applying(each.root.name, each.stack, "") for each in layers if not each.is_extra)
        kept = replace(record, deploys=record.deploys or deploys, plans=record.plans or judged_plans(layers))
        return record if kept == record else self.records.save(kept)

    def remove(self, layers: Iterable[TemporaryLayer]) -> None:
        """Remove the plans of layers: they hold secrets in clear."""
        remove_plans(self.artifacts, layers)


def remove_plans(artifacts: Artifacts, layers: Iterable[TemporaryLayer]) -> None:
    """Remove what the plans of layers left."""
    keys = [key for layer in layers for key in _stored(layer)]
    if keys:
        artifacts.remove(keys)


def _stored(layer: TemporaryLayer) -> Iterator[str]:
    if layer.plan is not None:
        for artifact in (layer.plan.file, layer.plan.lock_file, layer.plan.json, layer.plan.text):
            if artifact is not None:
                yield artifact.key
