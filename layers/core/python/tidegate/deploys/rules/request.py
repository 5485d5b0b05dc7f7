"""What requested a deployment."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tidegate.deploys.rules.origin import Destruction
from tidegate.vcs.rules.headline import Headline
from tidegate.vcs.rules.push import Pushed


class Trigger(StrEnum):
    """What requested a deployment: a merge, a person, the provider's re-run button, or drift reconciliation."""

    MERGE = "merge"
    MANUAL = "manual"
    RERUN = "rerun"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True)
class DeploymentRequest:
    """Who requested a deployment, when, and for what. It never changes.

    ``forced`` and the three fields after it are for a pull request whose head is deployed by hand.
    """

    trigger: Trigger
    by: str
    #: Of one root's deployments, each was asked for at another time.
    at: datetime
    pull_request: int | None = None
    #: Whether it destroys the root's resources instead of deploying it.
    destroy: Destruction | None = None
    #: Whether the apply requirements were overridden.
    forced: bool = False
    #: Whether the root may be any of the default branch's, which has none of its name and directory.
    foreign: bool = False
    #: The base branch's commit with which the head is merged first.
    base_sha: str = ""
    #: The merge base, if the VCS provider knows that there is only one.
    fork_sha: str = ""
    #: What the deployed change is, in words.
    headline: Headline = field(default_factory=Headline)
    #: Whether it resumes a cluster's failed workflow. It is of the default branch, so no merge reverts it.
    resumes: bool = False


@dataclass(frozen=True, slots=True)
class Rerun:
    """The deployment that is run again, if any, and the history of earlier re-runs."""

    #: The id of the deployment that is run again.
    of: str | None = None
    #: Whether the first of them was manual.
    manual: bool = False
    #: When the first of them was requested.
    first_requested_at: datetime | None = None
    #: When one of them last may have changed infrastructure.
    touched_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeployedCommits:
    """What the deployed revision contains: authors, pushes, and rule changes."""

    #: The logins of those who made the change.
    authors: tuple[str, ...] = ()
    #: Whether these are all.
    authors_known: bool = True
    #: The pushes whose changes are applied.
    pushed: tuple[Pushed, ...] = ()
    #: Whether pushes before them may have deployed nothing of the root.
    returns: bool = False
    #: What its commit, or one that it contains and that was not applied, changes of what runs or grants something, in
    #: words: people look at its plan for that.
    rule_changes: tuple[str, ...] = ()
