"""Refusals of config updates."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.roots.rules.nearest import nearest
from tidegate.rules.errors import TidegateError, quoted


class NoConfigUpdates(TidegateError):
    """A repository whose configuration declares no config updates."""

    def __init__(self, repository: str) -> None:
        super().__init__(
            f"{repository} is no config repository: tidegate.yaml on its default branch has no config_updates. Add it "
            "there (docs/config-updates.md)."
        )


class UnknownImageSet(TidegateError):
    """An image set that a config repository does not declare."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(_unknown("image set", name, known))


class UnknownEnvironment(TidegateError):
    """An environment that an image set does not have."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(_unknown("environment", name, known))


class UnknownTarget(TidegateError):
    """A target that no environment of an image set has."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(_unknown("target", name, known))


def _unknown(kind: str, name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    meant = f" Did you mean {quoted(near)}?" if near else f" Declared: {', '.join(known)}."
    return f"There is no {kind} {quoted(name)} in tidegate.yaml on the default branch.{meant}"


class NotOnDefaultBranch(TidegateError):
    """A report of a commit that the default branch does not have."""

    def __init__(self, commit: str, branch: str) -> None:
        super().__init__(f"{quoted(commit)} is not on {branch}. Report the commit of the config repository that runs.")


class NoFileAtCommit(TidegateError):
    """A report of a commit without the environment's file."""

    def __init__(self, commit: str, file: str) -> None:
        super().__init__(f"The commit {commit[:12]} has no file {file}. Report a commit that has the image set.")
