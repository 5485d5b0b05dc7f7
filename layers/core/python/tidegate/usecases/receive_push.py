"""Receive a push to the default branch: enqueue a deployment for every root that it changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from tidegate.domain.check_run import CheckRun
from tidegate.domain.configuration_check import external_id, render_invalid, render_refused, render_valid
from tidegate.domain.deployment import Deployment, Trigger
from tidegate.domain.errors import ForgeRefused, ForgeUnavailable, InvalidConfiguration, NotFound
from tidegate.domain.root import Revision, Root, deployment_id
from tidegate.ports import Deliveries, Delivery, Forge, SourceHistory
from tidegate.usecases.discover_roots import Discovery, discover_roots

#: Characters of the outcome that are stored with the delivery.
_LONGEST_OUTCOME = 2000


@dataclass(frozen=True, slots=True)
class Push:
    """A push to the default branch, as the webhook's delivery tells it."""

    delivery: str
    repository: str
    before: str
    after: str
    branch: str
    installation: int
    sender: str
    forced: bool
    received_at: str


@dataclass(frozen=True, slots=True)
class PushReceiver:
    """Receives pushes; receiving one again is harmless.

    ``enqueue`` takes a deployment, new or known, puts a new one in line, announces it and makes sure
    that its queue has a worker.
    """

    deliveries: Deliveries
    forge: Forge
    history: SourceHistory
    enqueue: Callable[[Deployment], object]

    def receive(self, delivery: Delivery) -> str:
        """Return, and store with the delivery, what became of the push.

        Raise ForgeUnavailable and ForgeRefused (a permission may be given, so that is tried again, too), and
        ExceptionGroup when roots could not be enqueued; all others then are.
        """
        push = Push(delivery=delivery.id, received_at=delivery.received_at, **delivery.fields)
        try:
            outcome = self._outcome(push)
        except (ForgeUnavailable, ForgeRefused) as error:
            self._conclude(push, f"{error} The push is received again.")
            raise
        return self._conclude(push, outcome)

    def _conclude(self, push: Push, outcome: str) -> str:
        with suppress(NotFound):  # Deliveries expire; what was to be done for this one is done.
            self.deliveries.conclude(push.delivery, outcome[:_LONGEST_OUTCOME])
        return outcome

    def _outcome(self, push: Push) -> str:
        try:
            discovery = self._discover(push)
        except NotFound:
            return f"The forge does not have the commit {push.after} any more: nothing is deployed."
        except InvalidConfiguration as error:
            return f"{error} Nothing is deployed. {self._show(push, render_invalid(push.after, error))}"
        self._enqueue_all(push, discovery.roots)
        check_run = _check_run(push, discovery)
        shown = self._show(push, check_run) if check_run else ""
        return " ".join(part for part in (_sentences(discovery), shown) if part)

    def _discover(self, push: Push) -> Discovery:
        url = self.forge.clone_url(push.repository)
        token = self.forge.clone_token(push.installation, push.repository)
        with self.history.fetch(url, token, push.before, push.after) as trees:
            return discover_roots(trees, push.repository)

    def _enqueue_all(self, push: Push, roots: Iterable[Root]) -> None:
        failures = []
        for root in roots:
            try:
                self.enqueue(_deployment(push, root))
            except Exception as error:  # noqa: BLE001  # One root's failure must not hold the others back.
                error.add_note(f"while enqueuing {root.name}")
                failures.append(error)
        if failures:
            raise ExceptionGroup("Roots could not be enqueued; the push is received again.", failures)

    def _show(self, push: Push, check_run: CheckRun) -> str:
        """Show the check run on the commit, once. Return what to add to the outcome when the forge refuses it."""
        where = push.installation, push.repository
        try:
            shown = self.forge.find_check_run(*where, push.after, external_id(push.after))
            if shown is None:
                self.forge.create_check_run(*where, check_run)
            else:
                self.forge.update_check_run(*where, shown, check_run)
        except ForgeRefused as error:
            return f"The check run could not be shown: {error}"
        return ""


def _check_run(push: Push, discovery: Discovery) -> CheckRun | None:
    """Return what is to be said of the configuration: what of it is refused, or that a new file is in order."""
    if discovery.refused:
        return render_refused(push.after, discovery.refused)
    names = [root.name for root in discovery.roots]
    return render_valid(push.after, discovery.configured, names) if discovery.configures else None


def _deployment(push: Push, root: Root) -> Deployment:
    return Deployment(
        id=deployment_id(push.repository, root.name, push.after, _request(push)),
        repository=push.repository,
        root=root,
        revision=Revision(push.after, push.branch),
        trigger=Trigger.MERGE,
        requested_by=push.sender,
        requested_at=push.received_at,
        installation=push.installation,
        changed_at=push.received_at,
    )


def _request(push: Push) -> str:
    """Return what tells this request from others for the same commit.

    A forced push may bring back a commit that was deployed before: that is a new request, while the
    same push in another delivery is not.
    """
    return f"forced from {push.before}" if push.forced else Trigger.MERGE


def _sentences(discovery: Discovery) -> str:
    names = ", ".join(root.name for root in discovery.roots)
    enqueued = f"Enqueued: {names}." if names else "No root is changed by this push."
    return " ".join([enqueued, *discovery.notes, *discovery.refused])
