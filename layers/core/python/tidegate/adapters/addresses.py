"""Where things are on GitHub, for those who need an address only: no call is made."""

from __future__ import annotations


class GitHubAddresses:
    """The port ``ForgeAddresses`` below the forge's own address, such as ``https://github.com``."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def check_run_url(self, repository: str, check_run_id: int) -> str:
        return f"{self._url}/{repository}/runs/{check_run_id}"

    def pull_request_checks_url(self, repository: str, number: int) -> str:
        return f"{self._url}/{repository}/pull/{number}/checks"

    def clone_url(self, repository: str) -> str:
        return f"{self._url}/{repository}.git"
