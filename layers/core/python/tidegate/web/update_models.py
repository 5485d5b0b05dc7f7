"""What the HTTP API takes and says of config updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Discriminator, Field, Tag

from tidegate.config.rules.config_updates import NAME, Environment, Promote
from tidegate.config_updates.get_entries import EntryView, EnvironmentView, QueueView, SetView
from tidegate.config_updates.reports import Reported
from tidegate.config_updates.rules.entry import EntryKind, EntryState
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.config_updates.rules.fan_in import Rollout
from tidegate.config_updates.rules.image_set import MOST_SERVICES
from tidegate.config_updates.rules.queue import Hold, Pause
from tidegate.config_updates.rules.trailers import COMMIT
from tidegate.config_updates.rules.verdicts import Verdict
from tidegate.config_updates.texts.promotion import waiting_text
from tidegate.deploys.rules.locking import LONGEST_REASON
from tidegate.rules.numbers import LARGEST_EXACT
from tidegate.rules.timestamp import timestamp_from
from tidegate.web.models import Shown, Timestamp

#: Whole names and commits, as the description of the API has them.
NAME_PATTERN = f"^{NAME.pattern}$"
COMMIT_PATTERN = f"^({COMMIT.pattern})$"


class Given(BaseModel):
    """What is sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ImageGiven(Given):
    """The image of a service. The digest is what pods use, the tag is for people and contains the commit."""

    Tag: str = Field(max_length=400, examples=["registry.example.com/web:7d1043473d55bfa90e8530d35801d4e381bc69f0"])
    Digest: str = Field(max_length=400, examples=["registry.example.com/web@sha256:6a9c…"])


Images = Annotated[
    dict[Annotated[str, Field(pattern=NAME_PATTERN)], ImageGiven],
    Field(min_length=1, max_length=MOST_SERVICES, json_schema_extra={"additionalProperties": False}),
]


class AnnouncementGiven(Given):
    """Images that CI has built of a commit, by service."""

    images: Images
    sequence: int | None = Field(
        default=None,
        ge=0,
        le=LARGEST_EXACT,
        description="Orders the announcements of a set; by default, the number of the CI run that the token is of",
    )
    run_url: str = Field(
        default="", max_length=400, pattern=r"^(https?://[!-~]+)?$", description="Where people find the CI run"
    )


def _form_of_announcement(body: Any) -> str:
    """Tell the form that was meant. A bare map may have a service of the name ``images``, with an image."""
    images = body.get("images") if isinstance(body, dict) else None
    is_image = isinstance(images, dict) and any(isinstance(images.get(each), str) for each in ("Tag", "Digest"))
    return "map" if images is None or is_image else "announcement"


#: An announcement, or the bare map from service to image. The limit of a body holds for both.
Announcing = Annotated[
    Annotated[AnnouncementGiven, Tag("announcement")] | Annotated[Images, Tag("map")],
    Discriminator(_form_of_announcement),
]


class ReportGiven(Given):
    """What a target has deployed."""

    config_sha: str = Field(pattern=COMMIT_PATTERN, description="The commit of the config repository")
    result: Literal["succeeded", "failed"]
    operation_id: str = Field(
        default="",
        max_length=200,
        description="The target's own id of this deployment: a second report of the same one changes nothing",
    )
    finished_at: Annotated[AwareDatetime, AfterValidator(timestamp_from)] | None = Field(
        default=None,
        description="When it ended, by the target's clock. It orders reports of one commit; others are ordered by "
        "their commits",
    )


class FluxObject(BaseModel):
    """The object that an event of Flux is about."""

    model_config = ConfigDict(frozen=True)

    kind: str = Field(description="Only events of a Kustomization are reports")


class FluxEvent(BaseModel):
    """An event of Flux, as its generic provider posts it. One that is no report yet changes nothing."""

    model_config = ConfigDict(frozen=True)

    involvedObject: FluxObject  # noqa: N815  # The name that Flux sends.
    metadata: dict[str, str] | None = Field(default=None, description="It has the revision, such as main@sha1:COMMIT")
    severity: str = ""
    reason: str = ""


def _form_of_report(body: Any) -> str:
    return "flux" if isinstance(body, dict) and "involvedObject" in body else "report"


#: What a target reports, in Tidegate's form or as Flux posts it.
Reporting = Annotated[
    Annotated[ReportGiven, Tag("report")] | Annotated[FluxEvent, Tag("flux")], Discriminator(_form_of_report)
]


