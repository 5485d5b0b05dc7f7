"""Tokens with which targets report: one for each, stored as a hash. The caller has checked that the person may."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from tidegate.config_updates.audit_operator import audit_operator
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.audit import AuditedAction, Subject
from tidegate.config_updates.rules.refusals import UnknownTarget
from tidegate.ports import Ports

#: It tells people and secret scanners what it is.
_PREFIX = "tidegate_target_"


def make_target_token(ports: Ports, repository: str, image_set: str, target: str, by: str) -> str:
    """Return a new token of a target, which is not shown again; the one before is not valid any more.

    Raise UnknownImageSet, UnknownTarget, and what ``current_updates`` raises.
    """
    declared = current_updates(ports, repository).image_set(image_set)
    known = [each.name for environment in declared.environments for each in environment.targets]
    if target not in known:
        raise UnknownTarget(target, known)
    about = Subject(image_set, target=target)
    audit_operator(ports, AuditedAction.TOKEN_MADE, repository, by, about)
    token = _PREFIX + secrets.token_urlsafe(32)
    ports.config_updates.keep_target_token(repository, image_set, target, _digest(token), by)
    return token


def is_target_token(ports: Ports, repository: str, image_set: str, target: str, token: str) -> bool:
    """Tell whether a token is the one of a target. It takes as long for a wrong one."""
    stored = ports.config_updates.target_token(repository, image_set, target)
    return hmac.compare_digest(stored.encode(), _digest(token).encode())


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
