"""Whether a comment in a webhook matches the VCS provider's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from tidegate.vcs.rules.events import command_in

#: How old a comment may be: VCS providers retry webhooks for a while.
LONGEST_WAY = timedelta(days=1)
#: A comment that was changed later than this was edited.
_SETTLED = timedelta(seconds=5)


def comment_mismatch(sender: str, text: str, author: str, written: str, prefixes: Sequence[str]) -> str:
    """Return why a comment ``written`` by ``author`` is not the command ``text`` of ``sender``, empty if it is.

    ``prefixes`` are the first words of commands.
    """
    if author != sender:
        return "The author in the event is not the author of the comment."
    if command_in(written, prefixes) != text:
        return "The text in the event is not the text of the comment."
    return ""


def age_mismatch(written_at: datetime, edited_at: datetime, received_at: datetime) -> str:
    """Return why a comment does not count any more, empty if it does."""
    if edited_at - written_at > _SETTLED:
        return "The comment was edited."
    if received_at - written_at > LONGEST_WAY:
        return "The event arrived more than a day after the comment was written."
    return ""
