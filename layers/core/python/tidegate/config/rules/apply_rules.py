"""When a repository's changes are applied: after the merge, or in their pull request before."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegate.vcs.rules.pull_request import MergeMethod


class ApplyMode(StrEnum):
    """When changes are applied."""

    ON_MERGE = "on_merge"
    IN_PULL_REQUEST = "in_pull_request"


@dataclass(frozen=True, slots=True)
class ApplyRules:
    """The default branch's configuration. ``merge_after`` is the merge method once all of a pull request is applied.

    Without it, people merge.
    """

    mode: ApplyMode = ApplyMode.ON_MERGE
    merge_after: MergeMethod | None = None

    @property
    def in_pull_request(self) -> bool:
        """Whether changes are applied before they are merged."""
        return self.mode is ApplyMode.IN_PULL_REQUEST
