"""GitHub's manifest flow: an App from a manifest, in exchange for a code."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode, urlsplit

from github import GithubException
from requests import RequestException

from tidegate.rules.errors import ForgeUnavailable
from tidegate.setup.rules.app_needs import Granted
from tidegate.setup.rules.created_app import CreatedApp
from tidegate.vcs.github.access import AppCredentials, GitHubApp

#: Seconds for GitHub to answer, and bytes of an answer.
_TIMEOUT, _LONGEST_ANSWER = 10, 200_000
_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")
#: GitHub's statuses for a code that is unknown or was used.
_NOT_A_CODE = frozenset({404, 422})


class GitHubAppManifests:
    """The port ``AppManifests``. ``url`` is GitHub's address, ``api_url`` that of its API."""

    def __init__(self, *, url: str, api_url: str) -> None:
        self._url, self._api_url = url.rstrip("/"), api_url.rstrip("/")

    def address(self, organization: str, state: str) -> str:
        owner = f"/organizations/{organization}" if organization else ""
        return f"{self._url}{owner}/settings/apps/new?{urlencode({'state': state})}"

    def convert(self, code: str) -> CreatedApp | None:
        if not _CODE.fullmatch(code):
            return None
        headers = {"Accept": "application/vnd.github+json", "User-Agent": "tidegate"}
        address = f"{self._api_url}/app-manifests/{code}/conversions"
        request = urllib.request.Request(address, data=b"", headers=headers)  # noqa: S310  # From the settings.
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310  # From the settings.
                return self._created(json.loads(answer.read(_LONGEST_ANSWER)))
        except urllib.error.HTTPError as error:
            with error:
                if error.code in _NOT_A_CODE:
                    return None
                raise ForgeUnavailable(f"{error.code} for a manifest") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ForgeUnavailable(f"no answer about a manifest ({type(error).__name__})") from error

    def _created(self, answer: dict[str, Any]) -> CreatedApp:
        page = str(answer["html_url"])
        return CreatedApp(
            id=int(answer["id"]),
            name=str(answer["name"]),
            page=page if urlsplit(page)[:2] == urlsplit(self._url)[:2] else self._url,
            client_id=_text(answer, "client_id"),
            private_key=_text(answer, "pem"),
            client_secret=_text(answer, "client_secret"),
            webhook_secret=_text(answer, "webhook_secret"),
        )

    def granted(self, app: CreatedApp) -> Granted:
        at_github = GitHubApp(lambda: AppCredentials(str(app.id), app.private_key), api_url=self._api_url)
        try:
            _, registered = at_github.request("GET", "/app")
            _, hook = at_github.request("GET", "/app/hook/config")
        except (GithubException, RequestException) as error:
            raise at_github.translated(error) from error
        return Granted(dict(registered["permissions"]), frozenset(registered["events"]), str(hook.get("url", "")))


def _text(answer: dict[str, Any], name: str) -> str:
    """Return a field. Raise ValueError if it is empty, as a secret that GitHub did not make would be."""
    value = answer[name]
    if not isinstance(value, str) or not value:
        raise ValueError(name)
    return value
