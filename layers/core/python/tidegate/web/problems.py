"""Refusals as HTTP answers: the status and the word for programs. JSON below ``/api/``, a page everywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from tidegate.clusters.rules.execution_refusals import NoCluster
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
from tidegate.notifications.rules.slack_account import InvalidSlackLink
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
from tidegate.setup.rules.refusals import (
    AlreadySetUp,
    AppNotCreated,
    NoSuchOrganization,
    SetupNotBegun,
    WrongSetupCode,
)
from tidegate.web import refusals

#: The word for each refusal, by its status. Without a line for it or what it is a case of, an error is internal.
_CODES: Mapping[HTTPStatus, Mapping[type[TidegateError], str]] = {
    HTTPStatus.BAD_REQUEST: {
        refusals.SignInFailed: "sign_in_failed",
        refusals.InvalidRequest: "invalid_request",
        InvalidTagQuery: "invalid_query",
        InvalidName: "invalid_name",
        InvalidSlackLink: "invalid_slack_link",
        NoSuchOrganization: "invalid_name",
        SetupNotBegun: "setup_not_begun",
    },
    HTTPStatus.UNAUTHORIZED: {
        refusals.NotSignedIn: "not_signed_in",
        refusals.SignInFirst: "not_signed_in",
        InvalidCiToken: "not_signed_in",
        refusals.InvalidTargetToken: "not_signed_in",
        refusals.InvalidSlackSignature: "not_signed_in",
    },
    HTTPStatus.FORBIDDEN: {
        CiRunRefused: "not_allowed",
        WrongSetupCode: "wrong_setup_code",
        refusals.NotAllowed: "not_allowed",
    },
    HTTPStatus.NOT_FOUND: {
        NoConfigUpdates: "no_config_updates",
        UnknownImageSet: "unknown_set",
        UnknownEnvironment: "unknown_environment",
        UnknownTarget: "unknown_target",
        NoCluster: "unknown_cluster",
        refusals.UnknownRoot: "unknown_root",
        refusals.UnknownSchedule: "unknown_schedule",
        refusals.NoSlackApp: "no_slack_app",
        refusals.Hidden: "not_found",
        NothingDeployed: "unknown_stack",
        NotFound: "not_found",
    },
    HTTPStatus.METHOD_NOT_ALLOWED: {
        refusals.MethodNotAllowed: "method_not_allowed",
    },
    HTTPStatus.CONFLICT: {
        refusals.PayloadMismatch: "payload_mismatch",
        refusals.SupersededAnnouncement: "superseded",
        NotOnDefaultBranch: "not_on_default_branch",
        NoFileAtCommit: "no_file_at_commit",
        InvalidConfiguration: "invalid_configuration",
        refusals.NotPossible: "not_possible",
        WrongState: "wrong_state",
        Conflict: "conflict",
        AlreadySetUp: "already_set_up",
        AppNotCreated: "app_not_created",
        TooLate: "too_late",
        ApplyAlreadyStarted: "wrong_state",
    },
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: {
        refusals.BodyTooLarge: "too_large",
        refusals.LogNeedsCompression: "too_large",
        refusals.TooLarge: "too_large",
        refusals.LogTooLarge: "too_large",
    },
    HTTPStatus.UNPROCESSABLE_ENTITY: {
        InvalidImageSet: "invalid_images",
    },
    HTTPStatus.TOO_MANY_REQUESTS: {
        refusals.QueueFull: "queue_full",
    },
    HTTPStatus.SERVICE_UNAVAILABLE: {
        refusals.NoUsableKey: "no_usable_key",
        refusals.NoSignIn: "no_sign_in",
        ForgeUnavailable: "forge_unavailable",
        ForgeRefused: "forge_refused",
        CloudUnavailable: "cloud_unavailable",
        AuditUnavailable: "audit_unavailable",
    },
}
_ANSWERS = {kind: (status, code) for status, codes in _CODES.items() for kind, code in codes.items()}

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
    found = next((_ANSWERS[kind] for kind in type(error).__mro__ if kind in _ANSWERS), None)
    if found is None:
        raise error
    status, code = found
    message = str(refusals.Hidden()) if code == "not_found" else str(error)
    unavailable = status is HTTPStatus.SERVICE_UNAVAILABLE
    wait = (getattr(error, "retry_after", None) or _PAUSE) if unavailable else None
    return Answered(status, code, message, wait)
