"""An image set: what CI announces of one commit, and what the file of an environment holds.

The form is that of the announcement: for each service its tag, for people, and its digest, which pods use.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.config.rules.config_updates import NAME
from tidegate.config_updates.rules.trailers import COMMIT
from tidegate.rules.errors import TidegateError, quoted

#: Services of one image set: 300 of the longest names fit a message of SQS, which takes 256 KiB.
MOST_SERVICES = 300
_LONGEST_REFERENCE = 400
# What the distribution specification allows: a registry with a port and path components, a tag, a digest.
_REPOSITORY = re.compile(r"[a-z0-9.:/_-]+")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class InvalidImageSet(TidegateError):
    """An announcement that names no images that could be deployed."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem} {advice}")
        self.problem, self.advice = problem, advice


@dataclass(frozen=True, slots=True)
class Image:
    """The image of one service: ``NAME:TAG`` and ``NAME@sha256:…``."""

    service: str
    tag: str
    digest: str


@dataclass(frozen=True, slots=True)
class ImageSet:
    """The images of all services that are deployed together, by name, as of one commit of their application."""

    app_sha: str
    images: tuple[Image, ...]

    @property
    def text(self) -> str:
        """The file that commands are given as ``IMAGE_FILE``: JSON, sorted, the same text for the same images."""
        images = {image.service: {"Digest": image.digest, "Tag": image.tag} for image in self.images}
        return json.dumps(images, indent=2, sort_keys=True) + "\n"

    @property
    def digest(self) -> str:
        """What tells one announcement of a commit from another one."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def read_image_set(app_sha: str, body: Any) -> ImageSet:
    """Return the image set that a body announces for a commit. Raise InvalidImageSet.

    ``body`` is the map from service to ``{"Tag": …, "Digest": …}``. Each tag holds the commit, so that images of
    another commit are not announced by mistake.
    """
    if not COMMIT.fullmatch(app_sha):
        raise InvalidImageSet(f"{quoted(app_sha)} is not a commit.", "Send the full SHA in lower case.")
    if not isinstance(body, Mapping) or not body:
        raise InvalidImageSet("The body names no images.", 'Send {"SERVICE": {"Tag": "…", "Digest": "…"}}.')
    if len(body) > MOST_SERVICES:
        raise InvalidImageSet(f"The body names {len(body)} services.", f"Announce at most {MOST_SERVICES} in one set.")
    return ImageSet(app_sha, tuple(_image(app_sha, service, body[service]) for service in sorted(body)))


def _image(app_sha: str, service: str, given: Any) -> Image:
    if not NAME.fullmatch(service):
        advice = "Use letters, digits, '.', '_' and '-', at most 100 of them."
        raise InvalidImageSet(f"{quoted(service)} is not a valid service name.", advice)
    if not isinstance(given, Mapping) or set(given) != {"Tag", "Digest"}:
        raise InvalidImageSet(f"The service {service} needs two fields.", "Send exactly Tag and Digest.")
    tag, digest = given["Tag"], given["Digest"]
    of_tag, of_digest = _split(tag, ":", _TAG), _split(digest, "@", _DIGEST)
    if of_tag is None:
        raise InvalidImageSet(f"The Tag of {service} is {_shown(tag)}.", "Send NAME:TAG.")
    if of_digest is None:
        advice = "Send NAME@sha256: and 64 hexadecimal digits in lower case."
        raise InvalidImageSet(f"The Digest of {service} is {_shown(digest)}.", advice)
    if of_tag[0] != of_digest[0]:
        raise InvalidImageSet(f"Tag and Digest of {service} name different repositories.", "Use the same one.")
    if app_sha not in of_tag[1]:
        raise InvalidImageSet(f"The Tag of {service} does not contain the commit {app_sha}.", "Tag images by commit.")
    return Image(service, tag, digest)


def _split(reference: Any, sign: str, end: re.Pattern[str]) -> tuple[str, str] | None:
    """Return the name of a reference and what follows the last ``sign``; None if it is no such reference."""
    if not isinstance(reference, str) or len(reference) > _LONGEST_REFERENCE:
        return None
    name, _, rest = reference.rpartition(sign)
    is_name = _REPOSITORY.fullmatch(name) and name[0].isalnum() and name[-1].isalnum()
    return (name, rest) if is_name and end.fullmatch(rest) else None


def _shown(given: Any) -> str:
    return quoted(given) if isinstance(given, str) else f"not a string, but {type(given).__name__}"


def identity_of(content: bytes) -> str:
    """Return the identity of the image set that an environment's file holds, whatever else its commit changed."""
    return hashlib.sha256(content).hexdigest()
