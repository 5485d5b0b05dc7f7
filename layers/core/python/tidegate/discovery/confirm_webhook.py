"""Verify unsigned webhooks at the VCS provider: anybody with the webhook's token could have sent them."""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.audit import unconfirmed_message
from tidegate.ports import Ports
from tidegate.vcs.rules.push import Push
from tidegate.vcs.rules.pushers import HeadPush


def confirm_push(ports: Ports, push: Push) -> Push | None:
    """Return the push as the VCS provider has it, None if it does not; if webhooks are signed, unchanged.

    Raise as for comments.
    """
    if ports.webhook_verifier is None:
        return push
    pushed = ports.webhook_verifier.pushed(push.project, push.repository, push.branch, push.after)
    if pushed is not None:
        return replace(push.by(pushed.by), before=pushed.before or push.before)
    doubt = f"The default branch {push.branch} does not have {push.after}."
    ports.audit.publish(unconfirmed_message(push.delivery, push.repository, push.sender, doubt, push.received_at))
    return None


def confirm_head(ports: Ports, project: int, repository: str, told: HeadPush) -> HeadPush | None:
    """Return a push as the VCS provider has it, None if it does not; if webhooks are signed, unchanged.

    Raise ForgeUnavailable and ForgeRefused.
    """
    if ports.webhook_verifier is None:
        return told
    by = ports.webhook_verifier.pusher(project, repository, told.after)
    return replace(told, by=by) if by else None
