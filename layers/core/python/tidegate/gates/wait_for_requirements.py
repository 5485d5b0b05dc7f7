"""Let a deployment wait for what its root requires: keep the token that waits, and look at what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.deploys.rules.gate import WAITS_PER_EXECUTION
from tidegate.deploys.rules.requirements_gate import gate_id, looked_at, waits
from tidegate.gates.apply_requirements import ApplyRequirements
from tidegate.gates.settle_gate import settle_gate
from tidegate.messages import WaitForRequirements
from tidegate.ports import Announcements, Clock, Deployments, Workflows
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import GateStaysShut, WrongState


@dataclass(frozen=True, slots=True)
class RequirementsGate:
    """Lets deployments wait for their requirements, and go on. Once more is harmless.

    The token is kept before what is missing is looked at, and whoever decides writes that before reading the token: so
    one of the two sees the other.
    """

    deployments: Deployments
    requirements: ApplyRequirements
    workflows: Workflows
    announcements: Announcements
    clock: Clock

    def wait(self, message: WaitForRequirements) -> None:
        """Wait with ``message.token``; go on at once if nothing is missing any more.

        Raise WrongState when the deployment is not at this gate, DeploymentCancelled, GateStaysShut when it has waited
        too often, and ForgeUnavailable. A late copy of an earlier attempt, with which nobody waits any more, does
        nothing.
        """
        deployment = not_cancelled(self.deployments.get(message.deployment))
        if deployment.state is not State.AWAITING_REQUIREMENTS:
            raise WrongState(deployment.id, deployment.state, "waiting for its requirements")
        if message.before >= WAITS_PER_EXECUTION:
            raise GateStaysShut(deployment.id, message.before)
        if not self.deployments.keep_gate_token(deployment.id, gate_id(deployment), message.token, message.attempt):
            return
        self.announcements.changed(not_cancelled(self._look(deployment)))
        self.announcements.line_changed(deployment.queue)

    def look(self, identifier: str) -> bool:
        """Look at what is missing now, and let the check run say it; tell whether the deployment goes on."""
        before = self.deployments.get(identifier)
        looked = self._look(before)
        if looked.version != before.version:
            self.announcements.changed(looked)
        return waits(before) and not waits(looked)

    def _look(self, known: Deployment) -> Deployment:
        looked = deciding_again(lambda: self._looked(known.id))
        if looked.state is State.AWAITING_REQUIREMENTS:
            settle_gate(looked, self.deployments, self.workflows)
        return looked

    def _looked(self, identifier: str) -> Deployment:
        deployment = self.deployments.get(identifier)
        if not waits(deployment):
            return deployment
        looked = looked_at(deployment, self.requirements.missing(deployment), self.clock.now())
        return self.deployments.save(looked) if looked != deployment else deployment

    def look_at_all(self, repository: str) -> int:
        """Look at all deployments of a repository that wait for their requirements; return how many go on."""
        open_ = self.deployments.many(sorted(self.deployments.unshown())).values()
        found = [each.id for each in open_ if each.repository == repository and waits(each)]
        return sum(self.look(each) for each in found)
