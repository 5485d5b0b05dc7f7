"""The App's webhook deliveries on GitHub: find failed ones and redeliver them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from github import GithubException
from requests import RequestException

from tidegate.ports import FailedDelivery
from tidegate.rules.timestamp import timestamp_from
from tidegate.vcs.github.access import AppCredentials, GitHubApp

_PATH = "/app/hook/deliveries"
_NEXT = re.compile(r"[?&]cursor=(?P<cursor>[^&>]++)")
#: Pages of a hundred deliveries that are read at most: more than a busy App has in half an hour.
MAXIMUM_PAGES = 20
_SUCCESS = range(200, 300)


class GitHubDeliveries:
    """The port ``ForgeDeliveries``."""

    def __init__(
        self, credentials: Callable[[], AppCredentials], *, api_url: str, now: Callable[[], float] = time.time
    ) -> None:
        self._app = GitHubApp(credentials, api_url=api_url, now=now)

    def failed(self, since: datetime) -> Sequence[FailedDelivery]:
        """Return one delivery for each GUID, the newest attempt, oldest first."""
        try:
            newest: dict[str, dict[str, Any]] = {}
            taken: set[str] = set()
            for attempt in self._since(since):
                newest.setdefault(attempt["guid"], attempt)
                if int(attempt.get("status_code") or 0) in _SUCCESS:
                    taken.add(attempt["guid"])
        except (GithubException, RequestException) as error:
            raise self._app.translated(error) from error
        return [_failed(attempt) for guid, attempt in reversed(newest.items()) if guid not in taken]

    def redeliver(self, delivery: int) -> None:
        try:
            self._app.request("POST", f"{_PATH}/{delivery}/attempts")
        except (GithubException, RequestException) as error:
            raise self._app.translated(error) from error

    def _since(self, since: datetime) -> Iterator[dict[str, Any]]:
        """Yield attempts, newest first."""
        path = f"{_PATH}?per_page=100"
        for _ in range(MAXIMUM_PAGES):
            headers, page = self._app.request("GET", path)
            for attempt in page:
                if timestamp_from(attempt["delivered_at"]) < since:
                    return
                yield attempt
            links = str(headers.get("link") or "").split(",")
            following = next(filter(None, (_NEXT.search(each) for each in links if 'rel="next"' in each)), None)
            if not page or following is None:
                return
            path = f"{_PATH}?per_page=100&cursor={following['cursor']}"


def _failed(attempt: dict[str, Any]) -> FailedDelivery:
    at = timestamp_from(attempt["delivered_at"])
    return FailedDelivery(int(attempt["id"]), str(attempt["guid"]), str(attempt["event"]), at)
