"""Begin the speculative plan of a temporary layer: take a place and a slot, and create the job that a runner takes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from tidegate.deploys.jobs.choose_plan_runner import Placed, needs_fargate, on_fargate
from tidegate.deploys.rules.job import Job, JobKind, job_id
from tidegate.deploys.rules.plan_places import asked
from tidegate.deploys.rules.runner_size import RunnerOffer, size_of
from tidegate.deploys.rules.temporary_layer import Checkout, LayerState, TemporaryLayer
from tidegate.deploys.slots.keep_slots import SlotKeeper
from tidegate.messages import BeginSpeculation, JobBegun
from tidegate.ports import Announcements, Clock, ForgeAddresses, Jobs, PlanPlaces, TemporaryLayers
from tidegate.rules.errors import Conflict, NoFreePlace, NotFound, WrongState

#: Attempts to plan in all; the number is the pull-request machine's.
SPECULATIONS = 2


@dataclass(frozen=True, slots=True)
class SpeculationBeginner:
    """Begins speculative plans. Called again with the same message, it changes nothing more and answers the same.

    A repository has places for ``limit`` of them at a time, and each that runs on Fargate takes one of the
    installation's slots besides.
    ``leave`` gives back the places and slots of layers, ``stop_runner`` stops whoever has taken the job of an attempt
    that was given up. ``offer`` is what runners the installation has. ``place`` chooses where a plan
    runs.
    """

    layers: TemporaryLayers
    places: PlanPlaces
    slots: SlotKeeper
    jobs: Jobs
    addresses: ForgeAddresses
    announcements: Announcements
    clock: Clock
    limit: int
    leave: Callable[[str, Collection[str]], object]
    stop_runner: Callable[[str | None], object]
    offer: RunnerOffer = field(default_factory=RunnerOffer)
    place: Placed = on_fargate

    def begin(self, message: BeginSpeculation) -> JobBegun:
        """Take a place and a slot, create the job and move the layer on. It keeps both from one attempt to the next.

        Raise NotFound when the layer is gone, WrongState when it has ended, and NoFreePlace or NoFreeSlot when it has
        to wait: then no job was begun. Who waits for a place has no slot, so that nobody waits for each other.
        Raise Conflict when somebody else changed the layer meanwhile, and RunnerNotOffered when the root asks for more
        than the installation allows.
        """
        layer = self._undone(message.layer)
        places = self.places.take(layer.repository, layer.id, self.limit)
        if layer.id not in places.held:
            self.slots.leave([layer.id])
            raise NoFreePlace(layer.id, asked(places, layer.id, self.limit).reason)
        job = self.place(self._job(layer, job_id(layer.id, JobKind.SPECULATE, message.attempt)))
        if needs_fargate(job):
            self.slots.take(layer.id)
        try:
            return self._begin(layer, job, message)
        except Conflict:
            self._give_back(layer)
            raise

    def _undone(self, identifier: str) -> TemporaryLayer:
        layer = self.layers.get(identifier)
        if layer.is_done:
            raise WrongState(layer.id, layer.state, "a plan")
        return layer

    def _give_back(self, layer: TemporaryLayer) -> None:
        """Give the place back if the layer was cancelled while it took one: who cancelled it could not know."""
        try:
            self._undone(layer.id)
        except (NotFound, WrongState):
            self.leave(layer.repository, [layer.id])

    def _begin(self, layer: TemporaryLayer, job: Job, message: BeginSpeculation) -> JobBegun:
        self.jobs.create(job)
        if layer.job != job.id:
            self.stop_runner(layer.job)
            reason, at = _reason(message.tries, job.note), self.clock.now()
            layer = self.layers.save(
                replace(layer, state=LayerState.PLANNING, reason=reason, job=job.id, changed_at=at)
            )
        if not layer.schedule:
            self.announcements.layer_changed(layer)
        return JobBegun.of(job)

    def _job(self, layer: TemporaryLayer, job: str) -> Job:
        return Job(
            id=job,
            deployment=layer.id,
            kind=JobKind.SPECULATE,
            repository=layer.repository,
            sha=layer.base_sha if layer.gone else layer.sha,
            clone_url=self.addresses.clone_url(layer.repository),
            root=layer.root,
            installation=layer.installation,
            stack=layer.stack,
            run=layer.run,
            allowed_providers=layer.allowed_providers,
            allowed_modules=layer.allowed_modules,
            base_sha=layer.base_sha,
            merges=layer.checkout is Checkout.MERGE and not layer.gone,
            fork_sha=layer.fork_sha,
            destroy=layer.destroy,
            drift=bool(layer.schedule),
            size=size_of(layer.run.runner, self.offer),
            ref=self.addresses.pull_request_ref(layer.pull_request) if layer.pull_request else "",
        )


def _reason(tries: int, note: str) -> str:
    if tries == 1:
        return ""
    return note or f"This is attempt {tries} of {SPECULATIONS}: the one before was interrupted."
