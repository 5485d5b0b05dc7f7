"""How images get into a config repository and from environment to environment, as its file says."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from tidegate.roots.rules.terms import Tagged

#: Names of image sets, environments and targets: they become trailers of commits, and parts of addresses.
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9])?")
#: GitHub ends a job on its own runners after six hours. All entries above one wait for it: nobody waits for a day.
LONGEST_CHECK = timedelta(days=1)
#: A promotion is one execution of a state machine. AWS ends it after a year, and it waits for checks and people too.
LONGEST_SOAK = timedelta(days=30)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class Supersede(StrEnum):
    """What a newer image set does to older ones of the same environment that have not landed."""

    KEEP_ALL = "keep-all"
    COLLAPSE = "collapse"


class Promote(StrEnum):
    """Who lets image sets into an environment: Tidegate, or a person."""

    AUTO = "auto"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class RequiredCheck:
    """A check that a commit must pass: its name, and the App that reports it."""

    name: str
    app: str


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a required check may take until it starts, and from then on until it finishes."""

    start: timedelta = timedelta(minutes=15)
    finish: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class UpdateCommands:
    """Programs with their arguments, in which ``filled`` sets values. Without ``promote``, the file is copied."""

    introduce: tuple[str, ...] = ("make", "introduce_images", "IMAGE_FILE={image_file}")
    promote: tuple[str, ...] | None = None
    generate: tuple[str, ...] = ("make", "generate")


@dataclass(frozen=True, slots=True)
class Announcer:
    """Whose CI announces images: a repository, and globs of its branches, none for its default branch."""

    repository: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """What deploys an environment and reports. ``status`` is a URL to ask instead, or empty."""

    name: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class AfterEnvironment:
    """An environment of the same file that must be complete first."""

    image_set: str
    environment: str

    def __str__(self) -> str:
        return f"{self.image_set}/{self.environment}"


@dataclass(frozen=True, slots=True)
class AfterStack:
    """A stack of Terraform roots, in another repository, without open or failed deployments."""

    repository: str
    stack: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Where an image set runs: ``file`` is the path of its JSON file. ``soak`` is how long it stays before the next."""

    name: str
    file: str
    targets: tuple[Target, ...]
    after: tuple[AfterEnvironment | AfterStack, ...] = ()
    soak: timedelta = timedelta()
    promote: Promote = Promote.AUTO
    line: int = 0


def environment_tags(image_set: str, name: str, file: str) -> Tagged:
    """Return what tag queries match of an environment: the tags of a root, and ``set:`` and ``environment:``.

    Its name is ``SET/ENVIRONMENT``, its directory that of its file, and its stack has the name of the image set.
    """
    directory = posixpath.dirname(file) or "."
    own = (f"dir:{directory}", f"name:{image_set}/{name}", f"stack_name:{image_set}")
    return Tagged(directory, frozenset((*own, f"set:{image_set}", f"environment:{name}")))


@dataclass(frozen=True, slots=True)
class DeclaredImageSet:
    """Images that one CI run announces together, and their environments: the first takes what is announced."""

    name: str
    app: Announcer
    environments: tuple[Environment, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class ConfigUpdates:
    """All that a config repository's file says. There is at least one required check, and one image set."""

    required_checks: tuple[RequiredCheck, ...]
    sets: tuple[DeclaredImageSet, ...]
    auto_branch: str = "auto"
    check_timeouts: Timeouts = field(default_factory=Timeouts)
    commands: UpdateCommands = field(default_factory=UpdateCommands)
    supersede: Supersede = Supersede.KEEP_ALL
    land_over_red: bool = True
    line: int = 0

    def environment(self, image_set: str, name: str) -> Environment | None:
        """Return an environment, None if there is none of this name."""
        of_set = (each.environments for each in self.sets if each.name == image_set)
        return next((each for environments in of_set for each in environments if each.name == name), None)

    def branch_problem(self, default_branch: str) -> str | None:
        """Return why the auto branch cannot be used beside the default branch; None if it can.

        Git keeps branches as files: none can be a directory of another.
        """
        if self.auto_branch == default_branch:
            return f"auto_branch is {default_branch}, the default branch. Name another one, such as auto."
        longer, shorter = sorted((self.auto_branch, default_branch), key=len, reverse=True)
        if longer.startswith(f"{shorter}/"):
            return (
                f"Git cannot have the branch {longer} beside {shorter}. Set auto_branch to another name, such as auto."
            )
        return None


def placeholders(command: Sequence[str]) -> Iterator[str]:
    """Yield the names in braces in a command, in their order."""
    return (name for word in command for name in _PLACEHOLDER.findall(word))


def filled(command: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return a command with values for its placeholders. A value that looks like a placeholder stays as it is."""
    return tuple(_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in command)
