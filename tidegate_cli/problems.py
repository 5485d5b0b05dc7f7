"""Problems: a message for people, and an exit code, if a command cannot do its work.

A message says what happened, to what, and what to do next. It never contains a token.
"""

from __future__ import annotations

from tidegate_cli.exits import Exit


class Problem(Exception):
    """Base class. ``code`` is a word for scripts, ``hint`` what to do next, ``exit`` the exit code."""

    exit = Exit.FAILED
    code = "failed"

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.code = code or type(self).code


class Refused(Problem):
    """The server understood, and refused."""

    code = "refused"


class WrongUsage(Problem):
    """The arguments or settings cannot be used."""

    exit = Exit.USAGE
    code = "usage"


class NotFound(Problem):
    """It does not exist, or you may not see it."""

    exit = Exit.NOT_FOUND
    code = "not_found"


class NotSignedIn(Problem):
    """No token, or one that the server does not know."""

    exit = Exit.NOT_PERMITTED
    code = "not_signed_in"


class NotPermitted(Problem):
    """A right is missing."""

    exit = Exit.NOT_PERMITTED
    code = "not_permitted"


class Unavailable(Problem):
    """The server, or something that it needs, cannot be reached."""

    exit = Exit.UNAVAILABLE
    code = "unavailable"


class NotYet(Problem):
    """The time limit passed before the end."""

    exit = Exit.NOT_YET
    code = "not_yet"
