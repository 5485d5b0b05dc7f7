"""Refusals as HTTP answers: the status and the word for programs. JSON below ``/api/``, a page everywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from tidegate.config_updates.rules.ci_token import CiRunRefused, InvalidCiToken
from tidegate.config_updates.rules.image_set import InvalidImageSet
from tidegate.config_updates.rules.refusals import (
    NoConfigUpdates,
    NoFileAtCommit,
    NotOnDefaultBranch,
    UnknownEnvironment,
    UnknownImageSet,
    UnknownTarget,
)
from tidegate.roots.rules.query_words import InvalidTagQuery
from tidegate.rules.errors import (
    ApplyAlreadyStarted,
    AuditUnavailable,
    CloudUnavailable,
    Conflict,
    ForgeRefused,
    ForgeUnavailable,
    InvalidConfiguration,
    InvalidName,
    NotFound,
    NothingDeployed,
    TidegateError,
    TooLate,
    WrongState,
)
from tidegate.web import refusals

#: The answer to each refusal. An error without a line here is internal.
_STATUSES: tuple[tuple[type[TidegateError], HTTPStatus, str], ...] = (
    (refusals.NotSignedIn, HTTPStatus.UNAUTHORIZED, "not_signed_in"),
    (refusals.SignInFailed, HTTPStatus.BAD_REQUEST, "sign_in_failed"),
    (refusals.SignInFirst, HTTPStatus.UNAUTHORIZED, "not_signed_in"),
    (InvalidCiToken, HTTPStatus.UNAUTHORIZED, "not_signed_in"),
    (refusals.InvalidTargetToken, HTTPStatus.UNAUTHORIZED, "not_signed_in"),
    (CiRunRefused, HTTPStatus.FORBIDDEN, "not_allowed"),
    (InvalidImageSet, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_images"),
    (refusals.PayloadMismatch, HTTPStatus.CONFLICT, "payload_mismatch"),
    (refusals.SupersededAnnouncement, HTTPStatus.CONFLICT, "superseded"),
    (refusals.QueueFull, HTTPStatus.TOO_MANY_REQUESTS, "queue_full"),
    (refusals.BodyTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large"),
    (NoConfigUpdates, HTTPStatus.NOT_FOUND, "no_config_updates"),
    (UnknownImageSet, HTTPStatus.NOT_FOUND, "unknown_set"),
    (UnknownEnvironment, HTTPStatus.NOT_FOUND, "unknown_environment"),
    (UnknownTarget, HTTPStatus.NOT_FOUND, "unknown_target"),
    (NotOnDefaultBranch, HTTPStatus.CONFLICT, "not_on_default_branch"),
    (NoFileAtCommit, HTTPStatus.CONFLICT, "no_file_at_commit"),
    (InvalidConfiguration, HTTPStatus.CONFLICT, "invalid_configuration"),
    (refusals.NotAllowed, HTTPStatus.FORBIDDEN, "not_allowed"),
    (refusals.UnknownRoot, HTTPStatus.NOT_FOUND, "unknown_root"),
    (refusals.UnknownSchedule, HTTPStatus.NOT_FOUND, "unknown_schedule"),
    (refusals.Hidden, HTTPStatus.NOT_FOUND, "not_found"),
    (refusals.MethodNotAllowed, HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed"),
    (refusals.InvalidRequest, HTTPStatus.BAD_REQUEST, "invalid_request"),
    (refusals.LogNeedsCompression, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large"),
    (refusals.TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large"),
    (refusals.LogTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large"),
    (refusals.NoUsableKey, HTTPStatus.SERVICE_UNAVAILABLE, "no_usable_key"),
    (refusals.NoSignIn, HTTPStatus.SERVICE_UNAVAILABLE, "no_sign_in"),
    (InvalidTagQuery, HTTPStatus.BAD_REQUEST, "invalid_query"),
    (NothingDeployed, HTTPStatus.NOT_FOUND, "unknown_stack"),
    (NotFound, HTTPStatus.NOT_FOUND, "not_found"),
    (InvalidName, HTTPStatus.BAD_REQUEST, "invalid_name"),
    (refusals.NotPossible, HTTPStatus.CONFLICT, "not_possible"),
    (WrongState, HTTPStatus.CONFLICT, "wrong_state"),
    (Conflict, HTTPStatus.CONFLICT, "conflict"),
    (TooLate, HTTPStatus.CONFLICT, "too_late"),
    (ApplyAlreadyStarted, HTTPStatus.CONFLICT, "wrong_state"),
    (ForgeUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "forge_unavailable"),
    (ForgeRefused, HTTPStatus.SERVICE_UNAVAILABLE, "forge_refused"),
    (CloudUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "cloud_unavailable"),
    (AuditUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "audit_unavailable"),
)

#: Retry-After in seconds if no time is known.
_PAUSE = 5


@dataclass(frozen=True, slots=True)
class Answered:
    """How a refusal is answered."""

    status: HTTPStatus
    code: str
    message: str
    retry_after: int | None = None


def answered(error: TidegateError) -> Answered:
    """Return how a refusal is answered. Raise the error itself when it is a fault of ours."""
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            message = str(refusals.Hidden()) if code == "not_found" else str(error)
            unavailable = status is HTTPStatus.SERVICE_UNAVAILABLE
            wait = (getattr(error, "retry_after", None) or _PAUSE) if unavailable else None
            return Answered(status, code, message, wait)
    raise error