class ReasonGiven(Given):
    """Why."""

    reason: str = Field(default="", max_length=LONGEST_REASON, description="The reason, which Tidegate shows")


class RollbackGiven(Given):
    """Which earlier image set."""

    to: str = Field(
        default="",
        pattern=r"^([0-9a-f]{7,64})?$",
        description="The commit with which it landed, or its beginning; by default, the one before the newest",
    )
    override: str = Field(
        default="",
        max_length=LONGEST_REASON,
        description="An operator's reason to pass freeze windows and missing approvals",
    )


class NothingGiven(Given):
    """An empty object."""


class PausedModel(Shown):
    """Who paused a queue, or holds a set, when and why."""

    by: str
    at: Timestamp
    reason: str


class UpdateEntryModel(Shown):
    """An entry of a config repository's queue."""

    id: str = Field(description="Stays when its commit is rebuilt")
    repository: str
    image_set: str
    environment: str
    kind: EntryKind
    state: EntryState
    reason: str = Field(description="Why it is in this state, if there is something to say")
    position: int | None = Field(description="Its position in the queue, from 1 on; null once it has left")
    waits_for: str = Field(description="What it waits for, as text")
    verdict: Verdict | None = Field(description="What its required checks say; null without a commit on the branch")
    requested_at: Timestamp
    by: str
    app_sha: str
    sequence: int
    run_url: str
    source_sha: str = Field(description="The commit that a promotion or rollback takes its images from")
    source_environment: str
    attempt: int
    commit: str = Field(description="Its newest commit, empty before the first")
    past_commits: list[str]
    covered: bool = Field(description="It had failed, and landed below one that passed")
    ended_at: Timestamp | None


class BlockedModel(Shown):
    """Why a queue's worker cannot go on."""

    reason: str
    until: Timestamp = Field(description="When it tries again")


class UpdatesQueueModel(Shown):
    """The queue of a config repository."""

    repository: str
    paused: PausedModel | None
    blocked: BlockedModel | None
    problem: str = Field(
        description="What is wrong with tidegate.yaml on the default branch, or why it cannot be read; empty if nothing"
    )
    doing: str | None = Field(description="The replay in progress: align, apply or evict; null if there is none")
    default_branch: str
    base: str = Field(description="The commit of the default branch below the entries")
    auto_branch: str
    auto: str = Field(description="The commit of the auto branch")
    entries: list[UpdateEntryModel] = Field(description="The lowest first")
    recent: list[UpdateEntryModel] = Field(description="What has left the queue, the newest first")


class LandedModel(Shown):
    """An image set that landed in an environment."""

    commit: str
    identity: str = Field(description="SHA-256 of the environment's file")
    at: Timestamp
    by: str
    kind: str = Field(description="announcement, promotion, rollback, or by hand")
    entry: str
    app_sha: str


class ReportModel(Shown):
    """A target, and what it reported last."""

    target: str
    config_sha: str | None
    succeeded: bool | None
    reported_at: Timestamp | None
    current: bool = Field(description="It has deployed the newest image set")
    failed: bool = Field(description="It could not deploy the newest image set")


class EnvironmentModel(Shown):
    """An environment of an image set."""

    name: str
    file: str
    promote: Promote
    soak_seconds: int
    newest: LandedModel | None
    earlier: list[LandedModel]
    complete: bool = Field(description="All targets have deployed the newest image set")
    complete_at: Timestamp | None
    targets: list[ReportModel]
    coming: list[UpdateEntryModel] = Field(description="The entries of the queue that go there, the lowest first")
    waits_for: str = Field(description="What the newest image set waits for before it goes on, as text")


class ImageSetModel(Shown):
    """An image set and its chain of environments."""

    name: str
    app: str = Field(description="The repository whose CI announces it")
    refs: list[str] = Field(description="Branches that may announce; empty for its default branch")
    sequence: int = Field(description="The newest accepted sequence")
    held: PausedModel | None
    environments: list[EnvironmentModel]


class ImageSetsModel(Shown):
    """The image sets of a config repository."""

    repository: str
    sets: list[ImageSetModel]


class AnnouncedModel(Shown):
    """An accepted announcement."""

    id: str
    state: EntryState
    duplicate: bool = Field(description="It was accepted before")
    paused: bool = Field(description="The queue is paused or the set is held: it is stored, and waits")
    message: str


class ReportedModel(Shown):
    """An accepted report."""

    message: str
    environment: str = Field(description="Empty for an event that is no report")
    rollout: Rollout | None
    done: int = Field(description="How many targets of the environment have deployed the image set")
    total: int


