"""The key ``config_updates`` of ``tidegate.yaml``: how images get into a config repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegate.config.rules.config_updates import (
    LONGEST_CHECK,
    LONGEST_SOAK,
    NAME,
    Announcer,
    Promote,
    RequiredCheck,
    Supersede,
    Target,
    Timeouts,
    UpdateCommands,
    placeholders,
)
from tidegate.config.section import Section
from tidegate.config.values import (
    Flag,
    Name,
    Repository,
    StackName,
    as_list,
    duration,
    empty_if_absent,
    length,
    refused,
    shown,
)
from tidegate.roots.rules.nearest import nearest
from tidegate.rules.errors import InvalidName
from tidegate.vcs.rules.events import OUR_CHECK_RUNS, branch_name

_BRANCH = re.compile(r"[A-Za-z0-9_./-]{1,100}")
#: An App's name, or ``@`` and a user's login.
_APP = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?|@[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?")
_FILE = re.compile(r"(?!/)[^\x00-\x1f\x7f\\]{1,300}\.json")
#: Where forges and git keep what runs programs or is not part of a commit.
_NOT_FOR_IMAGES = frozenset({".git", ".github", ".gitlab"})
#: Placeholders of commands.
_OF_ENVIRONMENT = ("set", "environment", "file")
_WITH_IMAGES = ("image_file", *_OF_ENVIRONMENT)
#: Only a set's environments are many: each has an execution of its own for each image set.
_MOST, _MOST_TARGETS = 20, 100


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        allowed = "Use at most 100 letters, digits, '.', '_' and '-', with a letter or digit at both ends"
        raise refused(f"{shown(text)} is not a valid name", allowed)
    return text


def _check_name(text: str) -> str:
    if text.lower().startswith(OUR_CHECK_RUNS):
        raise refused(
            f"{shown(text)} is a check of Tidegate's, which waits for the required checks itself",
            "Name a check that CI reports",
        )
    return text


def _app(text: str) -> str:
    if not _APP.fullmatch(text):
        allowed = (
            "Write the name in its address https://github.com/apps/NAME, such as github-actions, gitlab-ci for jobs of "
            "GitLab, or @LOGIN in lower case for the commit statuses of a user"
        )
        raise refused(f"{shown(text)} is not an App's name", allowed)
    return text


def _branch(text: str) -> str:
    parts = text.split("/")
    usable = _BRANCH.fullmatch(text) and ".." not in text and text != "HEAD" and parts[0] != "refs"
    if not usable or not all(part and part[0] not in ".-" and not part.endswith((".", ".lock")) for part in parts):
        raise refused(
            f"{shown(text)} is not a valid branch name",
            "Use at most 100 letters, digits, '.', '_', '-' and '/', such as auto or tidegate/auto",
        )
    return text


def _branch_glob(text: str) -> str:
    try:
        branch_name(text.replace("*", "x"))
    except InvalidName:
        valid = False
    else:
        valid = not text.startswith("refs/")
    if not valid:
        raise refused(f"{shown(text)} is not a branch pattern", "Write a branch such as main, or release/* for several")
    return text


def _file(text: str) -> str:
    parts = text.split("/")
    if not _FILE.fullmatch(text) or {"", ".", ".."} & set(parts):
        raise refused(
            f"{shown(text)} is not the path of a JSON file",
            "Write a path from the top of the repository, such as images/staging.json",
        )
    if any(part.lower() == ".git" for part in parts) or parts[0].lower() in _NOT_FOR_IMAGES:
        raise refused(
            f"{shown(text)} is in a directory of git or of the VCS provider",
            "Use another one, such as images/staging.json",
        )
    return text


def _status(text: str) -> str:
    try:
        url = urlsplit(text)
        usable = url.scheme == "https" and url.hostname and "@" not in url.netloc and not url.fragment
        usable = usable and (url.port is None or url.port > 0) and text.isascii() and text.isprintable()
    except ValueError:
        usable = False
    if not usable or " " in text:
        raise refused(
            f"{shown(text)} is not a status URL",
            "Write an https URL without a user, such as https://status.example.com/eu",
        )
    return text


def _command(allowed: Sequence[str], needed: str = "") -> AfterValidator:
    """Return the validator of a command with these placeholders, of which it must have the ``needed`` one."""

    def validate(words: tuple[str, ...]) -> tuple[str, ...]:
        if not words or not words[0].strip():
            raise refused(
                "the command has no program", "Write the program first, then its arguments: ['make', 'check']"
            )
        if not all(letter.isprintable() or letter in "\n\t" for word in words for letter in word):
            raise refused("the command contains control characters", "Write plain text; line breaks are allowed")
        choice = f"Allowed: {', '.join(f'{{{each}}}' for each in allowed)}"
        for name in placeholders(words):
            if name not in allowed:
                near = nearest(name, allowed)
                advice = f"Did you mean '{{{near}}}'? {choice}" if near else f"{choice}. Put other braces into a script"
                raise refused(f"unknown placeholder {shown(f'{{{name}}}')}", advice)
        if needed and needed not in placeholders(words):
            raise refused(
                f"the command does not use '{{{needed}}}'", "Add it: it is the path of the image set to apply"
            )
        return words

    return AfterValidator(validate)


_Name = Annotated[str, AfterValidator(_name)]
_Words = Annotated[
    tuple[Annotated[str, Field(max_length=1000)], ...],
    Field(max_length=100),
    BeforeValidator(as_list, json_schema_input_type=list[str]),
]
_CheckTimeout = Annotated[str, duration(LONGEST_CHECK, "1d")]


_REPORTER = (
    "The App that reports the check, such as `github-actions`; `gitlab-ci` for jobs of GitLab; `@LOGIN` for commit "
    "statuses that a user sets."
)


class RequiredCheckSection(Section):
    """A check that CI reports, as a check run or a commit status. It counts from this App only."""

    name: Annotated[Name, AfterValidator(_check_name), Field(description="The name of the check.")]
    app: Annotated[str, AfterValidator(_app), Field(description=_REPORTER)]

    @property
    def check(self) -> RequiredCheck:
        return RequiredCheck(self.name, self.app)


def _usable_checks(sections: tuple[RequiredCheckSection, ...]) -> tuple[RequiredCheckSection, ...]:
    if not sections:
        raise refused(
            "there is no required check, so that untested commits would land",
            "Add one, such as {name: build, app: github-actions}",
        )
    names = [each.name for each in sections]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise refused(f"the check {shown(twice)} is required twice", "Remove one of them: a check counts from one App")
    return sections


class CheckTimeoutsSection(Section):
    """How long a required check may take. After that, it counts as failed."""

    start: Annotated[_CheckTimeout, Field(description="The time until it starts, such as `15m`; at most `1d`.")] = "15m"
    finish: Annotated[_CheckTimeout, Field(description="The time from its start to its end; at most `1d`.")] = "1h"

    @property
    def timeouts(self) -> Timeouts:
        return Timeouts(length(self.start), length(self.finish))


class CommandsSection(Section):
    """The repository's own programs. Each runs at the top of a checkout, as a list of words without a shell.

    Before it runs, `{set}`, `{environment}` and `{file}` become the image set's name, the environment's name and the
    path of its file.
    """

    introduce: Annotated[
        _Words,
        _command(_WITH_IMAGES, "image_file"),
        Field(
            description="Writes announced images to the first environment's file and generates YAML. "
            "`{image_file}` is the path of a JSON file that contains them."
        ),
    ] = UpdateCommands().introduce
    promote: Annotated[
        Annotated[_Words, _command(_WITH_IMAGES, "image_file")] | None,
        Field(
            description="Does the same for a promotion, where `{image_file}` contains the images of the environment "
            "before. Without it, Tidegate copies that file and runs `generate`."
        ),
    ] = None
    generate: Annotated[
        _Words, _command(_OF_ENVIRONMENT), Field(description="Generates YAML from templates and image files.")
    ] = UpdateCommands().generate

    @property
    def commands(self) -> UpdateCommands:
        return UpdateCommands(self.introduce, self.promote, self.generate)


class AppSection(Section):
    """The repository whose CI announces images."""

    repository: Annotated[Repository, Field(description="The repository, as `OWNER/NAME`.")]
    refs: Annotated[
        tuple[Annotated[Name, AfterValidator(_branch_glob)], ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(
            max_length=_MOST,
            description="Branches that may announce; `*` matches any text. By default, its default branch.",
        ),
    ] = ()

    @property
    def announcer(self) -> Announcer:
        return Announcer(self.repository, tuple(dict.fromkeys(self.refs)))


class TargetSection(Section):
    """What deploys an environment, such as a cluster, and reports that it did."""

    name: Annotated[_Name, Field(description="The target's name, unique in its image set.")]
    status: Annotated[
        Annotated[str, Field(max_length=1000), AfterValidator(_status)] | None,
        Field(description="An https URL that Tidegate asks, for targets that cannot report."),
    ] = None

    @property
    def target(self) -> Target:
        return Target(self.name, self.status or "")


class AfterSection(Section):
    """What an environment waits for: another environment of this file, or a stack of another repository."""

    environment: Annotated[
        Annotated[str, Field(max_length=201)] | None,
        Field(description="An environment, as `NAME` in the same image set or as `SET/NAME`."),
    ] = None
    repository: Annotated[Repository | None, Field(description="The repository of `stack`, as `OWNER/NAME`.")] = None
    stack: Annotated[
        StackName | None, Field(description="A stack in `repository`: no deployment of it is open or failed.")
    ] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        stack = (self.repository, self.stack)
        if (self.environment is None) == (stack == (None, None)):
            raise refused("'after' needs either an environment or a stack", "Set environment, or repository and stack")
        if self.environment is None and None in stack:
            raise refused("a stack needs its repository, and a repository a stack", "Set repository and stack")
        return self


class EnvironmentSection(Section):
    """Where an image set runs. It is complete when all targets have reported success."""

    name: Annotated[_Name, Field(description="The environment's name.")]
    file: Annotated[
        str,
        AfterValidator(_file),
        Field(description="The path of its image set, a JSON file. Each environment has its own."),
    ]
    targets: Annotated[
        tuple[TargetSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[TargetSection]),
        Field(min_length=1, max_length=_MOST_TARGETS, description="What deploys it."),
    ]
    after: Annotated[
        tuple[AfterSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[AfterSection]),
        Field(max_length=_MOST, description="What it waits for, besides the environment above it in the list."),
    ] = ()
    soak: Annotated[
        Annotated[str, duration(LONGEST_SOAK, "30d")] | None,
        Field(description="How long image sets stay here before the next environment gets them; at most `30d`."),
    ] = None
    promote: Annotated[
        Promote,
        Field(description="`manual` if a person starts every promotion to this environment; otherwise, Tidegate does."),
    ] = Promote.AUTO

    @property
    def soak_time(self) -> timedelta:
        return length(self.soak) if self.soak else timedelta()


class ImageSetSection(Section):
    """Images that are announced together, and the environments that they pass through."""

    name: Annotated[_Name, Field(description="The image set's name.")]
    app: Annotated[AppSection, Field(description="Who announces images.")]
    environments: Annotated[
        tuple[EnvironmentSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[EnvironmentSection]),
        Field(
            min_length=1,
            max_length=_MOST,
            description="The environments in their order. The first takes announced images, each other one those of "
            "the environment before it.",
        ),
    ]


class ConfigUpdatesSection(Section):
    """How images get into a config repository, and from environment to environment.

    Only the default branch's file counts.
    """

    auto_branch: Annotated[
        str,
        AfterValidator(_branch),
        Field(description="The branch on which Tidegate's commits are tested; not the default branch."),
    ] = "auto"
    required_checks: Annotated[
        tuple[RequiredCheckSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[RequiredCheckSection]),
        AfterValidator(_usable_checks),
        Field(
            max_length=_MOST,
            json_schema_extra={"minItems": 1},
            description="The checks that every commit passes before the default branch moves to it.",
        ),
    ]
    check_timeouts: Annotated[
        CheckTimeoutsSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=CheckTimeoutsSection | None),
        Field(description="How long a required check may take."),
    ] = CheckTimeoutsSection()
    commands: Annotated[
        CommandsSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=CommandsSection | None),
        Field(description="How the repository's files are changed."),
    ] = CommandsSection()
    supersede: Annotated[
        Supersede,
        Field(
            description="`collapse` to drop image sets that wait when a newer one for the same environment arrives; "
            "`keep-all` to test and land each."
        ),
    ] = Supersede.KEEP_ALL
    land_over_red: Annotated[
        Flag,
        Field(description="Whether a commit that passed also lands failed ones below it, whose changes it contains."),
    ] = True
    sets: Annotated[
        tuple[ImageSetSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[ImageSetSection]),
        Field(min_length=1, max_length=_MOST, description="The image sets."),
    ]
