"""Evaluate a speculative plan, or a deployment's plan, with its policy sets.

Idempotent: the same plan and policies have the same verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256

from tidegate.messages import CheckPolicies, PoliciesChecked
from tidegate.plans.rules.cost import with_cost
from tidegate.plans.rules.plan import Plan
from tidegate.plans.rules.plan_digest import plan_digest
from tidegate.policies.rules.files import unpacked
from tidegate.policies.rules.policy import KEPT_OF_DEPLOYMENT, PolicySetStatus, PolicyVerdict, kept
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

#: Seconds for all sets of a plan together, and for one at most: the function has 300.
_TOGETHER, _LONGEST = 270, 90
_CHANGED = "changed after the {}. Push a commit, or request a new plan"


def check_policies(ports: Ports, message: CheckPolicies) -> PoliciesChecked:
    """Store the verdicts on a plan; return the names of the sets that refuse it.

    What cannot be evaluated fails its set. A removed layer, or a newer plan, stays unchanged.
    """
    verdicts = _of_layer(ports, message.layer) if message.layer else _of_deployment(ports, message.deployment or "")
    return PoliciesChecked(failed=tuple(each.policy_set for each in verdicts if each.failed))


def _of_layer(ports: Ports, identifier: str) -> Sequence[PolicyVerdict]:
    try:
        layer = ports.speculative_plans.get(identifier)
    except NotFound:
        return ()
    if layer.plan is None or not layer.policy_sets:
        return ()
    content = _plan(ports, layer.plan)
    verdicts = kept(_verdicts(ports, layer.policy_sets, content))
    digest = plan_digest(content) if content else ""
    deciding_again(partial(_save, ports, identifier, layer.plan, verdicts, digest))
    return verdicts


def _of_deployment(ports: Ports, identifier: str) -> Sequence[PolicyVerdict]:
    deployment = ports.deployments.get(identifier)
    if deployment.planned.plan is None or not deployment.policies.sets:
        return ()
    content = _plan(ports, deployment.planned.plan)
    verdicts = kept(_verdicts(ports, deployment.policies.sets, content), KEPT_OF_DEPLOYMENT)
    digest = plan_digest(content) if content else ""
    deciding_again(partial(_save_deployment, ports, identifier, deployment.planned.plan, verdicts, digest))
    return verdicts


def _plan(ports: Ports, plan: Plan) -> bytes | None:
    """Return the input of policies: the JSON plan with its cost; None if the plan was replaced or removed."""
    content = _read(ports, plan.json.key, plan.json.sha256)
    return None if content is None else with_cost(content, plan.cost)


def _verdicts(ports: Ports, sets: Sequence[PolicySetStatus], content: bytes | None) -> Sequence[PolicyVerdict]:
    if content is None:
        error = f"The plan {_CHANGED.format('plan was made')}"
        return [PolicyVerdict(held.name, error=error) for held in sets]
    seconds = min(_LONGEST, _TOGETHER // len(sets))
    return [_verdict(ports, held, content, seconds) for held in sets]


def _verdict(ports: Ports, held: PolicySetStatus, plan: bytes, seconds: int) -> PolicyVerdict:
    if held.problem:
        return PolicyVerdict(held.name, error=held.problem)
    files = _files(ports, held)
    if files is None:
        return PolicyVerdict(held.name, error=f"The policy set {_CHANGED.format('roots were discovered')}")
    return ports.policy_engine.check(held.name, files, held.namespaces, plan, seconds)


def _files(ports: Ports, held: PolicySetStatus) -> Mapping[str, bytes] | None:
    content = _read(ports, held.key, held.sha256)
    return None if content is None else unpacked(content)


def _read(ports: Ports, key: str, digest: str) -> bytes | None:
    """Return an object if it is unchanged; None if it was replaced or removed."""
    try:
        content = ports.artifacts.get(key)
    except NotFound:
        return None
    return content if sha256(content).hexdigest() == digest else None


def _save(ports: Ports, layer_id: str, plan: Plan, verdicts: tuple[PolicyVerdict, ...], digest: str) -> None:
    try:
        layer = ports.speculative_plans.get(layer_id)
    except NotFound:
        return
    if layer.plan != plan:
        return
    if (layer.verdicts, layer.digest) != (verdicts, digest):
        at = ports.clock.now()
        layer = ports.speculative_plans.save(replace(layer, verdicts=verdicts, digest=digest, changed_at=at))
    ports.event_publisher.layer_changed(layer)


def _save_deployment(
    ports: Ports, identifier: str, plan: Plan, verdicts: tuple[PolicyVerdict, ...], digest: str
) -> None:
    deployment = ports.deployments.get(identifier)
    if deployment.planned.plan == plan and (deployment.policies.verdicts, deployment.planned.digest) != (
        verdicts,
        digest,
    ):
        ports.deployments.save(
            replace(
                deployment,
                policies=replace(deployment.policies, verdicts=verdicts),
                planned=replace(deployment.planned, digest=digest),
            )
        )
