"""Record the result of a speculative plan: a plan, or why there is none.

A repeated call with the same message changes nothing and returns the same.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.failure import Failure, in_words, read_cause
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.slots.assign_plan_slots import release_all_slots
from tidegate.deploys.stop_runner import GIVEN_UP, stop_runner
from tidegate.messages import RecordSpeculativePlan, SpeculativePlanRecorded
from tidegate.plans.rules.engine_errors import first_error
from tidegate.plans.rules.plan import Plan
from tidegate.ports import Ports
from tidegate.rules.errors import NotFound

#: An internal error after the plan: a plan without evaluation must not pass.
_MAY_FAIL = frozenset({LayerState.WAITING, LayerState.PLANNING, LayerState.PLANNED, LayerState.NO_CHANGES})

_ENGINE_FAILED = "TerraformClientError"


def record_speculative_plan(ports: Ports, message: RecordSpeculativePlan) -> SpeculativePlanRecorded:
    """Store the outcome. A cancelled layer stays so; a removed one counts as cancelled.

    Raise Conflict after a concurrent change of the layer.
    """
    try:
        layer = ports.speculative_plans.get(message.layer)
    except NotFound:
        return SpeculativePlanRecorded(state=LayerState.CANCELLED)
    if message.error in GIVEN_UP and layer.state is LayerState.PLANNING:
        stop_runner(ports, layer.job)
    recorded = _failed(layer, message) if message.plan is None else _planned(layer, message.plan)
    if recorded != layer:
        layer = ports.speculative_plans.save(replace(recorded, changed_at=ports.clock.now()))
    release_all_slots(ports, layer.repository, [layer.id])
    if not layer.schedule:
        ports.event_publisher.layer_changed(layer)
    return SpeculativePlanRecorded(state=layer.state, policies=bool(layer.plan and layer.policy_sets))


def _planned(layer: SpeculativePlan, plan: Plan) -> SpeculativePlan:
    if layer.is_done:
        return layer
    # What would change on the base branch is nothing that the merge does.
    state = LayerState.PLANNED if plan.changes.any and not layer.gone else LayerState.NO_CHANGES
    return replace(layer, state=state, reason="", plan=plan, last_lines="")


def _failed(layer: SpeculativePlan, message: RecordSpeculativePlan) -> SpeculativePlan:
    if layer.state not in _MAY_FAIL:
        return layer
    failure = read_cause(message.cause)
    reason = in_words(message.error or "", failure)
    if layer.gone:  # The merge needs no plan of it: an error is shown, but blocks nothing.
        return replace(layer, state=LayerState.NO_CHANGES, reason=reason, last_lines=failure.last_lines)
    if _is_refused(layer, failure):
        return replace(layer, state=LayerState.REFUSED, reason=reason, last_lines="")
    lines = "" if failure.conflict else failure.last_lines  # The engine did not run.
    if message.error == _ENGINE_FAILED and (first := first_error(lines)):
        reason = f"{first}: {reason}"
    return replace(layer, state=LayerState.FAILED, reason=reason, last_lines=lines, conflict=failure.conflict)


def _is_refused(layer: SpeculativePlan, failure: Failure) -> bool:
    """Tell whether a pull request's code may not be run. This never skips plans of drift detection."""
    return failure.refused and layer.plan is None and not layer.schedule
