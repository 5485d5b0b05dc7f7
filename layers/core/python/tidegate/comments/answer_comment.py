"""Answer a comment under its pull request. Refusals of the VCS provider are recorded, never raised.

A commenter can delete the comment, or lock the conversation: that must not raise an alarm or repeat the work. On a
public repository everybody may comment, and the VCS provider limits our requests an hour: outsiders get few answers,
and frequent ones are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from tidegate.comments.texts.replies import answering
from tidegate.ports import Comments, Delivery, DeliveryOutcome, Ports
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.rules.permission import Permission
from tidegate.rules.timestamp import timestamp_from, timestamp_text

#: GitHub's reactions, which people see immediately under their comment.
_ACCEPTED, _REFUSED = "rocket", "confused"
#: People with less permission are outsiders, and share a limit of answers.
_CHOSEN = Permission.TRIAGE
#: Characters of a time up to its hour.
_HOUR = 13
_UNANSWERED = "Not answered: the limit of answers per hour for people without write access is reached."
#: Answers an hour to one outsider, and to all of them in a repository: of GitHub's 500 requests these are 60.
_TO_ONE, _TO_ALL = 5, 30
#: Characters of a time up to ten minutes, and processed comments of one outsider in that time: each costs some ten of
#: GitHub's 5,000 calls an hour, and one person may write 500 comments.
_TEN_MINUTES, _CHECKED = 15, 10
_UNSEEN = "Ignored: the limit of comments per ten minutes for people without write access is reached."


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment from a delivery (its id). ``pull_request`` and ``comment`` are the VCS provider's numbers.

    ``written_at`` is when it was written, as the forge says; None if it does not. ``plans`` are
    sentences on what became of the pull request's plans, if that was decided before it was handed over. ``project`` is
    the number that webhooks name the repository by where they are verified, else 0.
    """

    delivery: str
    repository: str
    pull_request: int
    comment: int
    text: str
    sender: str
    received_at: datetime
    written_at: datetime | None = None
    plans: str = ""
    plans_cancelled: bool = False
    project: int = 0

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        """Return the comment of a delivery."""
        fields = dict(delivery.fields)
        written = fields.pop("written_at", "")
        at = timestamp_from(written) if written else None
        return cls(delivery=delivery.id, received_at=delivery.received_at, written_at=at, **fields)

    @property
    def prefix(self) -> str:
        """The first word of the command; answers use the same."""
        return self.text.split(maxsplit=1)[0].lower()


@dataclass(frozen=True, slots=True)
class CommentAnswerer:
    """Answers one comment. ``pull_request`` and ``comment`` are the VCS provider's numbers, ``text`` is the comment's.

    Each method returns sentences for the result: empty, or what could not be published.
    """

    comments: Comments
    repository: str
    pull_request: int
    comment: int
    text: str

    def accept(self) -> str:
        """Show that the command is accepted."""
        return self._react(_ACCEPTED)

    def refuse(self, reply: str) -> str:
        """Show that nothing is done, and reply why. Raise ForgeUnavailable if a reply is not possible now."""
        return " ".join(filter(None, (self._react(_REFUSED), self.reply(reply))))

    def reply(self, text: str) -> str:
        """Write a comment (Markdown) that quotes the answered one. Raise ForgeUnavailable."""
        return tell(self.comments, self.repository, self.pull_request, answering(self.text, text))

    def _react(self, reaction: str) -> str:
        """React, if possible: a failed reaction must not repeat all the rest."""
        place = self.repository, self.pull_request
        try:
            return _told(lambda: self.comments.react(*place, self.comment, reaction))
        except ForgeUnavailable as error:
            return f"The reaction could not be added: {error}"


def answerer(comments: Comments, comment: Comment) -> CommentAnswerer:
    """Return the answerer of a comment."""
    return CommentAnswerer(comments, comment.repository, comment.pull_request, comment.comment, comment.text)


def outcome(text: str, *problems: str, deployments: tuple[str, ...] = ()) -> DeliveryOutcome:
    """Return the result of a comment, with what could not be published."""
    return DeliveryOutcome(" ".join(filter(None, (text, *problems))), deployments)


def unseen(ports: Ports, comment: Comment) -> DeliveryOutcome | None:
    """Return the result for an outsider's comment beyond the limit, None for all that are processed.

    Raise ForgeUnavailable.
    """
    at = timestamp_text(comment.received_at)[:_TEN_MINUTES]
    turn = f"look at {comment.sender.lower()} in {comment.repository} at {at}"
    if _has_turn(ports, comment, turn, _CHECKED) or _is_chosen(ports, comment):
        return None
    return outcome(_UNSEEN, _UNANSWERED)


def refused(ports: Ports, comment: Comment, reply: str) -> DeliveryOutcome:
    """Refuse a comment: ``reply`` says why, in Markdown. Raise ForgeUnavailable."""
    if not _is_answered(ports, comment):
        return outcome(f"Refused: {reply}", _UNANSWERED)
    return outcome(f"Refused: {reply}", answerer(ports.comments, comment).refuse(reply))


def explained(ports: Ports, comment: Comment, text: str, reply: str) -> DeliveryOutcome:
    """Answer a comment without effect with a ``reply``; ``text`` is the result. Raise ForgeUnavailable."""
    if not _is_answered(ports, comment):
        return outcome(text, _UNANSWERED)
    return outcome(text, answerer(ports.comments, comment).reply(reply))


def _is_answered(ports: Ports, comment: Comment) -> bool:
    """Tell whether a comment without effect is answered: outsiders' are, a few times an hour.

    The limit is for each person in a repository, and for all of them together.
    """
    if _is_chosen(ports, comment):
        return True
    at = f"answer in {comment.repository} at {timestamp_text(comment.received_at)[:_HOUR]}"
    turns = ((f"{at} to {comment.sender.lower()}", _TO_ONE), (at, _TO_ALL))
    return all(_has_turn(ports, comment, turn, number) for turn, number in turns)


def _is_chosen(ports: Ports, comment: Comment) -> bool:
    """Tell whether the commenter is no outsider. Unknown permission grants nothing."""
    try:
        return ports.people.permission(comment.repository, comment.sender) >= _CHOSEN
    except ForgeRefused:
        return False


def _has_turn(ports: Ports, comment: Comment, turn: str, number: int) -> bool:
    """Tell whether a comment is within the limit. A repeated one stays so."""
    return any(ports.deliveries.claim(f"{turn}: {each}", comment.delivery) for each in range(number))


def tell(comments: Comments, repository: str, pull_request: int, text: str) -> str:
    """Write a comment (Markdown) under a pull request. Return what could not be published. Raise ForgeUnavailable."""
    return _told(lambda: comments.comment(repository, pull_request, text))


def _told(show: Callable[[], object]) -> str:
    try:
        show()
    except ForgeRefused as error:
        return f"The reply could not be posted: {error}"
    return ""