class UpdateDone(Shown):
    """What was done."""

    message: str
    entry: UpdateEntryModel | None = None


class TargetToken(Shown):
    """A target's new token, which is shown only now."""

    token: str
    message: str


def entry_model(view: EntryView) -> UpdateEntryModel:
    """Return an entry for programs."""
    entry, on_auto = view.entry, view.on_auto
    return UpdateEntryModel(
        id=entry.id,
        repository=entry.repository,
        image_set=entry.image_set,
        environment=entry.environment,
        kind=entry.kind,
        state=entry.state,
        reason=entry.reason,
        position=view.position,
        waits_for=view.waits_for,
        verdict=on_auto.verdict if on_auto else None,
        requested_at=entry.requested_at,
        by=entry.by,
        app_sha=entry.app_sha,
        sequence=entry.sequence,
        run_url=entry.run_url,
        source_sha=entry.source_sha,
        source_environment=entry.source_environment,
        attempt=entry.attempt,
        commit=on_auto.sha if on_auto else entry.commit,
        past_commits=list(on_auto.past) if on_auto else [],
        covered=entry.covered,
        ended_at=entry.ended_at,
    )


def reported_model(made: Reported) -> ReportedModel:
    """Return for programs what a report did."""
    progress = made.progress
    message = "The target has reported a later commit. Nothing was changed." if made.outdated else progress.reason
    done = len(progress.done)
    return ReportedModel(
        message=message,
        environment=made.environment,
        rollout=progress.rollout,
        done=done,
        total=done + len(progress.open),
    )


def queue_model(view: QueueView, problem: str) -> UpdatesQueueModel:
    """Return a queue for programs. ``problem`` is what is wrong with the configuration, if anything."""
    head = view.head
    return UpdatesQueueModel(
        repository=head.repository,
        paused=_who(head.pause),
        blocked=BlockedModel(reason=head.blocked.reason, until=head.blocked.until) if head.blocked else None,
        problem=problem,
        doing=head.replaying.why.value if head.replaying else None,
        default_branch=head.default_branch,
        base=head.base,
        auto_branch=head.auto_branch,
        auto=head.auto,
        entries=[entry_model(each) for each in view.entries],
        recent=[entry_model(each) for each in view.recent],
    )


def set_model(view: SetView) -> ImageSetModel:
    """Return an image set for programs."""
    declared = view.declared
    pairs = zip(declared.environments, view.environments, strict=True)
    return ImageSetModel(
        name=declared.name,
        app=declared.app.repository,
        refs=list(declared.app.refs),
        sequence=view.state.sequence,
        held=_who(view.state.hold),
        environments=[_environment(environment, known) for environment, known in pairs],
    )


def _who(what: Pause | Hold | None) -> PausedModel | None:
    return PausedModel(by=what.by, at=what.at, reason=what.reason) if what else None


def _environment(declared: Environment, known: EnvironmentView) -> EnvironmentModel:
    state = known.state
    newest, *earlier = map(_landed, state.landed) if state.landed else [None]
    complete = state.newest is not None and state.is_complete
    return EnvironmentModel(
        name=declared.name,
        file=declared.file,
        promote=declared.promote,
        soak_seconds=int(declared.soak.total_seconds()),
        newest=newest,
        earlier=[each for each in earlier if each],
        complete=complete,
        complete_at=state.complete_at if complete else None,
        targets=_targets([each.name for each in declared.targets], state),
        coming=[entry_model(each) for each in known.coming],
        waits_for=waiting_text(known.promotion),
    )


def _landed(landed: Landed) -> LandedModel:
    return LandedModel(
        commit=landed.commit,
        identity=landed.identity,
        at=landed.at,
        by=landed.by,
        kind=landed.kind,
        entry=landed.entry,
        app_sha=landed.app_sha,
    )


def _targets(names: Sequence[str], state: EnvironmentState) -> list[ReportModel]:
    reports = {each.target: each for each in state.reports}
    identity = state.newest.identity if state.newest else None
    made = []
    for name in names:
        report = reports.get(name)
        made.append(
            ReportModel(
                target=name,
                config_sha=report.config_sha if report else None,
                succeeded=report.succeeded if report else None,
                reported_at=report.reported_at if report else None,
                current=report is not None and report.succeeded and report.identity == identity,
                failed=report is not None and not report.succeeded and report.identity == identity,
            )
        )
    return made
