"""Approve, reject or cancel a pull request's deployments by a comment, as buttons do.

A repeated comment is harmless.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.comments.answer_comment import Comment, answerer, outcome, refused
from tidegate.comments.rules.command import Command, Misread, Verb, read_comment
from tidegate.comments.texts import replies
from tidegate.comments.texts.decisions import Unclear, meant, written_too_early
from tidegate.deploys.authorize import Asking, person_asking
from tidegate.deploys.cancel_deployment import cancel_deployment
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.state import State, is_final
from tidegate.gates.decide_gate import decide_gate
from tidegate.ports import Delivery, DeliveryOutcome, Ports
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.access import Action
from tidegate.rules.decision import Decision
from tidegate.texts.markdown import prose
from tidegate.vcs.conclude import conclude, is_concluded

_SIGNS = {Verb.APPROVE: "✅", Verb.REJECT: "🚫", Verb.CANCEL: "🛑"}


def decide_by_comment(ports: Ports, delivery: Delivery) -> str:
    """Return the result of the comment, and store it with the delivery. Raise as the decision does."""
    if is_concluded(ports.deliveries, delivery.id):
        return "The comment was already answered."
    comment = Comment.of(delivery)
    return conclude(ports.deliveries, delivery.id, lambda: _outcome(ports, comment))


def _outcome(ports: Ports, comment: Comment) -> DeliveryOutcome:
    command = read_comment(comment.text, comment.prefix)
    if isinstance(command, Misread):
        return refused(ports, comment, command.reply)
    record = next(iter(ports.pull_requests.many([(comment.repository, comment.pull_request)])), None)
    plans = _told(comment)
    try:
        found = meant(command, _open(ports, comment, record), comment.prefix)
    except replies.ANSWERED as error:
        return refused(ports, comment, _paragraphs(replies.why_not(error), plans))
    if isinstance(found, Unclear):
        if comment.plans_cancelled:
            return outcome(comment.plans, answerer(ports.comments, comment).reply(plans))
        return refused(ports, comment, _paragraphs(found.reply, plans))
    asking = person_asking(ports, comment.repository, comment.sender)
    told = [(each.root.name, _decided(ports, each, comment, command, asking)) for each in found]
    reply = _paragraphs(replies.locks_changed(told, _SIGNS[command.verb]), plans)
    if not comment.plans_cancelled and not any(decision.done for _, decision in told):
        return refused(ports, comment, f"**Nothing was done.**\n\n{reply}")
    text = " ".join([*(f"{name}: {decision.reason}" for name, decision in told), comment.plans]).rstrip()
    return outcome(text, answerer(ports.comments, comment).reply(reply), deployments=tuple(each.id for each in found))


def _open(ports: Ports, comment: Comment, record: PullRequestRecord | None) -> Sequence[Deployment]:
    """Return the pull request's deployments that have not ended: of its head or merge, or requested on it."""
    merge = ports.pull_request_reader.seen_pull_request(comment.repository, comment.pull_request).merge_sha
    known = {each.deployment for each in (*record.applies, *record.deploys)} - {""} if record else set()

    def is_of_it(each: Deployment) -> bool:
        asked_on = each.request.destroy.asked_on if each.request.destroy else None
        asked = comment.pull_request in {each.request.pull_request, asked_on} or (merge and each.revision.sha == merge)
        return bool(asked) or not known.isdisjoint({each.id, each.rerun.of})

    every = ports.deployments.many(sorted(ports.deployments.unshown())).values()
    ours = (each for each in every if each.repository == comment.repository and not is_final(each.state))
    return sorted(filter(is_of_it, ours), key=lambda each: (each.root.name, each.stack, each.id))


def _decided(ports: Ports, each: Deployment, comment: Comment, command: Command, asking: Asking) -> Decision:
    judged = asking.may_with(each, Action.REVIEW)
    if not judged.done:
        return judged
    by, at = comment.sender, comment.received_at
    match command.verb:
        case Verb.CANCEL:
            return cancel_deployment(ports, each.id, by, at, is_apply=command.interrupts)
        case Verb.APPROVE:
            early, seen = (
                written_too_early(each, comment.written_at),
                each.planned.plan.file.sha256 if each.planned.plan else "",
            )
            if early:
                return Decision(False, early)
            return decide_review(
                ports, each.id, Answer.APPROVE, by, at, seen, reason=command.reason, destroys=command.confirmed
            )
        case _ if each.state is State.AWAITING_REVIEW:
            return decide_review(ports, each.id, Answer.REJECT, by, at, None, reason=command.reason)
        case _:
            return decide_gate(ports, each.id, GateAnswer.REJECT, by, at, command.reason)


def _told(comment: Comment) -> str:
    """Return the result for the pull request's plans, in Markdown."""
    sign = f"{_SIGNS[Verb.CANCEL]} " if comment.plans_cancelled else ""
    return f"{sign}{prose(comment.plans)}"


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))
