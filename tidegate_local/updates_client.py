"""A config repository as CI, its targets and people use it through the HTTP API, for scripts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from tidegate_local.forge.client import ForgeClient

_SECONDS = 60.0


class ApiAnswered(Exception):
    """The API refused: its status (0 for no answer at all) and what it said."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text}".strip())
        self.status, self.text = status, text

    @property
    def is_missing(self) -> bool:
        """Tell whether there is no such thing, or not yet."""
        return self.status == HTTPStatus.NOT_FOUND


@dataclass(frozen=True, slots=True)
class UpdatesClient:
    """The API of an installation at ``api_url`` about one config repository. ``app`` is the application's repository.

    Methods raise ApiAnswered.
    """

    api_url: str
    forge: ForgeClient
    repository: str
    app: str

    def announce(
        self, image_set: str, number: int, services: Iterable[str], *, run_number: int | None = None
    ) -> dict[str, Any]:
        """Announce the images of the application's build as its CI does, with its job's token; return the answer."""
        app_sha = app_commit(number)
        run = str(number if run_number is None else run_number)
        token = self.forge.job_token(self.app, app_sha, self.api_url, run_number=run)
        return self.call("PUT", f"/sets/{image_set}/images/{app_sha}", token, images(services, number))

    def is_known(self, by: str) -> bool:
        """Tell whether the installation has heard of the repository's first push."""
        try:
            self.call("GET", "/sets", by)
        except ApiAnswered as refused:
            if not refused.is_missing:
                raise
            return False
        return True

    def new_target_token(self, image_set: str, target: str, by: str) -> str:
        """Return a new token of a target; ``by`` is the token of somebody who may write."""
        return str(self.call("POST", f"/sets/{image_set}/targets/{target}/token", by, {})["token"])

    def report(self, image_set: str, target: str, token: str, commit: str, result: str = "succeeded") -> dict[str, Any]:
        """Report what a target deployed."""
        given = {"config_sha": commit, "result": result}
        return self.call("POST", f"/sets/{image_set}/targets/{target}/deployed", token, given)

    def call(self, method: str, path: str, token: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call the API at a path below the repository's."""
        return ask(method, f"{self.api_url}/api/v1/config-updates/{self.repository}{path}", token, body)


def ask(method: str, url: str, token: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what the API answers, an object. Raise ApiAnswered."""
    headers = {"Authorization": f"Bearer {token}"}
    try:
        answer = httpx.request(method, url, json=body, headers=headers, timeout=_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        raise ApiAnswered(0, str(error)) from error
    if answer.is_error:
        raise ApiAnswered(answer.status_code, answer.text)
    try:
        found: dict[str, Any] = answer.json()
    except json.JSONDecodeError as error:
        raise ApiAnswered(answer.status_code, answer.text) from error
    return found


def app_commit(number: int) -> str:
    """Return the application's commit of a build."""
    return hashlib.sha1(f"build {number}".encode(), usedforsecurity=False).hexdigest()


def images(services: Iterable[str], number: int) -> dict[str, dict[str, str]]:
    """Return the images of a build, as CI announces them."""
    return {
        name: {
            "Tag": f"docker.example.com/{name}:{app_commit(number)}",
            "Digest": f"docker.example.com/{name}@sha256:{hashlib.sha256(f'{name} {number}'.encode()).hexdigest()}",
        }
        for name in services
    }
