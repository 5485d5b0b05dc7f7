"""Close a pull request: stop its executions, and delete its speculative plans and their artifacts.

Idempotent.

A runner learns of it at its next heartbeat, and stops its engine: a plan has nothing to lose.

The record is saved last, so an interrupted call is repeated as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tidegate.deploys.rules.evaluated_plan import evaluated_plans
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.slots.assign_plan_slots import release_all_slots
from tidegate.ports import Artifacts, Ports
from tidegate.pull_requests.pull_request_checks import stop_checks
from tidegate.pull_requests.rules.record import Applying, PullRequestRecord, PullRequestState, judged


def stop_pull_request(ports: Ports, record: PullRequestRecord, reason: str) -> Sequence[SpeculativePlan]:
    """Stop the execution and the running layers; return all layers. Raise Conflict if one ends now.

    ``reason`` is a sentence for the layers and check runs.
    """
    if record.state is not PullRequestState.IDLE:
        ports.workflows.stop_pull_request(record.execution, reason)
    found = ports.speculative_plans.many(record.layers)
    stopped = [each if each.is_done else _cancelled(ports, each, reason) for each in found]
    if record.state is not PullRequestState.IDLE:
        release_all_slots(ports, record.spec.repository, record.layers)
        stop_checks(ports, record, reason)
    return stopped


def _cancelled(ports: Ports, layer: SpeculativePlan, reason: str) -> SpeculativePlan:
    at = ports.clock.now()
    return ports.speculative_plans.save(replace(layer, state=LayerState.CANCELLED, reason=reason, changed_at=at))


def close_pull_request(
    ports: Ports, record: PullRequestRecord, *, merged: bool, merge_sha: str = ""
) -> PullRequestRecord:
    """Close an open record, and return it as saved. Raise Conflict after a concurrent write.

    ``merge_sha`` is the commit of its merge, if any.
    """
    reason = f"{ports.terms.reference(record.spec.number)} was {'merged' if merged else 'closed'}."
    layers = stop_pull_request(ports, record, reason)
    if merged:
        record = _keep(ports, record, layers)
    remove_layers(ports, layers)
    ports.speculative_plans.remove(record.layers)
    at = ports.clock.now()
    closed = replace(record, layers=(), closed_at=at, merged=merged, merge_sha=merge_sha, queued="")
    return ports.pull_requests.save(judged(closed, (), at))


def _keep(ports: Ports, record: PullRequestRecord, layers: Sequence[SpeculativePlan]) -> PullRequestRecord:
    """Save what the merge deploys before its layers are removed: a repeated call no longer finds them."""
    deploys = tuple(Applying(each.root.name, each.stack, "") for each in layers if not each.is_extra)
    kept = replace(record, deploys=record.deploys or deploys, plans=record.plans or evaluated_plans(layers))
    return record if kept == record else ports.pull_requests.save(kept)


def remove_layers(ports: Ports, layers: Iterable[SpeculativePlan]) -> None:
    """Remove the plans of layers: they hold secrets in clear text."""
    remove_plans(ports.artifacts, layers)


def remove_plans(artifacts: Artifacts, layers: Iterable[SpeculativePlan]) -> None:
    """Remove the artifacts of layers' plans."""
    keys = [key for layer in layers for key in _stored(layer)]
    if keys:
        artifacts.remove(keys)


def _stored(layer: SpeculativePlan) -> Iterator[str]:
    if layer.plan is not None:
        plan = layer.plan
        for artifact in (plan.file, plan.lock_file, plan.json, plan.text, plan.structured):
            if artifact is not None:
                yield artifact.key
