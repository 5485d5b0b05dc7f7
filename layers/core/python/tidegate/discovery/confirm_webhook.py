"""Ask the forge itself for what a webhook told in somebody's name, where whoever knows a secret could have told it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.deploys.rules.audit import unconfirmed_message
from tidegate.ports import AuditLog
from tidegate.ports.witness import ForgeWitness
from tidegate.vcs.rules.push import Push
from tidegate.vcs.rules.pushers import HeadPush


@dataclass(frozen=True, slots=True)
class PushConfirmer:
    """Lets only pushes count that the default branch has, as made by whom the forge names."""

    witness: ForgeWitness
    audit: AuditLog

    def confirm(self, push: Push) -> Push | None:
        """Return the push as the forge knows it, None if it does not. Raise as for comments."""
        pushed = self.witness.pushed(push.installation, push.repository, push.branch, push.after)
        if pushed is not None:
            return replace(push.by(pushed.by), before=pushed.before or push.before)
        doubt = f"The default branch {push.branch} does not have {push.after}."
        self.audit.publish(unconfirmed_message(push.delivery, push.repository, push.sender, doubt, push.received_at))
        return None


@dataclass(frozen=True, slots=True)
class HeadConfirmer:
    """Lets only who the forge names have pushed a pull request's head: of others it stays unknown who did."""

    witness: ForgeWitness

    def confirm(self, installation: int, repository: str, told: HeadPush) -> HeadPush | None:
        """Return a push as the forge knows it, None if it does not. Raise ForgeUnavailable and ForgeRefused."""
        by = self.witness.pusher(installation, repository, told.after)
        return replace(told, by=by) if by else None
