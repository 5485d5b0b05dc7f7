"""Publishing changes, and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.audit import AuditMessage
    from tidegate.deploys.rules.deployment import Deployment
    from tidegate.deploys.rules.queue import Lock
    from tidegate.deploys.rules.speculative_plan import SpeculativePlan


class EventPublisher(Protocol):
    """Publishes changes of deployments. At least once; the newest state wins."""

    def changed(self, deployment: Deployment) -> None:
        """Put the state on the event bus and request a check-run update."""

    def review_expires_soon(self, deployment: Deployment) -> None:
        """Put on the event bus that the review of a deployment expires soon."""

    def locked(self, repository: str, root: str, lock: Lock, stacks: Sequence[str] = ()) -> None:
        """Put on the event bus that a queue is locked, whose root is in ``stacks``, or the scope of the lock."""

    def refresh(self, deployment: str) -> None:
        """Request a check-run update."""

    def position_changed(self, deployment: str) -> None:
        """Request a check-run update of a waiting deployment, if its position changed."""

    def progress_changed(self, deployment: str) -> None:
        """Request a check-run update because a workflow goes on, soon, and once for many requests."""

    def repeated(self, deployment: str, by: str) -> None:
        """Request a check-run update that another deployment runs this one again."""

    def answered(self, deployment: str, why: str) -> None:
        """Request a check-run update that says why a request on it had no effect."""

    def queue_changed(self, queue: str) -> None:
        """Request updates of the check runs of a queue, soon, and once for many requests."""

    def queue_changed_later(self, queue: str, seconds: int) -> None:
        """Request that after ``seconds``; at most a quarter of an hour."""

    def change_moved(self, change_set: str) -> None:
        """Request an evaluation of a change's gates, because one of its deployments ended or is blocked."""

    def stacks_moved(self, repository: str) -> None:
        """Request an evaluation of the promotions that wait for stacks of a repository: a deployment of it ended."""

    def slots_freed(self) -> None:
        """Request that free concurrency slots are handed to those that wait."""

    def layer_changed(self, layer: SpeculativePlan) -> None:
        """Request an update of the pull request's check run, soon, and once for many requests.

        If the layer has ended, request its own as well.
        """

    def pull_request_applied(self, pull_request: str) -> None:
        """Request the next step after something of ``OWNER/REPO#NUMBER`` was applied, or ended otherwise."""

    def pull_request_deployed(self, pull_request: str) -> None:
        """Request an update of the merge results of ``OWNER/REPO#NUMBER``, soon, and once for many requests."""

    def pull_request_ended(self, pull_request: str, revision: str, error: str = "", cause: str = "") -> None:
        """Request publication of a revision. ``error`` and ``cause`` describe an internal error."""

    def entry_changed(self, repository: str, entry: str) -> None:
        """Request what follows from news of a config update: its check run, and its promotion's next step."""

    def entry_refused(self, repository: str, entry: str, notice: str) -> None:
        """Request that the check run of an entry tells why a button had no effect."""


class AuditLog(Protocol):
    def publish(self, message: AuditMessage) -> None:
        """Publish to the audit topic. A repeated event is one message. Raise AuditUnavailable."""
