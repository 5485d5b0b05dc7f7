"""Terms of each VCS provider, for texts that need them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ForgeTerms:
    """The terms of one VCS provider.

    ``sign`` precedes a request's number. ``begin`` is the first step on an empty installation's page.
    """

    pull_request: str
    sign: str
    check_run: str
    begin: str

    @property
    def pull_requests(self) -> str:
        """Return the word for several."""
        return f"{self.pull_request}s"

    def reference(self, number: int) -> str:
        """Return how people write a request's number, such as ``#12``."""
        return f"{self.sign}{number}"


GITHUB_TERMS = ForgeTerms(
    "pull request",
    "#",
    "check run",
    "Install the App on a repository, merge a change of a root module to its default branch, then reload this page.",
)
GITLAB_TERMS = ForgeTerms(
    "merge request",
    "!",
    "commit status",
    "Add the webhook to a project, merge a change of a root module to its default branch, then reload this page.",
)


def terms_of(reference: str) -> ForgeTerms:
    """Return the terms of the VCS provider whose people write a request's number so."""
    return GITLAB_TERMS if reference.startswith(GITLAB_TERMS.sign) else GITHUB_TERMS
