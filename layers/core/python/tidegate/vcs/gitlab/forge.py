"""GitLab: the port ``Forge`` on its REST API, with the token of Tidegate's user."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from tidegate.ports import FailedDelivery
from tidegate.vcs.gitlab.access import GitLabAccess, GitLabCredentials
from tidegate.vcs.gitlab.branches import GitLabBranches
from tidegate.vcs.gitlab.checks import GitLabChecks
from tidegate.vcs.gitlab.comments import GitLabComments
from tidegate.vcs.gitlab.issues import GitLabIssues
from tidegate.vcs.gitlab.people import GitLabPeople
from tidegate.vcs.gitlab.pulls import GitLabPulls
from tidegate.vcs.gitlab.webhook_verifier import GitLabWebhookVerifier

__all__ = ["GitLabCredentials", "GitLabDeliveries", "GitLabForge"]


class GitLabForge(
    GitLabBranches, GitLabChecks, GitLabComments, GitLabIssues, GitLabPeople, GitLabPulls, GitLabWebhookVerifier
):
    """The ports ``Forge`` and ``WebhookVerifier``.

    ``web`` is the URL of Tidegate's pages. ``credentials`` is called when a token is needed.
    """

    def __init__(
        self,
        credentials: Callable[[], GitLabCredentials],
        *,
        url: str,
        api_url: str,
        web: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(url)
        self.web = web.rstrip("/")
        self._access = GitLabAccess(credentials, api_url=api_url, now=now)


class GitLabDeliveries:
    """The port ``ForgeDeliveries``: GitLab stores deliveries by project, so they are not read."""

    def failed(self, since: datetime) -> Sequence[FailedDelivery]:
        """Return none: the reconciler compares branches and merge requests instead."""
        return ()

    def redeliver(self, delivery: int) -> None:
        """Do nothing: no delivery is ever reported."""
