"""Telling others what changed, and the audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.audit import AuditMessage
    from tidegate.deploys.rules.deployment import Deployment
    from tidegate.deploys.rules.speculative_plan import SpeculativePlan


class EventPublisher(Protocol):
    """Telling others that a deployment changed. At least once, newest state wins."""

    def changed(self, deployment: Deployment) -> None:
        """Put the state on the event bus and ask for the check run to be brought up to date."""

    def refresh(self, deployment: str) -> None:
        """Ask for the check run to be brought up to date."""

    def position_changed(self, deployment: str) -> None:
        """Ask for the check run of one that waits to be brought up to date, if it looks otherwise by now."""

    def repeated(self, deployment: str, by: str) -> None:
        """Ask for the check run to say that another deployment runs this one again."""

    def answered(self, deployment: str, why: str) -> None:
        """Ask for the check run to say why what somebody asked for on it had no effect."""

    def queue_changed(self, queue: str) -> None:
        """Ask for the check runs of all that wait in a queue to be brought up to date, soon and once for many asks."""

    def queue_changed_later(self, queue: str, seconds: int) -> None:
        """Ask for that once ``seconds`` have passed; at most a quarter of an hour."""

    def change_moved(self, change_set: str) -> None:
        """Ask for the gates of a change to be looked at, as one of its deployments ended, or is blocked."""

    def slots_freed(self) -> None:
        """Ask for free concurrency slots to be handed to those who wait."""

    def layer_changed(self, layer: SpeculativePlan) -> None:
        """Ask for the pull request's check run to be brought up to date, soon and once for many asks.

        If the layer has ended, ask for its own as well.
        """

    def pull_request_applied(self, pull_request: str) -> None:
        """Ask for what follows once something of ``OWNER/REPO#NUMBER`` was applied, or came to another end."""

    def pull_request_deployed(self, pull_request: str) -> None:
        """Ask for what became of the merge of ``OWNER/REPO#NUMBER`` to be shown, soon and once for many asks."""

    def pull_request_ended(self, pull_request: str, revision: str, error: str = "", cause: str = "") -> None:
        """Ask for what is known of a revision to be shown. ``error`` and ``cause`` tell that there was an internal
        error.
        """


class AuditLog(Protocol):
    def publish(self, message: AuditMessage) -> None:
        """Publish to the audit topic. The same event again is one message. Raise AuditUnavailable."""
