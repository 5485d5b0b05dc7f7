"""Verify that a CI run may announce images of a commit."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from tidegate.config.rules.config_updates import DeclaredImageSet
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.ci_token import (
    CiRun,
    CiRunRefused,
    UnknownAnnouncer,
    UnknownSetOfAnnouncer,
    check_run,
    run_of,
)
from tidegate.config_updates.rules.refusals import NoConfigUpdates
from tidegate.ports import Ports
from tidegate.rules.errors import ForgeRefused, InvalidConfiguration, NotFound

#: Whose CI announces to a repository, in lower case, as was found out lately.
KnownAnnouncers = MutableMapping[str, frozenset[str]]


def verify_announcer(
    ports: Ports, token: str, repository: str, image_set: str, app_sha: str, known: KnownAnnouncers
) -> CiRun:
    """Return the run that a token belongs to. Raise InvalidCiToken, ForgeUnavailable; CiRunRefused if it may not.

    Everybody on GitHub gets valid tokens for repositories of their own, as many as they like. ``known`` remembers who
    announces, so that all others together cannot use up the App's calls.
    """
    run = run_of(ports.ci_tokens.claims(token), gitlab=ports.ci_tokens.gitlab)
    who = run.repository.lower()
    sets = _sets(ports, repository) if who in known.get(repository, (who,)) else ()
    of_it = [each for each in sets if each.app.repository.lower() == who]
    if not of_it:
        # A repeated request does not make the time longer: whoever corrects the file can announce soon.
        known.setdefault(repository, frozenset(each.app.repository.lower() for each in sets))
        raise UnknownAnnouncer(run, repository, image_set)
    announcer = next((each.app for each in of_it if each.name == image_set), None)
    if announcer is None:
        raise UnknownSetOfAnnouncer(run, image_set, [each.name for each in of_it])
    check_run(run, announcer.refs or (_default_branch(ports, announcer.repository),), app_sha)
    return run


def _sets(ports: Ports, repository: str) -> Sequence[DeclaredImageSet]:
    """Return what a repository declares; nothing for one that cannot be read: why is not for everybody to learn.

    Only the name that the VCS provider uses is known: one in other letters would have a queue of its own.
    """
    try:
        return current_updates(ports, ports.repository_index.repository(repository).name).updates.sets
    except (NotFound, NoConfigUpdates, InvalidConfiguration, ForgeRefused):
        return ()


def _default_branch(ports: Ports, repository: str) -> str:
    try:
        return ports.commits.default_branch(repository)
    except (ForgeRefused, NotFound):
        raise CiRunRefused(
            f"Tidegate cannot read the default branch of {repository}. List its branches under app.refs in "
            "tidegate.yaml, or install the App there."
        ) from None
