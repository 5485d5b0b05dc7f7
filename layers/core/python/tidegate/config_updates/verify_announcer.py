"""Verify that a CI run may announce images of a commit."""

from __future__ import annotations

from tidegate.config.rules.config_updates import Announcer
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.ci_token import CiRun, CiRunRefused, check_repository, check_run, run_of
from tidegate.config_updates.rules.refusals import NoConfigUpdates, UnknownImageSet
from tidegate.ports import Ports
from tidegate.rules.errors import ForgeRefused, NotFound


def verify_announcer(ports: Ports, token: str, repository: str, image_set: str, app_sha: str) -> CiRun:
    """Return the run that a token belongs to.

    Raise InvalidCiToken; CiRunRefused if it may not announce this; and what ``current_updates`` raises of a repository
    that it may announce to.
    """
    run = run_of(ports.ci_tokens.claims(token), gitlab=ports.ci_tokens.gitlab)
    announcer = _announcer(ports, repository, image_set)
    check_repository(run, repository, image_set, announcer.repository if announcer else None)
    if announcer is not None:
        check_run(run, announcer.refs or (_default_branch(ports, announcer.repository),), app_sha)
    return run


def _announcer(ports: Ports, repository: str, image_set: str) -> Announcer | None:
    try:
        return current_updates(ports, repository).image_set(image_set).app
    except (NotFound, NoConfigUpdates, UnknownImageSet):
        return None


def _default_branch(ports: Ports, repository: str) -> str:
    try:
        return ports.commits.default_branch(repository)
    except (ForgeRefused, NotFound):
        raise CiRunRefused(
            f"Tidegate cannot read the default branch of {repository}. List its branches under app.refs in "
            "tidegate.yaml, or install the App there."
        ) from None
