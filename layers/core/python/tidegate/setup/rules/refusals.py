"""Why the App is not created."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.rules.errors import TidegateError, quoted


class WrongSetupCode(TidegateError):
    """The code is not the one that was printed last, has expired, or was used."""

    def __init__(self) -> None:
        super().__init__(
            "This code is not valid: it is not the last one, is older than a day, or was used. "
            "'tidegate setup' prints a new one."
        )


class SetupNotBegun(TidegateError):
    """GitHub sent somebody who did not begin here, or too late."""

    def __init__(self) -> None:
        super().__init__(
            "This setup was not begun in this browser within the last hour, or has ended. Open /setup and begin again. "
            "If GitHub shows a new App, delete it there first."
        )


class NoSuchOrganization(TidegateError):
    """A name that no organization can have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{quoted(name)} cannot be an organization. Enter its name as in its address on GitHub, or leave it empty "
            "for an App of your own account."
        )


class AlreadySetUp(TidegateError):
    """A secret of the App exists: Tidegate never overwrites one."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"{' and '.join(map(quoted, names))} exists in Secrets Manager, so this installation has an App, or half "
            "of one. To replace it, delete what exists with 'aws secretsmanager delete-secret "
            "--force-delete-without-recovery --secret-id NAME', and begin again. If GitHub shows a new App, delete it "
            "there."
        )


class AppNotCreated(TidegateError):
    """GitHub does not give out the App that it said it had created."""

    def __init__(self) -> None:
        super().__init__(
            "GitHub did not hand over the App: its code was used, or is older than an hour. If GitHub shows a new App, "
            "delete it there, then open /setup and begin again."
        )
