"""URLs at the VCS provider, computed without a call."""

from __future__ import annotations

from urllib.parse import urlsplit


class GitHubUrls:
    """The port ``ForgeUrls`` below GitHub's URL, such as ``https://github.com``."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def check_run_url(self, repository: str, check_run_id: int) -> str:
        return f"{self._url}/{repository}/runs/{check_run_id}"

    def pull_request_checks_url(self, repository: str, number: int) -> str:
        return f"{self._url}/{repository}/pull/{number}/checks"

    def pull_request_url(self, repository: str, number: int) -> str:
        return f"{self._url}/{repository}/pull/{number}"

    def pull_request_ref(self, number: int) -> str:
        return f"refs/pull/{number}/head"

    def issue_url(self, repository: str, number: int) -> str:
        return f"{self._url}/{repository}/issues/{number}"

    def commit_url(self, repository: str, sha: str) -> str:
        return f"{self._url}/{repository}/commit/{sha}"

    def clone_url(self, repository: str) -> str:
        return f"{self._url}/{repository}.git"

    def picture_origin(self) -> str:
        is_cloud = urlsplit(self._url).hostname == "github.com"
        return "https://avatars.githubusercontent.com" if is_cloud else _origin(self._url)


class GitLabUrls:
    """The port ``ForgeUrls`` below GitLab's URL, such as ``https://gitlab.com``."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    @property
    def forge_url(self) -> str:
        return self._url

    def check_run_url(self, repository: str, check_run_id: int) -> str:
        """Return the list of the project's statuses, newest first: a single one has no page."""
        return f"{self._url}/{repository}/-/pipelines"

    def pull_request_checks_url(self, repository: str, number: int) -> str:
        return f"{self.pull_request_url(repository, number)}/pipelines"

    def pull_request_url(self, repository: str, number: int) -> str:
        return f"{self._url}/{repository}/-/merge_requests/{number}"

    def pull_request_ref(self, number: int) -> str:
        return f"refs/merge-requests/{number}/head"

    def issue_url(self, repository: str, number: int) -> str:
        return f"{self._url}/{repository}/-/issues/{number}"

    def commit_url(self, repository: str, sha: str) -> str:
        return f"{self._url}/{repository}/-/commit/{sha}"

    def clone_url(self, repository: str) -> str:
        return f"{self._url}/{repository}.git"

    def picture_origin(self) -> str:
        return _origin(self._url)


def _origin(url: str) -> str:
    return "{0.scheme}://{0.netloc}".format(urlsplit(url))
