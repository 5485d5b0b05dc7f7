"""The deployments that a comment decides about, and replies if there are none."""

from __future__ import annotations

from collections import Counter
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
#: Deployments that one comment approves or rejects: each asks the VCS provider, within the time of one function.
MOST_AT_ONCE = 25
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

    A review names plans by the prefix of their SHA-256, by their root, or by their stack. Rejecting the only one, and
    cancelling all, needs no name.
    """
    named = [each for each in deployments if not command.roots or each.root.name in command.roots]
    found = [each for each in named if _may_be(command.verb, each)]
    if not found:
        of = f" of {listed([code(root) for root in command.roots], _NAMED)}" if command.roots else ""
        return Unclear(f"**Nothing was done.** {_WAITS_FOR[command.verb]}{of}.")
    if command.verb is Verb.CANCEL:
        return found
    chosen = _reviewed(command, found, prefix)
    if not isinstance(chosen, Unclear) and len(chosen) > MOST_AT_ONCE:
        told = f"These are {len(chosen)} deployments, and a comment can {command.verb} {MOST_AT_ONCE}"
        return Unclear(f"**Nothing was done.** {told}. Name roots, or use the page of the change.")
    return chosen


def _reviewed(command: Command, found: Sequence[Deployment], prefix: str) -> Sequence[Deployment] | Unclear:
    verb = command.verb
    if command.digest:
        plans = [(each, each.planned.plan) for each in found]
        exact = [each for each, plan in plans if plan and plan.file.sha256.startswith(command.digest)]
        why = f"No waiting plan has a SHA-256 that starts with {code(command.digest[:SHOWN_DIGEST])}. Waiting plans"
        return exact or Unclear(_which(why, found, verb, prefix))
    if command.name:
        return _called(command, found, prefix)
    if verb is Verb.REJECT and (command.roots or not found[1:]):
        return found
    if verb is Verb.REJECT:
        return Unclear(_which("Several deployments wait. Choose the one to reject", found, verb, prefix))
    if command.roots and len({each.root.name for each in found}) == len(found):
        return found
    return Unclear(_which("Choose the plan that you have reviewed", found, verb, prefix))


def _called(command: Command, found: Sequence[Deployment], prefix: str) -> Sequence[Deployment] | Unclear:
    """Return what a name means: the one deployment of a root, or all of a stack; unclear if it could mean both."""
    of_root = [each for each in found if each.root.name == command.name]
    of_stack = [each for each in found if command.name in {each.stack, *each.within}]
    if not of_root and not of_stack:
        why = f"Nothing of a root or a stack {code(command.name)} waits. These do"
        return Unclear(_which(why, found, command.verb, prefix))
    if of_root[1:] or (of_root and of_stack and of_root != of_stack):
        several = list(dict.fromkeys([*of_root, *of_stack]))
        why = f"{code(command.name)} names several deployments. Choose one"
        return Unclear(_which(why, several, command.verb, prefix))
    return of_root or of_stack


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
    times = Counter(each.root.name for each in found)
    lines = [
        f"- {code(each.root.name)} in stack {code(each.stack)}: "
        f"{_command(each, verb, prefix, alone=times[each.root.name] == 1)}"
        for each in found
    ]
    more = [f"- and {len(lines) - _NAMED} more"] if lines[_NAMED:] else []
    return "\n".join([f"**Nothing was done.** {why}:", "", *lines[:_NAMED], *more])


def _command(deployment: Deployment, verb: Verb, prefix: str, *, alone: bool) -> str:
    if verb is Verb.APPROVE:
        return code(approve_command(deployment, prefix))
    if deployment.planned.plan and not alone:
        return code(f"{prefix} {verb} {deployment.planned.plan.file.sha256[:SHOWN_DIGEST]}")
    return code(f"{prefix} {verb} -p {deployment.root.name}")
