"""An issuer of tokens as GitLab CI has one (``id_tokens``): keys, a discovery document, and tokens for jobs.

Claims: https://docs.gitlab.com/ci/secrets/id_token_authentication.
"""

from __future__ import annotations

import functools
import time
import uuid
from collections.abc import Callable
from typing import Any

from werkzeug.wrappers import Request, Response

from tidegate_local.forge.routing import answer
from tidegate_local.forge.signing import LIFETIME, SigningKey, discovery
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.refusals import not_found

DISCOVERY, KEYS = "/.well-known/openid-configuration", "/oauth/discovery/keys"
#: GitLab puts a job's token into a variable. Here it is asked for, and the address names the job.
TOKEN = "/_services/id_token"
PATHS = frozenset({DISCOVERY, KEYS, TOKEN})
_KEY_ID = "local-gitlab"


class Issuer:
    """Signs with a key that is made when it is first needed. GitLab's issuer is its own address."""

    def __init__(self, hosting: Hosting, private_key: Callable[[], str]) -> None:
        self._hosting, self._private_key = hosting, private_key

    @functools.cached_property
    def _key(self) -> SigningKey:
        return SigningKey(self._private_key(), _KEY_ID)

    @property
    def url(self) -> str:
        """The claim ``iss``."""
        return self._hosting.urls.home

    def respond(self, request: Request) -> Response:
        """Answer for keys, the discovery document, and a token."""
        if request.path == DISCOVERY:
            return answer(discovery(self.url, f"{self.url}{KEYS}"))
        if request.path == KEYS:
            return answer(self._key.published())
        return answer({"value": self.token(**request.args.to_dict())})

    def token(self, *, project: str, sha: str, audience: str, ref: str = "main", **claims: Any) -> str:
        """Return the token of a job on a commit, with other ``claims`` in place of the usual ones. Raise Refusal."""
        found = self._hosting.project(project)
        if found is None:
            raise not_found("Project")
        path, now = found.repository, int(time.time())
        kind = claims.get("ref_type", "branch")
        known = {
            "iss": self.url,
            "aud": audience,
            "sub": f"project_path:{path}:ref_type:{kind}:ref:{ref}",
            "namespace_path": path.rpartition("/")[0],
            "project_id": str(found.id),
            "project_path": path,
            "user_login": "developer",
            "user_email": "developer@example.com",
            "user_access_level": "developer",
            "pipeline_id": "1",
            "pipeline_source": "push",
            "job_id": "1",
            "ref": ref,
            "ref_type": kind,
            "ref_path": f"refs/{'tags' if kind == 'tag' else 'heads'}/{ref}",
            "ref_protected": "true",
            "runner_environment": "self-hosted",
            "sha": sha,
            "jti": str(uuid.uuid4()),
            "iat": now,
            "nbf": now - 5,
            "exp": now + LIFETIME,
        }
        return self._key.sign({**known, **claims})
