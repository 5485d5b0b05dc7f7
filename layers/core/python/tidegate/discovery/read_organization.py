"""Read the organization-wide configuration."""

from __future__ import annotations

from tidegate.config.organization import Organization, read_organization
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.ports import OrganizationFile


class OrganizationReader:
    """Reads the organization-wide file, and parses it only after a change.

    ``review`` is the review rule if no configuration has one.
    """

    def __init__(self, file: OrganizationFile, review: PlanReview) -> None:
        self._file, self._review = file, review
        self._known: tuple[bytes | None, Organization] = None, read_organization(None, review)

    def __call__(self) -> Organization:
        """Return its current content. An invalid file is reported where it is used. Raise CloudUnavailable."""
        content = self._file.read()
        if content != self._known[0]:
            self._known = content, read_organization(content, self._review)
        return self._known[1]
