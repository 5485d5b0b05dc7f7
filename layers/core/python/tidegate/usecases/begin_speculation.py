"""Begin the speculative plan of a temporary layer: create the job that a runner takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.domain.errors import WrongState
from tidegate.domain.job import Job, JobKind, job_digest, job_id
from tidegate.domain.temporary_layer import Checkout, LayerState, TemporaryLayer
from tidegate.messages import BeginSpeculation, JobBegun
from tidegate.ports import Announcements, Clock, ForgeAddresses, Jobs, TemporaryLayers

#: Attempts to plan in all; the number is the pull-request machine's.
SPECULATIONS = 2


@dataclass(frozen=True, slots=True)
class SpeculationBeginner:
    """Begins speculative plans. Called again with the same message, it changes nothing more and answers the same."""

    layers: TemporaryLayers
    jobs: Jobs
    addresses: ForgeAddresses
    announcements: Announcements
    clock: Clock

    def begin(self, message: BeginSpeculation) -> JobBegun:
        """Create the job and move the layer on.

        Raise NotFound when the layer is gone, and WrongState when it has ended: then no job was begun. Raise Conflict
        when somebody else changed the layer meanwhile.
        """
        layer = self.layers.get(message.layer)
        if layer.is_done:
            raise WrongState(layer.id, layer.state, "a plan")
        job = self._job(layer, job_id(layer.id, JobKind.SPECULATE, message.attempt))
        self.jobs.create(job)
        if layer.job != job.id:
            reason, at = _reason(message.attempt), self.clock.now()
            layer = self.layers.save(
                replace(layer, state=LayerState.PLANNING, reason=reason, job=job.id, changed_at=at)
            )
        if not layer.schedule:
            self.announcements.layer_changed(layer)
        return JobBegun(job=job.id, digest=job_digest(job))

    def _job(self, layer: TemporaryLayer, job: str) -> Job:
        return Job(
            id=job,
            deployment=layer.id,
            kind=JobKind.SPECULATE,
            repository=layer.repository,
            sha=layer.sha,
            clone_url=self.addresses.clone_url(layer.repository),
            root=layer.root,
            installation=layer.installation,
            stack=layer.stack,
            run=layer.run,
            allowed_providers=layer.allowed_providers,
            allowed_modules=layer.allowed_modules,
            base_sha=layer.base_sha,
            merges=layer.checkout is Checkout.MERGE,
        )


def _reason(attempt: int) -> str:
    if attempt == 1:
        return ""
    return f"This is attempt {attempt} of {SPECULATIONS}: the one before was interrupted."
