"""GitHub: the port ``Forge`` on PyGithub, with the App's installation tokens."""

from __future__ import annotations

import time
from collections.abc import Callable

from tidegate.vcs.adapters.addresses import GitHubUrls
from tidegate.vcs.github.access import AppCredentials, GitHubAccess, GitHubApp
from tidegate.vcs.github.branches import GitHubBranches
from tidegate.vcs.github.checks import GitHubChecks
from tidegate.vcs.github.comments import GitHubComments
from tidegate.vcs.github.issues import GitHubIssues
from tidegate.vcs.github.people import GitHubPeople
from tidegate.vcs.github.pulls import GitHubPulls

__all__ = ["AppCredentials", "GitHubForge"]


class GitHubForge(GitHubUrls, GitHubBranches, GitHubChecks, GitHubComments, GitHubIssues, GitHubPeople, GitHubPulls):
    """The port ``Forge``. ``credentials`` is called when the first token is needed.

    With ``comment_token``, or one in the App's credentials, that token's user writes the comments.
    """

    def __init__(
        self,
        credentials: Callable[[], AppCredentials],
        *,
        url: str,
        api_url: str,
        comment_token: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(url)
        self._credentials, self._given_token = credentials, comment_token
        self._access = GitHubAccess(GitHubApp(credentials, api_url=api_url, now=now), now)

    @property
    def _comment_token(self) -> str:
        return self._given_token or self._credentials().comment_token
