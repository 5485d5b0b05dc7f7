"""The deployments that a comment decides about, and replies if there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.comments.rules.command import Command, Verb
from tidegate.deploys.rules.cancelling import can_be_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.requirements_gate import waits
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.commands import SHOWN_DIGEST, approve_command
from tidegate.texts.markdown import code
from tidegate.texts.sentences import listed

#: Deployments that a reply names, and roots.
_NAMED = 20
_WAITS_FOR = {
    Verb.APPROVE: "No plan waits for a review here",
    Verb.REJECT: "No deployment here waits for a review, its requirements, or other deployments",
    Verb.CANCEL: "No deployment here is waiting, planning or applying",
}


@dataclass(frozen=True, slots=True)
class Unclear:
    """It is unclear, or not possible, what a comment decides about: a reply in Markdown."""

    reply: str


def meant(command: Command, deployments: Sequence[Deployment], prefix: str) -> Sequence[Deployment] | Unclear:
    """Return which of a pull request's deployments a command means.

    To approve a plan, the command has the prefix of its SHA-256. To reject one of several, it names the root.
    Cancelling without a root means all.
    """
    named = [each for each in deployments if not command.roots or each.root.name in command.roots]
    found = [each for each in named if _may_be(command.verb, each)]
    if not found:
        of = f" of {listed([code(root) for root in command.roots], _NAMED)}" if command.roots else ""
        return Unclear(f"**Nothing was done.** {_WAITS_FOR[command.verb]}{of}.")
    if command.verb is Verb.APPROVE:
        return _approved(command, found, prefix)
    if command.verb is Verb.REJECT and not command.roots and found[1:]:
        return Unclear(_which("Several deployments wait. Choose the one to reject", found, command.verb, prefix))
    return found


def _approved(command: Command, found: Sequence[Deployment], prefix: str) -> Sequence[Deployment] | Unclear:
    if not command.digest:
        return Unclear(_which("Choose the plan that you have reviewed", found, command.verb, prefix))
    exact = [each for each in found if each.planned.plan and each.planned.plan.file.sha256.startswith(command.digest)]
    if exact:
        return exact
    why = f"No waiting plan has a SHA-256 that starts with {code(command.digest[:SHOWN_DIGEST])}. Waiting plans"
    return Unclear(_which(why, found, command.verb, prefix))


def written_too_early(deployment: Deployment, written_at: datetime | None) -> str:
    """Return why a comment does not approve the plan that a deployment waits with, empty if it does.

    A comment that was written before the plan was shown, or nobody knows when (None), is about another one.
    """
    asked = deployment.review.asked_at if deployment.review else None
    if asked and written_at and written_at >= asked:
        return ""
    return "This comment is older than the plan. Review the plan, and comment again."


def _may_be(verb: Verb, deployment: Deployment) -> bool:
    if verb is Verb.CANCEL:
        return can_be_cancelled(deployment)
    if verb is Verb.APPROVE:
        return deployment.state is State.AWAITING_REVIEW
    return deployment.state in {State.AWAITING_REVIEW, *WAITING} or waits(deployment)


def _which(why: str, found: Sequence[Deployment], verb: Verb, prefix: str) -> str:
    """Return a reply with each possible deployment, and the comment for it."""
    lines = [f"- {code(each.root.name)} in stack {code(each.stack)}: {_command(each, verb, prefix)}" for each in found]
    more = [f"- and {len(lines) - _NAMED} more"] if lines[_NAMED:] else []
    return "\n".join([f"**Nothing was done.** {why}:", "", *lines[:_NAMED], *more])


def _command(deployment: Deployment, verb: Verb, prefix: str) -> str:
    if verb is Verb.APPROVE:
        return code(approve_command(deployment, prefix))
    return code(f"{prefix} {verb} -p {deployment.root.name}")
