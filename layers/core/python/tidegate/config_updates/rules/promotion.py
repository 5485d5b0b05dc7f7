"""The way of an image set through one environment: its checks, its targets, the soak, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.config.rules.config_updates import (
    AfterEnvironment,
    AfterStack,
    DeclaredImageSet,
    Promote,
)
from tidegate.config_updates.rules.approvals import EntryApproval
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry, entry_id
from tidegate.config_updates.rules.environment import EnvironmentState, ImageSetStatus
from tidegate.config_updates.rules.fan_in import Progress, Rollout, rollout_of

#: How long targets may take before people are told: a sync of Argo CD starts within 3 minutes, one of Flux within 10,
#: and a rollout that takes longer than the rest of an hour is rare enough for a warning.
STALLED_AFTER = timedelta(hours=1)


class Stage(StrEnum):
    """Where a promotion is. ``AFTER``: it waits for what comes first. ``ENDED``: ``reason`` says how."""

    CHECKS = "checks"
    TARGETS = "targets"
    SOAK = "soak"
    AFTER = "after"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class AwaitedStack:
    """A stack of Terraform roots that must be deployed first, up to the head that was seen (empty: none).

    ``seen_at`` is when the push of that head was received: deployments of later pushes are not waited for.
    """

    repository: str
    stack: str
    head: str = ""
    seen_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NextEnvironment:
    """The environment that follows: what it waits for besides, and who promotes to it."""

    name: str
    promote: Promote = Promote.AUTO
    environments: tuple[str, ...] = ()  # SET/ENVIRONMENT each
    stacks: tuple[AwaitedStack, ...] = ()


@dataclass(frozen=True, slots=True)
class Promotion:
    """One execution of the machine ``promotion``: an entry in its environment, with the chain that it started with.

    ``token`` is the task token of the stage's wait, whose attempt ``token_attempt`` sorts. ``commit`` and ``identity``
    are set once it has landed. ``file`` is empty while the chain could not be read. ``approved_by`` is who promoted it
    by hand, ``approvals`` are those of all who did. ``failed`` tells that a target failed. ``restarts`` counts the
    executions before this one that ended too early.
    """

    repository: str
    entry: str
    attempt: int
    image_set: str
    environment: str
    file: str
    targets: tuple[str, ...]
    soak_seconds: int
    following: NextEnvironment | None = None
    version: int = 0
    stage: Stage = Stage.CHECKS
    token: str = ""
    token_attempt: str = ""
    commit: str = ""
    identity: str = ""
    landed_at: datetime | None = None
    complete_at: datetime | None = None
    stalled: bool = False
    failed: bool = False
    approved_by: str = ""
    approvals: tuple[EntryApproval, ...] = ()
    reason: str = ""
    restarts: int = 0

    @property
    def execution(self) -> str:
        """The name of its execution: an attempt of an entry is never promoted twice."""
        return execution_name(self.entry, self.attempt, self.restarts)

    @property
    def environment_key(self) -> tuple[str, str]:
        """The image set and the environment."""
        return self.image_set, self.environment


@dataclass(frozen=True, slots=True)
class PromotionSource:
    """What a promotion copies: an image set, and the commit of the default branch with which it landed.

    ``app_sha`` and ``sequence`` are those of its announcement, empty and 0 for one that a person committed.
    """

    repository: str
    image_set: str
    environment: str
    commit: str
    identity: str
    app_sha: str = ""
    sequence: int = 0

    def entry_to(self, name: str, by: str, now: datetime, approvals: tuple[EntryApproval, ...]) -> UpdateEntry:
        """Return the entry that promotes it to an environment: the same one, whether a person or a machine asks."""
        return UpdateEntry(
            id=entry_id(EntryKind.PROMOTION, self.repository, self.image_set, name, self.identity, self.commit),
            repository=self.repository,
            image_set=self.image_set,
            environment=name,
            kind=EntryKind.PROMOTION,
            requested_at=now,
            by=by,
            app_sha=self.app_sha,
            sequence=self.sequence,
            source_sha=self.commit,
            source_environment=self.environment,
            approvals=approvals,
        )


def execution_name(entry: str, attempt: int, restarts: int = 0) -> str:
    """Return the name of a promotion's execution: the name of one that has ended cannot be used again."""
    return f"promotion-{entry}-{attempt}" + (f"-{restarts}" if restarts else "")


