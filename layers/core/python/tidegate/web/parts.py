"""What the HTTP API and the pages stand on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidegate.check_runs.look_at_deployment import DeploymentLooker
from tidegate.deploys.authorize import Authorizer
from tidegate.deploys.jobs.read_log import LogReader
from tidegate.deploys.jobs.search_deployments import DeploymentSearcher
from tidegate.deploys.queue.look_at_queue import QueueLooker
from tidegate.deploys.rules.deployment import Unlocking
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.locking import Locking
from tidegate.deploys.rules.review import Answer
from tidegate.drift.look_at_drift import DriftLooker
from tidegate.gates.look_at_change import ChangeLooker
from tidegate.ports import (
    Accounts,
    Catalog,
    ChangeSets,
    Clock,
    Deliveries,
    Deployments,
    Forge,
    ForgeAddresses,
    PublicKeys,
    SignOuts,
    TemporaryLayers,
)
from tidegate.pull_requests.look_at_pull_request import PullRequestLooker
from tidegate.requests.lock_many import RepositoryLocker
from tidegate.rules.decision import Decision
from tidegate.vcs.rules.forge_words import GITHUB_WORDS, ForgeWords
from tidegate.web.refusals import UnknownRoot
from tidegate.web.session import Sessions


class Decide(Protocol):
    """Answers a plan review."""

    def __call__(self, deployment: str, answer: Answer, by: str, at: str, seen: str | None = None) -> Decision:
        """Return what came of it. ``seen`` is the SHA-256 of the plan that an approval is for."""


class Unlock(Protocol):
    """Takes a queue's lock away."""

    def __call__(self, queue: str, unlocking: Unlocking) -> Decision:
        """Return what came of it; not done when there was no lock to take away."""


class LockByHand(Protocol):
    """Locks a queue."""

    def __call__(self, queue: str, locking: Locking) -> Decision:
        """Return what came of it; not done where there is a lock, or no queue."""


class DecideGate(Protocol):
    """Answers for a deployment that waits at a gate."""

    def __call__(self, deployment: str, answer: GateAnswer, by: str, at: str, reason: str = "") -> Decision:
        """Return what came of it."""


class Cancel(Protocol):
    """Cancels a deployment."""

    def __call__(self, deployment: str, by: str, at: str, *, is_apply: bool = False) -> Decision:
        """Return what came of it. ``is_apply`` tells that an apply is to be interrupted, too."""


class LookNow(Protocol):
    """Lets a schedule of a repository look for drift now; ``demand`` (an id) does so once, however often it comes."""

    def __call__(self, repository: str, schedule: str, demand: str) -> Decision:
        """Say what came of it. Raise NotFound for a schedule that there is not."""


class Request(Protocol):
    """Asks for deployments of the default branch's head."""

    def __call__(
        self,
        repository: str,
        roots: Sequence[str],
        by: str,
        *,
        force: bool = False,
        destroy: bool = False,
        directories: Sequence[str] = (),
        query: str = "",
    ) -> str:
        """Return the request's id. Raise InvalidName for a root that cannot be, and InvalidTagQuery.

        ``force`` deploys once more, ``destroy`` destroys what the roots made.
        """


@dataclass(frozen=True, slots=True)
class WebLinks:
    """Where more is to be seen: on the forge, and an execution's URL with ``{deployment}`` in it; and its words."""

    forge: ForgeAddresses
    execution: str = ""
    words: ForgeWords = GITHUB_WORDS


@dataclass(frozen=True, slots=True)
class Parts:
    """Ports and use cases. ``url`` is where browsers reach the pages, ``sessions`` is asked when a page is."""

    url: str
    links: WebLinks
    operators_team: str
    sessions: Callable[[], Sessions]
    sign_outs: SignOuts
    accounts: Accounts
    forge: Forge
    catalog: Catalog
    deployments: Deployments
    deliveries: Deliveries
    change_sets: ChangeSets
    authorizer: Authorizer
    clock: Clock
    monotonic: Callable[[], float]
    queue_looker: QueueLooker
    deployment_looker: DeploymentLooker
    log_reader: LogReader
    searcher: DeploymentSearcher
    change_looker: ChangeLooker
    layers: TemporaryLayers
    pull_request_looker: PullRequestLooker
    drift_looker: DriftLooker
    look_now: LookNow
    decide: Decide
    decide_gate: DecideGate
    cancel: Cancel
    unlock: Unlock
    lock: LockByHand
    locker: RepositoryLocker
    request: Request
    public_keys: Callable[[], PublicKeys | None]

    def unknown_root(self, repository: str, root: str) -> UnknownRoot:
        """Return the refusal of a root that a repository does not have."""
        return UnknownRoot(root, [head.root_name for head in self.catalog.roots(repository)])
