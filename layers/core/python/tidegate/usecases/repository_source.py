"""The commits of a repository, fetched with a token for exactly that."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from tidegate.config.loader import LoadedConfiguration
from tidegate.domain.review_rule import PlanReview
from tidegate.ports import Forge, PushedTrees, SourceHistory
from tidegate.usecases.discover_roots import read_configuration

#: Stands for no commit, so that everything in the other one is new.
_NO_COMMIT = "0" * 40


@dataclass(frozen=True, slots=True)
class RepositorySource:
    """Fetches commits. ``review`` tells which plans wait for people where a repository does not."""

    forge: Forge
    history: SourceHistory
    review: PlanReview = PlanReview.ALWAYS

    def fetch(
        self, installation: int, repository: str, after: str, before: str = _NO_COMMIT
    ) -> AbstractContextManager[PushedTrees]:
        """Fetch a commit, and what it changed since another. Raise as ``SourceHistory.fetch`` does."""
        url = self.forge.clone_url(repository)
        return self.history.fetch(url, self.forge.clone_token(installation, repository), before, after)

    def configuration(self, installation: int, repository: str, sha: str) -> LoadedConfiguration:
        """Return what the file of a commit says. Raise InvalidConfiguration, and as ``fetch`` does."""
        with self.fetch(installation, repository, sha) as trees:
            return read_configuration(trees, repository, self.review)
