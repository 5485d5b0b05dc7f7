"""The message of a commit on the auto branch: a subject, and trailers that say who asked for what.

Each value is checked, and none comes from a commit's title: ``[skip ci]`` in one would keep CI from ever testing it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.config.rules.config_updates import NAME
from tidegate.rules.errors import TidegateError, quoted

#: A whole commit: SHA-1 or SHA-256, in lower case.
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ID = re.compile(r"[0-9A-Za-z]{10,40}")
_ACTOR = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9_])?(?:\[bot\])?")
_NUMBER = re.compile(r"[0-9]{1,18}")
#: Why a commit exists, by the kind of its entry: values of the trailer ``Autocommit-Reason``.
REASONS = ("new images published", "promotion", "rollback")
_FORMS = {
    "Autocommit-Id": ("id", _ID),
    "Autocommit-App-SHA": ("app_sha", COMMIT),
    "Autocommit-Sequence": ("sequence", _NUMBER),
    "Autocommit-Set": ("image_set", NAME),
    "Autocommit-Target": ("environment", NAME),
    "Autocommit-Source-Config-SHA": ("source_sha", COMMIT),
    "Autocommit-Reason": ("reason", re.compile("|".join(REASONS))),
    "Autocommit-Actor": ("actor", _ACTOR),
}
_OPTIONAL = frozenset({"app_sha", "sequence", "source_sha", "actor"})


class InvalidTrailer(TidegateError):
    """A value that may not become a trailer."""

    def __init__(self, trailer: str, text: str) -> None:
        super().__init__(f"{quoted(text)} is not a valid value of the trailer {trailer}. Nothing was committed.")


@dataclass(frozen=True, slots=True)
class Trailers:
    """What a commit of Tidegate's says of itself. Texts that do not apply are empty.

    ``id`` is the entry's, which stays when the commit is replayed. ``source_sha`` is the commit of the config
    repository that a promotion or a rollback takes the image set from.
    """

    id: str
    image_set: str
    environment: str
    reason: str
    app_sha: str = ""
    sequence: str = ""
    source_sha: str = ""
    actor: str = ""


def is_actor(text: str) -> bool:
    """Tell whether a text can be the trailer that names who asked."""
    return _ACTOR.fullmatch(text) is not None


def commit_message(trailers: Trailers) -> str:
    """Return the whole message of an entry's commit. Raise InvalidTrailer."""
    lines = [_line(name, trailers) for name in _FORMS if not _left_out(name, trailers)]
    return f"{_subject(trailers)}\n\n" + "\n".join(lines) + "\n"


def _left_out(name: str, trailers: Trailers) -> bool:
    field, _ = _FORMS[name]
    return field in _OPTIONAL and not getattr(trailers, field)


def _line(name: str, trailers: Trailers) -> str:
    field, form = _FORMS[name]
    value = str(getattr(trailers, field))
    if not form.fullmatch(value):
        raise InvalidTrailer(name, value)
    return f"{name}: {value}"


def _subject(trailers: Trailers) -> str:
    if trailers.reason == REASONS[0]:
        return f"chore: update app to {trailers.app_sha[:10]}"
    verb = "promote" if trailers.reason == "promotion" else "roll back"
    to = "to " if verb == "promote" else ""
    return f"chore: {verb} {trailers.image_set} {to}{trailers.environment}"
