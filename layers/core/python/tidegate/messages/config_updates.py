"""Input and output of the tasks of the state machines ``config-update`` and ``promotion``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tidegate.messages import Message, TaskSize, Timestamp, WithToken


class OfWorker(Message):
    """A step of a config repository's worker."""

    repository: str
    execution: str


class ClaimUpdate(OfWorker):
    """Requests the worker's next step, as ``ClaimDeployment`` does."""

    rounds: int = Field(ge=0)
    started: Timestamp


class UpdateClaimed(Message):
    """The worker's next step and why. ``seconds`` is how long it waits at most, ``commit`` is the one that lands.
    ``untested`` are those that are pushed by themselves.

    ``outrun`` counts the replays in a row because people moved the default branch, 0 while there are few. ``blocked``
    tells that a person may have to act.
    """

    step: Literal["align", "apply", "evict", "land", "test", "wait", "hand over", "stop"]
    reason: str
    version: int
    seconds: int = 0
    commit: str = ""
    untested: tuple[str, ...] = ()
    outrun: int = 0
    blocked: bool = False


class BeginReplay(OfWorker):
    """Creates the job that makes the auto branch's commits anew, as the claim decided."""


class ReplayBegun(Message):
    """The created job, as in ``JobBegun``. Without entries there are no ``commands``: the branch just moves."""

    commands: bool
    job: str = ""
    digest: str = ""
    size: TaskSize | None = None


class ReplayMade(Message):
    """The runner's answer: ``result`` is the SHA-256 of what it stored about each entry."""

    job: str
    result: str


class PushReplay(OfWorker):
    """Moves the auto branch to what the replay has made; ``result`` is empty where no runner was needed."""

    result: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")


class FailReplay(OfWorker):
    """Records why a replay has failed. ``error`` and ``cause`` are those of the failed state."""

    error: str
    cause: str = ""


class LandUpdate(OfWorker):
    """Moves the default branch forward to a commit of the auto branch."""

    commit: str


class PushUntested(OfWorker):
    """Pushes commits of the auto branch by themselves, from the lowest, so that CI tests each."""

    commits: tuple[str, ...]


class BranchMoved(Message):
    """Whether the branch moved, and why not."""

    moved: bool
    reason: str


class WaitForUpdate(OfWorker):
    """Stores a task token at the queue, to be settled when something happens after ``version``."""

    version: int
    token: str


class CloseUpdateWorker(OfWorker):
    """Closes the queue's worker, unless there is work."""


class ContinueUpdates(OfWorker):
    """Starts the next execution on this queue in place of ``execution``."""


class OfPromotion(Message):
    """A step of the promotion of one attempt of an entry (``attempt`` is that of a wait, see ``WithToken``)."""

    repository: str
    entry: str
    entry_attempt: int = Field(ge=1)


class BeginPromotion(OfPromotion):
    """Records the chain of environments as it is declared now."""


class WaitInPromotion(OfPromotion, WithToken):
    """Lets a promotion wait in this stage; the token is settled with what follows."""

    stage: Literal["checks", "targets", "after"]


class PromotionMoved(Message):
    """What follows: the next stage, or how it ended. ``soak`` is in seconds."""

    next: Literal["targets", "soak", "after", "promote", "ended"]
    reason: str
    soak: int = 0


class StallPromotion(OfPromotion):
    """Records that targets have not reported in time. The environment is stalled, never complete."""


class EndSoak(OfPromotion):
    """Asks what follows once the image set has run long enough."""


class PromoteEntry(OfPromotion):
    """Puts the image set into the queue for the next environment."""


class EntryPromoted(Message):
    """What became of it: unless the queue is ``full``, the promotion has ended."""

    full: bool
    reason: str


class FailPromotion(OfPromotion):
    """Records an internal error of the promotion, or a wait that has ended without a result."""

    error: str
    cause: str = ""
