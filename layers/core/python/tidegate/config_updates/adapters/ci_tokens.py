"""Tokens of CI runs (OpenID Connect): verified with the keys that the provider publishes."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import jwt

from tidegate.config_updates.rules.ci_token import InvalidCiToken
from tidegate.rules.errors import ForgeUnavailable, quoted

#: Seconds after which keys are fetched again, so that a withdrawn one is soon refused.
KEPT_SECONDS = 900.0
#: Seconds in which keys are fetched once at most, whatever key ids tokens name.
REFETCH_SECONDS = 30.0
#: Seconds in which keys that could not be had are not asked for again: each stranger's token would ask for them.
PAUSE_SECONDS = 5.0
#: Seconds, and bytes of a key set: what is longer is cut, and so no JSON.
_TIMEOUT, _LARGEST_KEYS = 5.0, 200_000
#: Tokens of GitHub have some 2,000 characters.
_LONGEST_TOKEN = 16_384
_LEEWAY_SECONDS = 60
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class OpenIdCiTokens:
    """The port ``CiTokens``. ``keys_url`` has the provider's key set, ``monotonic`` is a clock in seconds."""

    def __init__(
        self,
        issuer: str,
        keys_url: str,
        audience: str,
        *,
        gitlab: bool,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer, self._keys_url, self._audience, self.gitlab = issuer, keys_url, audience, gitlab
        self._monotonic, self._lock = monotonic, threading.Lock()
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._fetched_at = self._asked_at = float("-inf")

    def claims(self, token: str) -> Mapping[str, Any]:
        if not self._audience:
            raise InvalidCiToken("the installation has no web URL, which is the audience of such tokens")
        if not token or len(token) > _LONGEST_TOKEN:
            raise InvalidCiToken(f"send it in the header 'Authorization: Bearer TOKEN'; its issuer is {self._issuer}")
        key = self._key(_key_id(token))
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=["RS256"],  # Never what the token says: with "none", anybody could sign.
                audience=self._audience,
                issuer=self._issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud"]},
            )
        except jwt.InvalidAudienceError:
            raise InvalidCiToken(f"its audience must be {self._audience}, {_came(token, 'aud')}") from None
        except jwt.InvalidIssuerError:
            raise InvalidCiToken(f"its issuer must be {self._issuer}, {_came(token, 'iss')}") from None
        except jwt.InvalidTokenError as error:
            raise InvalidCiToken(f"it is not valid ({error})") from None
        return claims

    def _key(self, name: str) -> jwt.PyJWK:
        """Return a key; for an unknown one, fetch the keys once more. Raise InvalidCiToken, ForgeUnavailable."""
        with self._lock:
            now = self._monotonic()
            age = now - self._fetched_at
            if age > KEPT_SECONDS or (name not in self._keys and age > REFETCH_SECONDS):
                if now - self._asked_at < PAUSE_SECONDS:
                    raise ForgeUnavailable(f"no keys at {self._keys_url} some seconds ago")
                try:
                    self._keys = self._fetch()
                    self._fetched_at = self._monotonic()
                finally:
                    self._asked_at = self._monotonic()
            if name not in self._keys:
                raise InvalidCiToken(f"{self._issuer} has no key {quoted(name)}")
            return self._keys[name]

    def _fetch(self) -> Mapping[str, jwt.PyJWK]:
        url = urlsplit(self._keys_url)
        if url.scheme != "https" and url.hostname not in _LOOPBACK:
            raise ForgeUnavailable(f"the keys of {self._issuer} are not available over https")
        try:
            with _OPENER.open(self._keys_url, timeout=_TIMEOUT) as answer:
                content = answer.read(_LARGEST_KEYS)
            usable = [
                each
                for each in json.loads(content)["keys"]
                if each.get("kty") == "RSA" and each.get("use", "sig") == "sig"
            ]
            return {str(each["kid"]): jwt.PyJWK(each, "RS256") for each in usable if each.get("kid")}
        except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
            raise ForgeUnavailable(f"no keys at {self._keys_url} ({type(error).__name__})") from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect: keys come from the issuer alone."""


_OPENER = urllib.request.build_opener(_NoRedirects)


def _key_id(token: str) -> str:
    try:
        name = jwt.get_unverified_header(token).get("kid")
    except jwt.InvalidTokenError as error:
        raise InvalidCiToken(f"it is no JSON Web Token ({error})") from None
    if not isinstance(name, str):
        raise InvalidCiToken("it names no key")
    return name


def _came(token: str, claim: str) -> str:
    """Return what a token says that its key has signed, as the end of a sentence."""
    value = jwt.decode(token, options={"verify_signature": False}).get(claim)
    return f"and it is {quoted(value)}" if isinstance(value, str) else "and it is another"
