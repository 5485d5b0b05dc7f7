"""OpenID documents for verifiers of jobs' tokens: the issuer's discovery document and keys. They are public and
cacheable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.deploys.rules.tokens import discovery
from tidegate.ports import Ports
from tidegate.web.key_set import key_set
from tidegate.web.refusals import Hidden, NoUsableKey

DISCOVERY, KEYS = "/.well-known/openid-configuration", "/.well-known/jwks.json"
#: A new key is listed for longer than this before it signs, so caches know it in time.
_KEPT = {"Cache-Control": "public, max-age=300"}


class OpenId:
    """The two documents. There are none where the installation has no key, and so is no issuer."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Add the routes to ``app``."""
        app.get(DISCOVERY, include_in_schema=False, enable_validation=False)(self._discovery)
        app.get(KEYS, include_in_schema=False, enable_validation=False)(self._key_set)

    def _discovery(self) -> Response[str]:
        if self._ports.public_keys is None:
            raise Hidden
        return _document(discovery(self._ports.web_url, KEYS))

    def _key_set(self) -> Response[str]:
        keys = self._ports.public_keys
        if keys is None:
            raise Hidden
        usable = keys.usable()
        if not usable:
            raise NoUsableKey
        return _document(key_set(usable))


def _document(content: Mapping[str, object]) -> Response[str]:
    return Response(HTTPStatus.OK, "application/json", json.dumps(content), _KEPT)
