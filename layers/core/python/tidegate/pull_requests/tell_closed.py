"""Say in the comments of a pull request that it is closed: their next steps are none any more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from tidegate.ports import Forge
from tidegate.pull_requests.rules.comment import MARKER, render_closed
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.rules.pull_request import PullRequestSpec


@dataclass(frozen=True, slots=True)
class ClosedTeller:
    """Brings comments to the end of their pull request. Once more is harmless.

    ``page`` is where it is shown, ``deployed`` asks for what its merge deploys to be shown.
    """

    forge: Forge
    page: Callable[[PullRequestSpec], str]
    deployed: Callable[[str], object]

    def tell(self, record: PullRequestRecord, *, merged: bool) -> None:
        """Change our comments in place. What somebody deleted or locked stays as it is. Raise ForgeUnavailable."""
        if record.is_deploying:  # Whoever shows that writes the whole end: two would overwrite each other's.
            self.deployed(record.spec.id)
        elif record.comments:
            self._end(record, merged=merged)

    def _end(self, record: PullRequestRecord, *, merged: bool) -> None:
        spec, ours = record.spec, {comment for _, comment in record.comments}
        with suppress(ForgeRefused):
            for comment, text in self.forge.our_comments(*spec.where, spec.number, MARKER).items():
                closed = render_closed(text, self.page(spec), merged=merged, applied=bool(record.applies))
                if comment in ours and closed != text:
                    with suppress(NotFound):
                        self.forge.update_comment(*spec.where, spec.number, comment, closed)
