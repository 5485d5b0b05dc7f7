"""What the HTTP API refuses of its own, beyond the domain's refusals (``tidegate.rules.errors``)."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.roots.rules.nearest import nearest
from tidegate.rules.decision import Decision
from tidegate.rules.errors import TidegateError, quoted


class NotSignedIn(TidegateError):
    """Nobody known is asking."""

    def __init__(self) -> None:
        super().__init__(
            "This needs a valid token of the forge. Send one in the header 'Authorization: Bearer TOKEN'; "
            "a personal access token without any scope is enough."
        )


class SignInFirst(TidegateError):
    """A page was asked for by nobody known."""

    def __init__(self) -> None:
        super().__init__("You are not signed in, or not any more. Sign in and try again.")


class Hidden(TidegateError):
    """What does not exist, or may not be seen: the two are not told apart."""

    def __init__(self) -> None:
        super().__init__("There is no such thing here, or you may not see it. Check the address and your account.")


class NoUsableKey(TidegateError):
    """All keys of workload identity are disabled or about to be deleted: no token can be verified."""

    def __init__(self) -> None:
        super().__init__(
            "No key of workload identity can be used: all are disabled or about to be deleted. The operators of "
            "Tidegate enable one again, or add one to identity_keys in cdk.json and deploy Tidegate."
        )


class UnknownRoot(TidegateError):
    """A root that a repository does not have, asked for by somebody who may read the repository."""

    def __init__(self, root: str, known: Sequence[str]) -> None:
        near = nearest(root, known)
        meant = f" Did you mean {quoted(near)}?" if near else ""
        super().__init__(f"There is no root {quoted(root)} here, or nothing was ever deployed to it.{meant}")


class UnknownSchedule(TidegateError):
    """A schedule that a repository does not have, asked for by somebody who may write to it."""

    def __init__(self, schedule: str, known: Sequence[str]) -> None:
        there = (
            f"There is {', '.join(map(quoted, known))}."
            if known
            else "It has none: name one under drift in tidegate.yaml."
        )
        super().__init__(f"This repository has no schedule {quoted(schedule)} that looks for drift. {there}")


class NotAllowed(TidegateError):
    """Somebody who may look, but not do this."""


class NotGranted(NotAllowed):
    """Acting needs what the root's access control asks for, or write permission where it has none."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} A minute after you were granted it, try again.")


class NoOperator(NotAllowed):
    """Asking for a deployment through the API, and overriding what is required, are for operators."""

    def __init__(self, login: str, team: str) -> None:
        who = f"members of the team {team} only" if team else "nobody: no operators' team is configured"
        super().__init__(f"{login} may not ask for this here: that is for {who} (operators_team).")


class ForgedRequest(NotAllowed):
    """A form that did not come from one of our pages."""

    def __init__(self) -> None:
        super().__init__(
            "This form is too old, or did not come from a page of Tidegate. Reload the page and try again."
        )


class NotPossible(TidegateError):
    """What was asked for is not possible as things are now; the message says why."""


class MethodNotAllowed(TidegateError):
    """The path exists, but not for this method."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(f"This address takes {', '.join(allowed)} only.")
        self.allowed = allowed


class InvalidRequest(TidegateError):
    """A request that cannot be read."""


class NoSignIn(TidegateError):
    """The installation cannot sign people in."""

    def __init__(self) -> None:
        super().__init__(
            "Nobody can sign in: the App's client id and client secret are not stored. An operator stores them with "
            "'tidegate secret app --client-id ID --client-secret-file FILE'."
        )


class SignInFailed(TidegateError):
    """The forge did not confirm who somebody is."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Signing in did not work: {why} Start again from the page that you wanted to see.")


class LogTooLarge(TidegateError):
    """A raw log that does not fit into one answer."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"The log of {job} is too large to be downloaded at once. Read it page by page: open the log's page, "
            f"or run 'tidegate logs {job}'."
        )


class LogNeedsCompression(TidegateError):
    """A raw log that fits into one answer only when it is compressed."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"The log of {job} is too large to be sent as it is. Let your program accept gzip (curl --compressed), "
            f"or run 'tidegate logs {job}'."
        )


class TooLarge(TidegateError):
    """Something that does not fit into one answer."""

    def __init__(self) -> None:
        super().__init__("This is too large to be shown at once. Ask for less of it, or look at its parts.")


def ensure_done(decision: Decision) -> None:
    """Raise NotPossible, with the reason, where something that was asked for was not done."""
    if not decision.done:
        raise NotPossible(decision.reason)
