"""What a forge says of what webhooks told, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.ports.webhook_verifier import Pushed, WrittenComment
from tidegate.rules.errors import TidegateError


@dataclass(slots=True)
class MemoryWebhookVerifier:
    """The port ``WebhookVerifier`` for one repository.

    ``comments`` are keyed by pull request and comment, ``pushes`` by branch and commit; ``asked`` counts calls,
    ``failure`` is raised by all.
    """

    comments: dict[tuple[int, int], WrittenComment] = field(default_factory=dict)
    pushes: dict[tuple[str, str], Pushed] = field(default_factory=dict)
    asked: int = 0
    failure: TidegateError | None = None

    def written_comment(
        self,
        project: int,
        repository: str,
        pull_request: int,
        comment: int,
    ) -> WrittenComment | None:
        self._called()
        return self.comments.get((pull_request, comment))

    def pushed(self, project: int, repository: str, branch: str, commit: str) -> Pushed | None:
        self._called()
        return self.pushes.get((branch, commit))

    def pusher(self, project: int, repository: str, commit: str) -> str | None:
        self._called()
        return next((pushed.by for (_, pushed_commit), pushed in self.pushes.items() if pushed_commit == commit), None)

    def _called(self) -> None:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
