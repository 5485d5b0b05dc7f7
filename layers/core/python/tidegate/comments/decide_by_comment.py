"""Confirm, reject or cancel what a comment on a pull request means, as its buttons do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.comments.answer_comment import Comment, answerer, outcome, refused
from tidegate.comments.rules.command import Command, Misread, Verb, read_comment
from tidegate.comments.texts import replies
from tidegate.comments.texts.decisions import Unclear, meant, written_too_early
from tidegate.deploys.authorize import Asking, Authorizer
from tidegate.deploys.jobs.cancel_deployment import DeploymentCanceller
from tidegate.deploys.rules.deployment import Deployment, State, is_final
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.review import Answer
from tidegate.ports import Deliveries, Delivery, DeliveryOutcome, Deployments, Forge, PullRequests
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.access import Action
from tidegate.rules.decision import Decision
from tidegate.texts.markdown import prose
from tidegate.vcs.conclude import conclude, is_concluded

_SIGNS = {Verb.CONFIRM: "✅", Verb.REJECT: "🚫", Verb.CANCEL: "🛑"}


@dataclass(frozen=True, slots=True)
class CommentDecider:
    """Decides by comments; receiving one again is harmless.

    ``decide`` answers a review, for the plan of the SHA-256 that is given; ``decide_gate`` answers at a gate.
    """

    deliveries: Deliveries
    deployments: Deployments
    records: PullRequests
    forge: Forge
    authorizer: Authorizer
    decide: Callable[[str, Answer, str, str, str | None], Decision]
    decide_gate: Callable[[str, GateAnswer, str, str], Decision]
    canceller: DeploymentCanceller

    def receive(self, delivery: Delivery) -> str:
        """Return, and store with the delivery, what became of the comment. Raise as what decides does."""
        if is_concluded(self.deliveries, delivery.id):
            return "The comment was answered before."
        comment = Comment(delivery=delivery.id, received_at=delivery.received_at, **delivery.fields)
        return conclude(self.deliveries, delivery.id, lambda: self._outcome(comment))

    def _outcome(self, comment: Comment) -> DeliveryOutcome:
        command = read_comment(comment.text, comment.prefix)
        if isinstance(command, Misread):
            return refused(self.forge, self.deliveries, comment, command.reply)
        record = next(iter(self.records.many([(comment.repository, comment.pull_request)])), None)
        plans = _told(comment)
        try:
            found = meant(command, self._open(comment, record), comment.prefix)
        except replies.ANSWERED as error:
            return refused(self.forge, self.deliveries, comment, _paragraphs(replies.why_not(error), plans))
        if isinstance(found, Unclear):
            if comment.plans_cancelled:
                return outcome(comment.plans, answerer(self.forge, comment).reply(plans))
            return refused(self.forge, self.deliveries, comment, _paragraphs(found.reply, plans))
        asking = self.authorizer.asking(comment.where, comment.sender)
        told = [(each.root.name, self._decided(each, comment, command, asking)) for each in found]
        reply = _paragraphs(replies.locks_changed(told, _SIGNS[command.verb]), plans)
        if not comment.plans_cancelled and not any(decision.done for _, decision in told):
            return refused(self.forge, self.deliveries, comment, f"**Nothing was done.**\n\n{reply}")
        text = " ".join([*(f"{name}: {decision.reason}" for name, decision in told), comment.plans]).rstrip()
        return outcome(text, answerer(self.forge, comment).reply(reply), deployments=tuple(each.id for each in found))

    def _open(self, comment: Comment, record: PullRequestRecord | None) -> Sequence[Deployment]:
        """Return the deployments of the pull request that have not ended: of its head or merge, or asked for on it."""
        merge = self.forge.seen_pull_request(*comment.where, comment.pull_request).merge_sha
        known = {each.deployment for each in (*record.applies, *record.deploys)} - {""} if record else set()

        def is_of_it(each: Deployment) -> bool:
            asked_on = each.destroy.asked_on if each.destroy else None
            asked = comment.pull_request in {each.pull_request, asked_on} or (merge and each.revision.sha == merge)
            return bool(asked) or not known.isdisjoint({each.id, each.rerun_of})

        every = self.deployments.many(sorted(self.deployments.unshown())).values()
        ours = (each for each in every if each.repository == comment.repository and not is_final(each.state))
        return sorted(filter(is_of_it, ours), key=lambda each: (each.root.name, each.stack, each.id))

    def _decided(self, each: Deployment, comment: Comment, command: Command, asking: Asking) -> Decision:
        judged = asking.may_with(each, Action.REVIEW)
        if not judged.done:
            return judged
        by, at = comment.sender, comment.received_at
        match command.verb:
            case Verb.CANCEL:
                return self.canceller.cancel(each.id, by, at, is_apply=command.interrupts)
            case Verb.CONFIRM:
                early, seen = written_too_early(each, comment.written_at), each.plan.file.sha256 if each.plan else ""
                return Decision(False, early) if early else self.decide(each.id, Answer.APPROVE, by, at, seen)
            case _ if each.state is State.AWAITING_REVIEW:
                return self.decide(each.id, Answer.REJECT, by, at, None)
            case _:
                return self.decide_gate(each.id, GateAnswer.REJECT, by, at)


def _told(comment: Comment) -> str:
    """Return what became of the pull request's plans, in Markdown."""
    sign = f"{_SIGNS[Verb.CANCEL]} " if comment.plans_cancelled else ""
    return f"{sign}{prose(comment.plans)}"


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))
