"""Carry out ``destroy`` in a comment: destroy the resources of roots that the pull request removed.

The same comment again destroys nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.comments.answer_comment import Comment, answerer, outcome, refused
from tidegate.comments.rules.command import Command
from tidegate.comments.texts import replies
from tidegate.deploys.rules.deployment import Deployment
from tidegate.discovery.texts import chosen_roots as chosen_roots_texts
from tidegate.policies.rules.apply_requirements import may_not_write
from tidegate.ports import DeliveryOutcome, Ports
from tidegate.requests.destroy_roots import Destroy, destroy_roots
from tidegate.roots.rules.root import Revision
from tidegate.rules.permission import Permission


def destroy_by_comment(ports: Ports, comment: Comment, command: Command) -> DeliveryOutcome:
    """Plan the destruction, and answer. Raise as ``receive_comment`` and ``destroy_roots`` do."""
    refusal = _refusal(ports, comment, command)
    if refusal:
        return refused(ports, comment, refusal)
    branch = ports.commits.default_branch(comment.repository)
    head = ports.deliveries.bind(comment.delivery, ports.commits.branch_head(comment.repository, branch))
    told = f"comment {comment.comment}"
    asked = Destroy(comment.repository, command.roots, comment.sender, comment.received_at, told, comment.pull_request)
    made, problems, repeats = destroy_roots(ports, asked, Revision(head, branch))
    if problems:
        return refused(ports, comment, chosen_roots_texts.roots_refused(problems))
    if repeats:
        checks = ports.addresses.pull_request_checks_url(comment.repository, comment.pull_request)
        lines = [replies.already_queued(each, earlier, checks) for each, earlier in repeats]
        return refused(ports, comment, replies.not_destroyed(lines))
    return _accepted(ports, comment, made)


def _refusal(ports: Ports, comment: Comment, command: Command) -> str:
    if not ports.pull_request_reader.pull_request(comment.repository, comment.pull_request).merged:
        return replies.not_merged(comment.prefix)
    if not command.roots:
        return replies.name_what_to_destroy(comment.prefix)
    permission = ports.people.permission(comment.repository, comment.sender)
    if permission < Permission.WRITE:
        return replies.not_destroyed([may_not_write(comment.sender)])
    return ""


def _accepted(ports: Ports, comment: Comment, made: Sequence[Deployment]) -> DeliveryOutcome:
    answer, names = answerer(ports.comments, comment), list(dict.fromkeys(each.root.name for each in made))
    problems = answer.accept(), answer.reply(replies.destroying(made))
    ids = tuple(each.id for each in made)
    return outcome(f"Enqueued for destroy: {', '.join(names)}.", *problems, deployments=ids)