def new_promotion(entry: UpdateEntry, image_set: DeclaredImageSet | None) -> Promotion:
    """Return the promotion of an entry with the chain as it is declared now. An environment that is gone ends it.

    A rollback is promoted nowhere: its images were in the environments that follow before.
    """
    known = image_set.environments if image_set is not None else ()
    at = next((number for number, each in enumerate(known) if each.name == entry.environment), None)
    if at is None:
        reason = "The default branch's tidegate.yaml does not declare the environment any more."
        return ended(unplaced_promotion(entry, entry.attempt), reason)
    here = known[at]
    follows = entry.kind is not EntryKind.ROLLBACK and at + 1 < len(known)
    following = None
    if follows:
        after = known[at + 1].after
        following = NextEnvironment(
            known[at + 1].name,
            known[at + 1].promote,
            tuple(str(each) for each in after if isinstance(each, AfterEnvironment)),
            tuple(AwaitedStack(each.repository, each.stack) for each in after if isinstance(each, AfterStack)),
        )
    return Promotion(
        entry.repository,
        entry.id,
        entry.attempt,
        entry.image_set,
        entry.environment,
        here.file,
        tuple(each.name for each in here.targets),
        int(here.soak.total_seconds()),
        following,
    )


def unplaced_promotion(entry: UpdateEntry, attempt: int) -> Promotion:
    """Return a promotion whose chain is not known. Without targets it is never complete."""
    return Promotion(entry.repository, entry.id, attempt, entry.image_set, entry.environment, "", (), 0)


def with_entry(promotion: Promotion, entry: UpdateEntry | None) -> Promotion:
    """Return a promotion that waits for its checks, with what became of its entry."""
    if entry is None:
        return ended(promotion, "Its entry has expired.")
    if entry.attempt != promotion.attempt:
        return ended(promotion, "It was put into the queue again, which has a promotion of its own.")
    if entry.state is EntryState.LANDED and not entry.identity:
        return ended(promotion, "A newer image set of its environment landed with it, or the file is gone.")
    if entry.state is EntryState.LANDED:
        what, at = entry.commit, entry.ended_at
        return replace(promotion, stage=Stage.TARGETS, commit=what, identity=entry.identity, landed_at=at, reason="")
    return ended(promotion, f"It did not land: {entry.reason}") if entry.is_ended else promotion


def with_environment(promotion: Promotion, environment: EnvironmentState, now: datetime) -> Promotion:
    """Return a promotion that waits for its targets, with what their reports say."""
    if environment.status_of(promotion.identity) is ImageSetStatus.SUPERSEDED:
        return ended(promotion, "Superseded by a newer image set before all targets had deployed it.")
    progress = progress_of(promotion, environment, now)
    if progress.rollout is Rollout.COMPLETE:
        done = replace(promotion, complete_at=now, stalled=False, failed=False, reason=progress.reason)
        return _after_targets(done)
    stalled = promotion.stalled or progress.rollout is Rollout.STALLED
    return replace(promotion, stalled=stalled, failed=progress.rollout is Rollout.FAILED, reason=progress.reason)


def progress_of(promotion: Promotion, environment: EnvironmentState, now: datetime) -> Progress:
    """Return how far the targets are with a landed image set."""
    since = promotion.landed_at or now
    return rollout_of(promotion.identity, promotion.targets, environment.reports, since, now, STALLED_AFTER)


def _after_targets(promotion: Promotion) -> Promotion:
    if promotion.following is None:
        return ended(promotion, "All targets have deployed it. It goes no further.")
    return replace(promotion, stage=Stage.SOAK if promotion.soak_seconds else Stage.AFTER)


def soak_left(promotion: Promotion, now: datetime) -> int:
    """Return how many seconds a complete image set still stays before the next environment."""
    soaked = now - (promotion.complete_at or now)
    return max(0, promotion.soak_seconds - int(soaked.total_seconds()))


def after_soak(promotion: Promotion, environment: EnvironmentState) -> Promotion:
    """Return a promotion whose soak is over: an image set that was replaced meanwhile has not shown that it stays."""
    if promotion.stage is not Stage.SOAK:
        return promotion
    if environment.status_of(promotion.identity) is ImageSetStatus.SUPERSEDED:
        return ended(promotion, "Superseded by a newer image set before it had stayed long enough.")
    return replace(promotion, stage=Stage.AFTER, reason="It stayed long enough.")


def ended(promotion: Promotion, reason: str) -> Promotion:
    """Return a promotion that has ended, and why."""
    return replace(promotion, stage=Stage.ENDED, reason=reason)
