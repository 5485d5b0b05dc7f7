"""Read the organization-wide configuration."""

from __future__ import annotations

from dataclasses import replace

from tidegate.config.organization import Organization, read_organization
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.notifications.rules.destination import DeclaredDestinations
from tidegate.ports import OrganizationFile


class OrganizationReader:
    """Reads the organization-wide file, and parses it only after a change.

    ``review`` is the review rule if no configuration has one, ``destinations`` are the installation's.
    """

    def __init__(
        self, file: OrganizationFile, review: PlanReview, destinations: DeclaredDestinations | None = None
    ) -> None:
        self._file, self._review, self._destinations = file, review, destinations
        self._known: tuple[bytes | None, Organization] = None, self._read(None)

    def __call__(self) -> Organization:
        """Return its current content. An invalid file is reported where it is used. Raise CloudUnavailable."""
        content = self._file.read()
        if content != self._known[0]:
            self._known = content, self._read(content)
        return self._known[1]

    def _read(self, content: bytes | None) -> Organization:
        return replace(read_organization(content, self._review), destinations=self._destinations)
