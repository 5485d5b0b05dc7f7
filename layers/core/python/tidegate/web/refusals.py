"""Refusals of the HTTP API itself, in addition to the domain's (``tidegate.rules.errors``)."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.roots.rules.nearest import nearest
from tidegate.rules.decision import Decision
from tidegate.rules.errors import TidegateError, quoted


class NotSignedIn(TidegateError):
    """The request has no valid token."""

    def __init__(self) -> None:
        super().__init__(
            "A valid token of your VCS provider is required. Send it in the header 'Authorization: Bearer TOKEN'; a "
            "personal access token without scopes is enough."
        )


class SignInFirst(TidegateError):
    """A page was requested without signing in."""

    def __init__(self) -> None:
        super().__init__("You are not signed in, or your session expired. Sign in and try again.")


class Hidden(TidegateError):
    """Something that does not exist, or may not be read: the two look the same."""

    def __init__(self) -> None:
        super().__init__("Not found, or you may not see it. Check the URL and your account.")


class NoUsableKey(TidegateError):
    """All keys of workload identity are disabled or about to be deleted: no token can be verified."""

    def __init__(self) -> None:
        super().__init__(
            "No workload identity key is usable: all are disabled or pending deletion. An operator must enable one, "
            "or add one to identity_keys in cdk.json and deploy Tidegate."
        )


class UnknownRoot(TidegateError):
    """A root that a repository does not have, asked for by somebody who may read the repository."""

    def __init__(self, root: str, known: Sequence[str]) -> None:
        near = nearest(root, known)
        meant = f" Did you mean {quoted(near)}?" if near else ""
        super().__init__(f"The root {quoted(root)} does not exist, or was never deployed.{meant}")


class UnknownSchedule(TidegateError):
    """A schedule that a repository does not have, asked for by somebody who may write to it."""

    def __init__(self, schedule: str, known: Sequence[str]) -> None:
        there = (
            f"Its schedules: {', '.join(map(quoted, known))}."
            if known
            else "It has no schedules: add one under drift in tidegate.yaml."
        )
        super().__init__(f"This repository has no drift schedule {quoted(schedule)}. {there}")


class NoSlackApp(TidegateError):
    """The page of an account's users of Slack, in an installation without an app in Slack."""

    def __init__(self) -> None:
        super().__init__(
            "This installation has no app in Slack, so there is no user to link. An operator can declare a destination "
            "of the kind slack in cdk.json."
        )


class InvalidTargetToken(TidegateError):
    """A report without the target's token."""

    def __init__(self) -> None:
        super().__init__(
            "The target's token is required. Send it in the header 'Authorization: Bearer TOKEN'; make one with "
            "`tidegate updates token`."
        )


class InvalidSlackSignature(TidegateError):
    """A request that no app of the installation has signed in the last minutes."""

    def __init__(self) -> None:
        super().__init__(
            "The request is not signed by a Slack app of this installation, or it is older than five minutes. Check "
            "signing_secret in the secret of the destination."
        )


class PayloadMismatch(TidegateError):
    """An announcement of a commit that was announced with other images."""


class SupersededAnnouncement(TidegateError):
    """An announcement that is older than the newest one of its set."""


class QueueFull(TidegateError):
    """A queue that has no room for another entry."""


class BodyTooLarge(TidegateError):
    """A request that is larger than any that is needed."""

    def __init__(self, most: int) -> None:
        super().__init__(f"The body is larger than {most >> 10} KiB. Send less.")


class NotAllowed(TidegateError):
    """Somebody who may look, but not do this."""


class NotGranted(NotAllowed):
    """Acting needs what the root's access control asks for, or write permission where it has none."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} If you just got the permission, try again in a minute.")


class NoOperator(NotAllowed):
    """Asking for a deployment through the API, and overriding what is required, are for operators."""

    def __init__(self, login: str, team: str) -> None:
        who = f"only members of the team {team}" if team else "nobody, because no operators' team is configured"
        super().__init__(f"{login} may not do this. Allowed: {who} (operators_team).")


class ForgedRequest(NotAllowed):
    """A form that did not come from one of our pages."""

    def __init__(self) -> None:
        super().__init__("This form has expired, or is not from a Tidegate page. Reload the page and try again.")


class NotPossible(TidegateError):
    """What was asked for is not possible as things are now; the message says why."""


class MethodNotAllowed(TidegateError):
    """The path exists, but not for this method."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(f"Method not allowed. This URL supports {', '.join(allowed)}.")
        self.allowed = allowed


class InvalidRequest(TidegateError):
    """A request that cannot be read."""


class NoSignIn(TidegateError):
    """The installation cannot sign people in."""

    def __init__(self) -> None:
        super().__init__(
            "Sign-in is not configured: the App's client id and client secret are missing. An operator must store "
            "them with 'tidegate secret app --client-id ID --client-secret-file FILE'."
        )


class SignInFailed(TidegateError):
    """The forge did not confirm who somebody is."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Sign-in failed: {why} Open the page again to retry.")


class LogTooLarge(TidegateError):
    """A raw log that does not fit into one answer."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"The log of {job} is too large to download. Open the log's page, or run 'tidegate logs {job}'."
        )


class LogNeedsCompression(TidegateError):
    """A raw log that fits into one answer only when it is compressed."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"The log of {job} is too large to send uncompressed. Accept gzip (curl --compressed), or run 'tidegate "
            f"logs {job}'."
        )


class TooLarge(TidegateError):
    """Something that does not fit into one answer."""

    def __init__(self) -> None:
        super().__init__("The response is too large. Request less of it, or open its parts.")


def ensure_done(decision: Decision) -> None:
    """Raise NotPossible, with the reason, where something that was asked for was not done."""
    if not decision.done:
        raise NotPossible(decision.reason)
