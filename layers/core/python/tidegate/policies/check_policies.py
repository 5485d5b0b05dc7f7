"""Hold the plan of a temporary layer, or of a deployment, against its policy sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from tidegate.messages import CheckPolicies, PoliciesChecked
from tidegate.plans.rules.plan import Plan
from tidegate.plans.rules.plan_digest import plan_digest
from tidegate.policies.rules.files import unpacked
from tidegate.policies.rules.policy import KEPT_OF_DEPLOYMENT, HeldPolicySet, PolicyVerdict, kept
from tidegate.ports import Announcements, Artifacts, Clock, Deployments, PolicyEngine, TemporaryLayers
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

#: Seconds that all sets of a plan have together, and the most of one: the function has 300.
_TOGETHER, _LONGEST = 270, 90
_CHANGED = "is not what was stored when the {}. Push a commit, or ask for the plan again"


@dataclass(frozen=True, slots=True)
class PolicyChecker:
    """Evaluates policies. Once more is harmless: the same plan and policies come to the same."""

    layers: TemporaryLayers
    deployments: Deployments
    artifacts: Artifacts
    engine: PolicyEngine
    announcements: Announcements
    clock: Clock

    def check(self, message: CheckPolicies) -> PoliciesChecked:
        """Store what the sets say of a plan; return the names of those that it does not pass.

        What cannot be evaluated fails its set. A layer that is gone, or what has another plan by now, stays as it is.
        """
        verdicts = self._of_layer(message.layer) if message.layer else self._of_deployment(message.deployment or "")
        return PoliciesChecked(failed=tuple(each.policy_set for each in verdicts if each.failed))

    def _of_layer(self, identifier: str) -> Sequence[PolicyVerdict]:
        try:
            layer = self.layers.get(identifier)
        except NotFound:
            return ()
        if layer.plan is None or not layer.policy_sets:
            return ()
        content = self._plan(layer.plan)
        verdicts = kept(self._verdicts(layer.policy_sets, content))
        digest = plan_digest(content) if content else ""
        deciding_again(partial(self._save, identifier, layer.plan, verdicts, digest))
        return verdicts

    def _of_deployment(self, identifier: str) -> Sequence[PolicyVerdict]:
        deployment = self.deployments.get(identifier)
        if deployment.plan is None or not deployment.policy_sets:
            return ()
        content = self._plan(deployment.plan)
        verdicts = kept(self._verdicts(deployment.policy_sets, content), KEPT_OF_DEPLOYMENT)
        digest = plan_digest(content) if content else ""
        deciding_again(partial(self._save_deployment, identifier, deployment.plan, verdicts, digest))
        return verdicts

    def _plan(self, plan: Plan) -> bytes | None:
        return self._read(plan.json.key, plan.json.sha256)

    def _verdicts(self, sets: Sequence[HeldPolicySet], content: bytes | None) -> Sequence[PolicyVerdict]:
        if content is None:
            error = f"The plan {_CHANGED.format('plan was made')}"
            return [PolicyVerdict(held.name, error=error) for held in sets]
        seconds = min(_LONGEST, _TOGETHER // len(sets))
        return [self._verdict(held, content, seconds) for held in sets]

    def _verdict(self, held: HeldPolicySet, plan: bytes, seconds: int) -> PolicyVerdict:
        if held.problem:
            return PolicyVerdict(held.name, error=held.problem)
        files = self._files(held)
        if files is None:
            return PolicyVerdict(held.name, error=f"The policy set {_CHANGED.format('pull request was looked at')}")
        return self.engine.check(held.name, files, held.namespaces, plan, seconds)

    def _files(self, held: HeldPolicySet) -> Mapping[str, bytes] | None:
        content = self._read(held.key, held.sha256)
        return None if content is None else unpacked(content)

    def _read(self, key: str, digest: str) -> bytes | None:
        """Return an object if it is still what it was; None if it is another, or gone."""
        try:
            content = self.artifacts.get(key)
        except NotFound:
            return None
        return content if sha256(content).hexdigest() == digest else None

    def _save(self, layer_id: str, plan: Plan, verdicts: tuple[PolicyVerdict, ...], digest: str) -> None:
        try:
            layer = self.layers.get(layer_id)
        except NotFound:
            return
        if layer.plan != plan:
            return
        if (layer.verdicts, layer.digest) != (verdicts, digest):
            at = self.clock.now()
            layer = self.layers.save(replace(layer, verdicts=verdicts, digest=digest, changed_at=at))
        self.announcements.layer_changed(layer)

    def _save_deployment(self, identifier: str, plan: Plan, verdicts: tuple[PolicyVerdict, ...], digest: str) -> None:
        deployment = self.deployments.get(identifier)
        if deployment.plan == plan and (deployment.verdicts, deployment.plan_digest) != (verdicts, digest):
            self.deployments.save(replace(deployment, verdicts=verdicts, plan_digest=digest))
