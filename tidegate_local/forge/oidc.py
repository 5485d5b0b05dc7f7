"""An issuer of tokens as GitHub Actions has one: keys, a discovery document, and tokens for jobs that did not run."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from werkzeug.wrappers import Request, Response

from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.routing import answer

PATH = "/_services/token"
#: Seconds for which a token holds, as on GitHub.
LIFETIME = 300
_KEY_ID = "local-forge"
_HEADS = "refs/heads/"


class Issuer:
    """Signs with the forge's only key, as making another takes long."""

    def __init__(self, hosting: Hosting, private_key: str) -> None:
        self._hosting, self._key = hosting, private_key

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
            return answer(self._discovery())
        if what == "/.well-known/jwks":
            return answer({"keys": [self._public()]})
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
        return jwt.encode({**known, **claims}, self._key, algorithm="RS256", headers={"kid": _KEY_ID})

    def _discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/.well-known/jwks",
            "subject_types_supported": ["public", "pairwise"],
            "response_types_supported": ["id_token"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid"],
        }

    def _public(self) -> dict[str, Any]:
        key = serialization.load_pem_private_key(self._key.encode(), password=None)
        if not isinstance(key, RSAPrivateKey):
            raise TypeError("the key is no RSA key")
        public: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
        return {**public, "kid": _KEY_ID, "alg": "RS256", "use": "sig"}
