"""The context keys for runners: their image, masking, and the variables of deploys' engine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tidegate.deploys.rules.aws_target import AllowedRoles
from tidegate.deploys.rules.mask_pattern import patterns_problem
from tidegate.deploys.rules.runner_size import (
    LARGEST,
    USUAL_LIMITS,
    RunnerNeeds,
    RunnerOffer,
    RunnerSize,
    cpu_units,
    duration,
    memory_mib,
    size_of,
    size_problem,
)
from tidegate.deploys.rules.workflow_rules import name_problem
from tidegate.rules.errors import RunnerNotOffered
from tidegate_cdk.target_roles import KEYS, UnusableRole, allowed_roles, engine_roles

_IMAGE = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]{1,5})?/[a-z0-9._/-]{1,200}@sha256:[0-9a-f]{64}")
_SECRET = re.compile(r"[A-Za-z0-9/_+=.@-]{1,256}(?:#[A-Za-z0-9_.-]{1,128})?")
#: Lambda and ECS take more, but what is as long as this is a file.
_LONGEST_VALUE = 2_000
#: Keys of sizes, and what makes numbers of what is written.
_SIZES: Mapping[str, Callable[[Any], int]] = {
    "cpu": lambda value: cpu_units(_number(value)),
    "memory": lambda value: memory_mib(_number(value)),
    "disk": lambda value: int(_number(value)),
    "apply_timeout": duration,
}


class Context(Protocol):
    """Where context comes from: a construct's node."""

    def try_get_context(self, key: str) -> Any:
        """Return the value, or None."""


class InvalidContext(ValueError):  # Named for what it tells.
    """A context key has a value that cannot be used."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        found = "not set" if value == "" else repr(value)
        whole = re.split(r"[.\[]", key)[0]
        super().__init__(
            f"Context key {key} is {found}, but must be {allowed}. Change it in cdk.json, with -c {whole}=…, "
            "or in TidegateProps"
        )


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """``variables`` are for the engine of deploys, ``secrets`` name the secrets of others, each with ``#field`` or not.

    ``target_roles`` are those that the engine of each kind of runner may assume besides its own. ``allowed_roles`` are
    those that roots may name: the runner assumes them for the engine. ``offer`` is how large runners are, and may be.
    """

    image: str
    mask_patterns: tuple[str, ...]
    variables: Mapping[str, str]
    secrets: Mapping[str, str]
    target_roles: Mapping[str, tuple[str, ...]]
    allowed_roles: AllowedRoles
    offer: RunnerOffer


def read_runner_settings(context: Context) -> RunnerSettings:
    """Return the settings of this context. Raise InvalidContext for the first that cannot be used."""
    image = context.try_get_context("runner_image") or ""
    if image and not (isinstance(image, str) and _IMAGE.fullmatch(image)):
        raise InvalidContext("runner_image", image, "an image with its digest, REGISTRY/NAME@sha256:…")
    variables, given = _mapping(context, "runner_variables"), _mapping(context, "runner_secrets")
    for name, value in variables.items():
        if len(value) > _LONGEST_VALUE:
            raise InvalidContext("runner_variables", name, f"a variable of at most {_LONGEST_VALUE} characters")
    for name, value in given.items():
        if name in variables:
            raise InvalidContext("runner_secrets", name, "a name that is not in runner_variables")
        if not _SECRET.fullmatch(value):
            raise InvalidContext(f"runner_secrets.{name}", value, "the name of a secret, or NAME#FIELD for one of JSON")
    return RunnerSettings(image, _patterns(context), variables, given, *_roles(context), _offer(context))


def _offer(context: Context) -> RunnerOffer:
    usual, most = _size(context, "runner", RunnerSize()), _size(context, "runner_limits", USUAL_LIMITS)
    offer = RunnerOffer(usual, most)
    try:
        size_of(None, offer)
    except RunnerNotOffered:
        asked = _parsed(context, "runner", {})
        raise InvalidContext("runner", asked, f"within runner_limits: at most {most}") from None
    return offer


def _size(context: Context, key: str, default: RunnerSize) -> RunnerSize:
    """Return a size of runners: unset parts have defaults, as far as Fargate offers the combination."""
    value = _parsed(context, key, {})
    if not isinstance(value, dict) or not value.keys() <= _SIZES.keys():
        raise InvalidContext(key, value, f"a mapping of {', '.join(_SIZES)}")
    try:
        cpu, memory, disk, seconds = (read(value[name]) if name in value else 0 for name, read in _SIZES.items())
    except (TypeError, ValueError):
        raise InvalidContext(key, value, 'sizes such as {"cpu": 2, "memory": 8, "disk": 50}, "90m"') from None
    needs = RunnerNeeds(cpu, memory, disk, apply_seconds=seconds)
    if problem := size_problem(needs):
        raise InvalidContext(key, value, f"a Fargate size: {problem[0]}. {problem[1]}")
    return size_of(needs, RunnerOffer(default, LARGEST))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return value


def _patterns(context: Context) -> tuple[str, ...]:
    patterns = _list(context, "mask_patterns")
    if problem := patterns_problem(patterns):
        at, why = problem
        raise InvalidContext(f"mask_patterns[{at}]", "".join(patterns[at : at + 1]), f"a valid pattern: {why}")
    return patterns


def _roles(context: Context) -> tuple[Mapping[str, tuple[str, ...]], AllowedRoles]:
    """Return the roles that engines may assume, by kind of runner, and those that roots may name."""
    entries = {kind: _entries(context, key) for kind, (key, _) in KEYS.items()}
    try:
        return {kind: engine_roles(key, entries[kind]) for kind, (key, _) in KEYS.items()}, allowed_roles(entries)
    except UnusableRole as error:
        raise InvalidContext(error.key, error.value, error.allowed) from None


def _entries(context: Context, key: str) -> list[object]:
    value = _parsed(context, key, [])
    if not isinstance(value, list):
        raise InvalidContext(key, value, "a list of roles")
    return value


def _list(context: Context, key: str) -> tuple[str, ...]:
    value = _parsed(context, key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidContext(key, value, "a list of strings")
    return tuple(value)


def _mapping(context: Context, key: str) -> dict[str, str]:
    value = _parsed(context, key, {})
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise InvalidContext(key, value, "a mapping of names to strings")
    for name in value:
        if problem := name_problem(name):
            raise InvalidContext(key, name, f"a variable name for the engine: {problem}")
    return dict(value)


def _parsed(context: Context, key: str, default: object) -> object:
    """Return a value; ``-c key=…`` on the command line gives JSON as a text."""
    value = context.try_get_context(key)
    if value is None or value == "":
        return default
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise InvalidContext(key, value, "JSON") from None
