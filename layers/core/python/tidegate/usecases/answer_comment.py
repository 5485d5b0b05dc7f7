"""Answer a comment under its pull request. What the forge refuses of that is told in the outcome, and never raised.

Whoever may comment can delete the comment, or lock the conversation: nobody shall raise an alarm that way, nor have
the work done again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.domain.errors import ForgeRefused, ForgeUnavailable
from tidegate.ports import Forge

#: GitHub's words for what people see at once under their comment.
_ACCEPTED, _REFUSED = "rocket", "confused"


@dataclass(frozen=True, slots=True)
class CommentAnswerer:
    """Answers one comment. ``pull_request`` and ``comment`` are the forge's numbers.

    Each method returns sentences for the outcome: empty, or what could not be shown.
    """

    forge: Forge
    installation: int
    repository: str
    pull_request: int
    comment: int

    def accept(self) -> str:
        """Show that the command was understood and is done."""
        return self._react(_ACCEPTED)

    def refuse(self, reply: str) -> str:
        """Show that nothing is done, and reply why. Raise ForgeUnavailable when there is no reply for now."""
        return " ".join(filter(None, (self._react(_REFUSED), self.reply(reply))))

    def reply(self, text: str) -> str:
        """Write a comment (Markdown). Raise ForgeUnavailable."""
        return _told(lambda: self.forge.comment(self.installation, self.repository, self.pull_request, text))

    def _react(self, reaction: str) -> str:
        """React, if the forge can: a reaction is not worth doing all the rest again."""
        try:
            return _told(lambda: self.forge.react(self.installation, self.repository, self.comment, reaction))
        except ForgeUnavailable as error:
            return f"The reaction could not be shown: {error}"


def _told(show: Callable[[], object]) -> str:
    try:
        show()
    except ForgeRefused as error:
        return f"The answer could not be shown: {error}"
    return ""
