"""The runner's environment variables, from the task definition and the state machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tidegate.deploys.rules.aws_target import AllowedRoles, from_text
from tidegate.deploys.rules.job import JobKind, job_parts
from tidegate.deploys.rules.mask_pattern import patterns_problem
from tidegate.roots.rules.root import EngineName
from tidegate.rules.errors import NotFound

#: ECS kills a task 120 s after SIGTERM (``stopTimeout``); the last 20 s are for the log and the report.
DEFAULT_STOP_SECONDS = 100.0
DEFAULT_HEARTBEAT_SECONDS = 5.0
#: ``dispatch_job`` runs right after the runner's first answer; it may be throttled or retried for a while.
DEFAULT_DISPATCH_SECONDS = 300.0
#: The state machine may set a job's time limit; the default is an hour. A runner never lives longer.
DEFAULT_LIFE_SECONDS = 3600.0 + DEFAULT_DISPATCH_SECONDS
#: The state machine's heartbeat time-out: a runner that is silent for longer was given up.
DEFAULT_SILENCE_SECONDS = 60.0
#: How long a program of a step may take.
DEFAULT_PROGRAM_SECONDS = 900.0


class SettingsError(Exception):
    """A variable is missing or unusable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The runner's settings. Durations are in seconds.

    ``runner_variables`` are the names of the installation's variables for the engine of deploys, those of
    ``secret_variables`` among them are masked. ``release_keys`` is a directory with ``terraform.asc`` and ``tofu.asc``;
    ``engine_cache`` is where downloaded engines are kept, None for the job's own directory. ``allow_local_state``
    allows roots whose state is lost with the runner. ``target_roles`` are those that roots may name. ``plan_seconds``
    is the time limit of a plan on Lambda, 0 elsewhere. A replay has no ``engine_role``. The names of secrets with
    kubeconfigs begin with ``cluster_secrets``; ``cluster_hooks`` are those of the installation, as JSON
    (tidegate/clusters/rules/installed.py), ``cluster_registrars`` the names of all registrars, empty for the usual.
    """

    job: str
    job_digest: str
    start_token: str
    table: str
    bucket: str
    engine_role: str
    defaults: Mapping[EngineName, str]
    mirror: str | None
    release_keys: Path
    engine_cache: Path | None
    mask_patterns: tuple[str, ...]
    runner_variables: tuple[str, ...]
    secret_variables: tuple[str, ...]
    stop_seconds: float
    heartbeat_seconds: float
    dispatch_seconds: float
    program_seconds: float
    life_seconds: float
    silence_seconds: float
    allow_local_state: bool
    target_roles: AllowedRoles
    plan_seconds: float = 0.0
    cluster_secrets: str = "tidegate/clusters"
    cluster_hooks: str = ""
    cluster_registrars: tuple[str, ...] = ()


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings in ``environ``. Raise SettingsError naming what is missing."""
    cache = environ.get("TIDEGATE_ENGINE_CACHE")
    keys = environ.get("TIDEGATE_RELEASE_KEYS")
    job = _required(environ, "TIDEGATE_JOB")
    return Settings(
        job=job,
        job_digest=_required(environ, "TIDEGATE_JOB_DIGEST"),
        start_token=_required(environ, "TIDEGATE_START_TOKEN"),
        table=_required(environ, "TIDEGATE_TABLE"),
        bucket=_required(environ, "TIDEGATE_ARTIFACT_BUCKET"),
        engine_role="" if _is_replay(job) else _required(environ, "TIDEGATE_ENGINE_ROLE"),
        defaults={
            EngineName.TERRAFORM: environ.get("TIDEGATE_DEFAULT_TERRAFORM", ""),
            EngineName.TOFU: environ.get("TIDEGATE_DEFAULT_TOFU", ""),
        },
        mirror=environ.get("TIDEGATE_RELEASE_MIRROR") or None,
        release_keys=Path(keys) if keys else Path(__file__).parent / "keys",
        engine_cache=Path(cache) if cache else None,
        mask_patterns=_patterns(environ.get("TIDEGATE_MASK_PATTERNS", "")),
        runner_variables=_names(environ, "TIDEGATE_RUNNER_VARIABLES"),
        secret_variables=_names(environ, "TIDEGATE_RUNNER_SECRETS"),
        stop_seconds=_seconds(environ, "TIDEGATE_STOP_SECONDS", DEFAULT_STOP_SECONDS),
        heartbeat_seconds=_seconds(environ, "TIDEGATE_HEARTBEAT_SECONDS", DEFAULT_HEARTBEAT_SECONDS),
        dispatch_seconds=_seconds(environ, "TIDEGATE_DISPATCH_SECONDS", DEFAULT_DISPATCH_SECONDS),
        program_seconds=_seconds(environ, "TIDEGATE_PROGRAM_SECONDS", DEFAULT_PROGRAM_SECONDS),
        life_seconds=_seconds(environ, "TIDEGATE_LIFE_SECONDS", DEFAULT_LIFE_SECONDS),
        silence_seconds=_seconds(environ, "TIDEGATE_SILENCE_SECONDS", DEFAULT_SILENCE_SECONDS),
        allow_local_state=environ.get("TIDEGATE_ALLOW_LOCAL_STATE", "") == "true",
        target_roles=_roles(environ.get("TIDEGATE_TARGET_ROLES", "")),
        plan_seconds=_seconds(environ, "TIDEGATE_PLAN_SECONDS", 0.0),
        cluster_secrets=environ.get("TIDEGATE_CLUSTER_SECRETS") or "tidegate/clusters",
        cluster_hooks=environ.get("TIDEGATE_CLUSTER_HOOKS", ""),
        cluster_registrars=_names(environ, "TIDEGATE_CLUSTER_REGISTRARS"),
    )


def _is_replay(job: str) -> bool:
    """Tell whether a job runs commands of a config repository, and no engine."""
    with suppress(NotFound):
        return job_parts(job)[1] is JobKind.REPLAY
    return False


def _required(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name)
    if not value:
        raise SettingsError(f"{name} is not set. The task definition or the state machine must set it.")
    return value


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(environ.get(name) or default)
    except ValueError as error:
        raise SettingsError(f"{name} is not a number of seconds: {environ[name]!r}.") from error


def _patterns(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    try:
        patterns = json.loads(text)
    except ValueError as error:
        raise SettingsError("TIDEGATE_MASK_PATTERNS is not a JSON list of regular expressions.") from error
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise SettingsError("TIDEGATE_MASK_PATTERNS is not a JSON list of regular expressions.")
    if problem := patterns_problem(patterns):
        raise SettingsError(f"TIDEGATE_MASK_PATTERNS, pattern {problem[0] + 1}: {problem[1]}.")
    return tuple(patterns)


def _roles(text: str) -> AllowedRoles:
    try:
        return from_text(text)
    except ValueError as error:
        raise SettingsError("TIDEGATE_TARGET_ROLES is not JSON with roles per phase.") from error


def _names(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return names of variables, which stand one after the other with commas between."""
    return tuple(filter(None, environ.get(name, "").split(",")))
