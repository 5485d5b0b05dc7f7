"""An issuer of tokens as GitHub Actions has one: keys, a discovery document, and tokens for jobs that did not run."""

from __future__ import annotations

import time
import uuid
from typing import Any

from werkzeug.wrappers import Request, Response

from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.routing import answer
from tidegate_local.forge.signing import LIFETIME, SigningKey, discovery

PATH = "/_services/token"
_KEY_ID = "local-forge"
_HEADS = "refs/heads/"


class Issuer:
    """Signs with the forge's only key, as making another takes long."""

    def __init__(self, hosting: Hosting, private_key: str) -> None:
        self._hosting, self._key = hosting, SigningKey(private_key, _KEY_ID)

    @property
    def url(self) -> str:
        """The claim ``iss``."""
        return f"{self._hosting.urls.home}{PATH}"

    def respond(self, request: Request) -> Response:
        """Answer for keys, the discovery document, and a token.

        A job of GitHub Actions asks ``ACTIONS_ID_TOKEN_REQUEST_URL``, which names the job, for a token. Here that is
        ``/_services/token/request``, and its parameters name the job: ``repository``, ``sha``, ``ref`` and more claims.
        """
        what = request.path.removeprefix(PATH)
        if what == "/.well-known/openid-configuration":
            return answer(discovery(self.url, f"{self.url}/.well-known/jwks"))
        if what == "/.well-known/jwks":
            return answer(self._key.published())
        if what == "/request":
            return answer({"value": self.token(**request.args.to_dict())})
        raise not_found()

    def token(self, *, repository: str, sha: str, ref: str = f"{_HEADS}main", audience: str = "", **claims: Any) -> str:
        """Return the token of a job on a commit, with other ``claims`` in place of the usual ones. Raise Refusal."""
        found = self._hosting.repository(repository)
        if found is None:
            raise Refusal(404, f"There is no repository {repository}.")
        owner, now = self._hosting.owner(found), int(time.time())
        known = {
            "iss": self.url,
            "aud": audience or f"{self._hosting.urls.home}/{owner.login}",
            "sub": f"repo:{found.repository}:ref:{ref}",
            "repository": found.repository,
            "repository_id": str(found.id),
            "repository_owner": owner.login,
            "repository_owner_id": str(owner.id),
            "ref": ref,
            "ref_type": "tag" if ref.startswith("refs/tags/") else "branch",
            "sha": sha,
            "run_id": "1000",
            "run_number": "1",
            "run_attempt": "1",
            "actor": "developer",
            "event_name": "push",
            "jti": str(uuid.uuid4()),
            "iat": now,
            "nbf": now - 60,
            "exp": now + LIFETIME,
        }
        return self._key.sign({**known, **claims})
