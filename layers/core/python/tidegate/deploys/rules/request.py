"""What asked for a deployment, and what it brings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.deploys.rules.origin import Destruction
from tidegate.vcs.rules.push import Pushed


class Trigger(StrEnum):
    """What asked for a deployment: a merge, a person by hand, the forge's button that runs a check again, or drift."""

    MERGE = "merge"
    MANUAL = "manual"
    RERUN = "rerun"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True)
class DeploymentRequest:
    """Who asked for a deployment, when, and for what. It never changes.

    The last four are of a pull request whose head is deployed by hand.
    """

    trigger: Trigger
    by: str
    #: Of one root's deployments, each was asked for at another time.
    at: datetime
    pull_request: int | None = None
    #: That it destroys what the root made, in place of deploying it.
    destroy: Destruction | None = None
    #: That the apply requirements were passed over.
    forced: bool = False
    #: That the root may be any of the default branch's, as that has none of its name in its place.
    foreign: bool = False
    #: The commit of the base branch that the head is merged with before.
    base_sha: str = ""
    #: The commit that both come after, where the forge knows that there is but one.
    fork_sha: str = ""


@dataclass(frozen=True, slots=True)
class Rerun:
    """The deployment that is run again, if any, and what is remembered of it and of those that it ran again itself."""

    #: The id of the deployment that is run again.
    of: str | None = None
    #: That the first of them was asked for by hand.
    manual: bool = False
    #: When the first of them was asked for.
    first_requested_at: datetime | None = None
    #: When one of them last may have changed infrastructure.
    touched_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeployedCommits:
    """What the deployed revision brings: whose commits, from which pushes, and which rules they change."""

    #: The logins of those who made the change.
    authors: tuple[str, ...] = ()
    #: Whether these are all.
    authors_known: bool = True
    #: The pushes whose changes it applies.
    pushed: tuple[Pushed, ...] = ()
    #: That those before them may have deployed nothing of its root.
    returns: bool = False
    #: What its commit, or one that it contains and that was not applied, changes of what runs or grants something, in
    #: words: people look at its plan for that.
    rule_changes: tuple[str, ...] = ()
